package sealed

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zeebo/blake3"

	"edge/internal/digest"
)

const (
	// SegmentSize is the length of every segment but the last.
	SegmentSize = 4 << 20
	// A worker reads this much and digests it while it is still in the core's cache.
	step = 256 << 10
)

// Seal describes a byte string: its length and the BLAKE3 digest of each segment, in order. It must not be changed.
type Seal struct {
	Length   int64
	Segments []digest.BLAKE3
}

// MismatchError says which segment isn't what the Seal describes.
type MismatchError struct {
	Segment   int
	Got, Want digest.BLAKE3
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("got %s, want %s", e.Got, e.Want)
}

// SegmentCount is how many segments a byte string of that length has.
func SegmentCount(length int64) int64 { return (length + SegmentSize - 1) / SegmentSize }

// Digest names the byte string as a whole: BLAKE3 over the segments' digests, concatenated.
func (s Seal) Digest() digest.BLAKE3 {
	all := make([]byte, 0, len(s.Segments)*len(digest.BLAKE3{}))
	for _, d := range s.Segments {
		all = append(all, d[:]...)
	}
	return digest.BLAKE3Of(all)
}

// Check reports why s can't be the Seal of anything.
func (s Seal) Check() error {
	if s.Length < 0 || SegmentCount(s.Length) != int64(len(s.Segments)) {
		return fmt.Errorf("%d bytes in %d segments of %d", s.Length, len(s.Segments), SegmentSize)
	}
	return nil
}

// Of digests payload on all cores.
func Of(payload []byte) Seal {
	s := Seal{Length: int64(len(payload))}
	s.Segments = make([]digest.BLAKE3, SegmentCount(s.Length))
	parallel(len(s.Segments), func(w *worker, i int) {
		part := payload[i*SegmentSize : min((i+1)*SegmentSize, len(payload))]
		w.hash.Write(part)
		s.Segments[i] = w.sum()
	})
	return s
}

// Load gives the bytes that want describes, read from src at offset; errors as for Verify. The caller owns them. It
// allocates want.Length bytes: the caller has compared that with what src holds.
func Load(ctx context.Context, src io.ReaderAt, offset int64, want Seal) ([]byte, error) {
	if want.Length > math.MaxInt {
		return nil, fmt.Errorf("%d bytes don't fit into this platform's memory", want.Length)
	}
	if err := want.Check(); err != nil {
		return nil, err
	}
	buf := make([]byte, want.Length)
	if err := scan(ctx, src, offset, want, buf); err != nil {
		return nil, err
	}
	return buf, nil
}

// Examine is Load without keeping the bytes, in constant memory.
func Examine(ctx context.Context, src io.ReaderAt, offset int64, want Seal) error {
	if err := want.Check(); err != nil {
		return err
	}
	return scan(ctx, src, offset, want, nil)
}

// scan digests every segment, also after one has failed, so that the first bad segment is named whatever the workers'
// order; only cancellation stops it early.
func scan(ctx context.Context, src io.ReaderAt, offset int64, want Seal, buf []byte) error {
	errs := make([]error, len(want.Segments))
	parallel(len(want.Segments), func(w *worker, i int) {
		errs[i] = w.segment(ctx, src, offset, want, i, buf)
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
	}
	return nil
}

type worker struct {
	hash    *blake3.Hasher
	scratch []byte
}

func (w *worker) sum() (d digest.BLAKE3) {
	w.hash.Sum(d[:0])
	w.hash.Reset()
	return d
}

func (w *worker) segment(ctx context.Context, src io.ReaderAt, offset int64, want Seal, i int, buf []byte) error {
	w.hash.Reset()
	end := min(int64(i+1)*SegmentSize, want.Length)
	for at := int64(i) * SegmentSize; at < end; at += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, end-at)
		var part []byte
		if buf != nil {
			part = buf[at : at+n]
		} else {
			if w.scratch == nil {
				w.scratch = make([]byte, min(step, want.Length))
			}
			part = w.scratch[:n]
		}
		if got, err := src.ReadAt(part, offset+at); got < len(part) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		w.hash.Write(part)
	}
	if got := w.sum(); got != want.Segments[i] {
		return &MismatchError{Segment: i, Got: got, Want: want.Segments[i]}
	}
	return nil
}

// parallel runs do for 0…n−1 on as many goroutines as there are cores, each with a worker of its own.
func parallel(n int, do func(w *worker, i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			w := &worker{hash: blake3.New()}
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(w, i)
			}
		})
	}
	all.Wait()
}
