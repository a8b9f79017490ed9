package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"edge/internal/digest"
	"edge/internal/sealed"
)

// pattern gives n bytes that differ from segment to segment.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

func TestSealIsTheDigestOfTheSegmentDigests(t *testing.T) {
	for _, n := range []int{0, 1, 100, sealed.SegmentSize - 1, sealed.SegmentSize, sealed.SegmentSize + 1, 2*sealed.SegmentSize + 12345} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			payload := pattern(n)
			var all []byte
			for at := 0; at < n; at += sealed.SegmentSize {
				d := digest.BLAKE3Of(payload[at:min(at+sealed.SegmentSize, n)])
				all = append(all, d[:]...)
			}
			seal := sealed.Of(payload)
			if got, want := seal.Digest(), digest.BLAKE3Of(all); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if err := seal.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVerifyGivesExactlyTheBytesThatWereDigested(t *testing.T) {
	ctx := context.Background()
	payload := pattern(2*sealed.SegmentSize + 777)
	seal := sealed.Of(payload)
	const before = 33
	file := append(append(make([]byte, before), payload...), "behind"...)

	state, err := sealed.Verify(ctx, bytes.NewReader(file), before, seal, 5)
	if err != nil || !bytes.Equal(state.Bytes(), payload) || state.Tokens() != 5 {
		t.Fatalf("err %v, %d bytes, %d tokens", err, len(state.Bytes()), state.Tokens())
	}
	file[before] ^= 1 // the State holds a copy of its own
	if state.Bytes()[0] != payload[0] {
		t.Error("the state changed with its source")
	}
	if err := sealed.Examine(ctx, bytes.NewReader(file), before, seal); err == nil {
		t.Error("Examine took a changed byte")
	}
}

func TestVerifyRefuses(t *testing.T) {
	payload := pattern(2*sealed.SegmentSize + 777)
	seal := sealed.Of(payload)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	broken := errors.New("disk on fire")
	flipped := func(at ...int) io.ReaderAt {
		b := bytes.Clone(payload)
		for _, i := range at {
			b[i] ^= 0x10
		}
		return bytes.NewReader(b)
	}
	segment := func(want int) func(error) bool {
		return func(err error) bool {
			var m *sealed.MismatchError
			return errors.As(err, &m) && m.Segment == want && m.Want == seal.Segments[want] && m.Got != m.Want
		}
	}
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	some := func(err error) bool { return err != nil }
	short := seal
	short.Segments = seal.Segments[:2]
	swapped := sealed.Seal{Length: seal.Length, Segments: []digest.BLAKE3{seal.Segments[1], seal.Segments[0], seal.Segments[2]}}
	for name, c := range map[string]struct {
		ctx  context.Context
		src  io.ReaderAt
		seal sealed.Seal
		ok   func(error) bool
	}{
		"first byte":            {context.Background(), flipped(0), seal, segment(0)},
		"last byte":             {context.Background(), flipped(len(payload) - 1), seal, segment(2)},
		"two segments":          {context.Background(), flipped(sealed.SegmentSize, len(payload)-1), seal, segment(1)},
		"segments swapped":      {context.Background(), flipped(), swapped, some},
		"too few segments":      {context.Background(), flipped(), short, some},
		"source ends early":     {context.Background(), bytes.NewReader(payload[:len(payload)-1]), seal, is(io.ErrUnexpectedEOF)},
		"source ends before":    {context.Background(), bytes.NewReader(nil), seal, is(io.ErrUnexpectedEOF)},
		"source fails":          {context.Background(), failing{broken}, seal, is(broken)},
		"cancelled":             {cancelled, flipped(), seal, is(context.Canceled)},
		"negative length":       {context.Background(), flipped(), sealed.Seal{Length: -1}, some},
		"length without digest": {context.Background(), flipped(), sealed.Seal{Length: 1 << 40}, some},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := sealed.Verify(c.ctx, c.src, 0, c.seal, 1)
			if !c.ok(err) {
				t.Errorf("Verify: %v", err)
			}
			if state.Bytes() != nil || state.Tokens() != 0 {
				t.Error("a refused Verify gave a state")
			}
			if err := sealed.Examine(c.ctx, c.src, 0, c.seal); !c.ok(err) {
				t.Errorf("Examine: %v", err)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func BenchmarkOf(b *testing.B) {
	payload := pattern(64 << 20)
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		sealed.Of(payload)
	}
}
