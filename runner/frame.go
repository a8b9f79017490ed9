package runner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxFrame is the largest frame that either side accepts.
const maxFrame = 8 << 20

// errFrame marks bytes that can't be a frame, as opposed to a channel that ended early.
var errFrame = errors.New("malformed frame")

// readFrame reads one frame: four bytes of length, big-endian, and that many bytes. A channel that ends before the first
// byte gives io.EOF; one that ends later gives io.ErrUnexpectedEOF. Memory grows with what arrives, not with what the
// length promises.
func readFrame(r io.Reader) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(header[:])
	switch {
	case n == 0:
		return nil, fmt.Errorf("%w: length 0", errFrame)
	case n > maxFrame:
		return nil, fmt.Errorf("%w: got length %d, want at most %d", errFrame, n, maxFrame)
	}
	var body bytes.Buffer
	if got, err := io.Copy(&body, io.LimitReader(r, int64(n))); err != nil {
		return nil, err
	} else if got < int64(n) {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

// writeFrame writes body as one frame.
func writeFrame(w io.Writer, body []byte) error {
	if len(body) == 0 || len(body) > maxFrame {
		return fmt.Errorf("%w: got length %d, want 1 to %d", errFrame, len(body), maxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := w.Write(append(frame, body...))
	return err
}
