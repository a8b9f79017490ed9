package serve

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// kind says what a frame is about. docs/protocol/serve-v1.md has the table.
type kind byte

const (
	kindHello     kind = 'H' // over TCP only: a nonce, and its proof
	kindRequest   kind = 'R'
	kindInput     kind = 'I' // bytes of the client's standard input; none: its end
	kindInterrupt kind = 'C'
	kindAccepted  kind = 'A'
	kindDeclined  kind = 'D'
	kindWant      kind = 'W' // the command waits for input
	kindOut       kind = 'O'
	kindErr       kind = 'E'
	kindStatus    kind = 'S'
	kindExit      kind = 'X'
)

const (
	frameHead = 5
	maxBody   = 8 << 20
	chunk     = 64 << 10 // of input, and of output
)

// encode gives a frame: the kind, the body's length in four bytes, big-endian, and the body.
func encode(k kind, body []byte) []byte {
	frame := binary.BigEndian.AppendUint32([]byte{byte(k)}, uint32(len(body)))
	return append(frame, body...)
}

func encodeJSON(k kind, value any) ([]byte, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("serve: a message of %d bytes is too long", len(body))
	}
	return encode(k, body), nil
}

func writeJSON(w io.Writer, k kind, value any) error {
	frame, err := encodeJSON(k, value)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

// readFrame reads one frame. Memory follows the bytes that arrive, not the length that was promised.
func readFrame(r io.Reader) (kind, []byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxBody {
		return 0, nil, fmt.Errorf("serve: a frame of %d bytes", n)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind(head[0]), body.Bytes(), nil
}

// expect reads a frame of the kind into value.
func expect(r io.Reader, want kind, value any) error {
	got, body, err := readFrame(r)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("serve: got frame %q, want %q", got, want)
	}
	return json.Unmarshal(body, value)
}
