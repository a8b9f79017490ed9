package serve

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestFrames(t *testing.T) {
	var wire bytes.Buffer
	wire.Write(encode(kindOut, []byte("hello")))
	wire.Write(encode(kindInput, nil))
	for _, want := range []struct {
		kind kind
		body string
	}{{kindOut, "hello"}, {kindInput, ""}} {
		k, body, err := readFrame(&wire)
		if err != nil || k != want.kind || string(body) != want.body {
			t.Errorf("got %q %q %v, want %q %q", k, body, err, want.kind, want.body)
		}
	}
	if _, _, err := readFrame(&wire); err != io.EOF {
		t.Errorf("at the end: got %v, want EOF", err)
	}
}

func TestFrameThatEnds(t *testing.T) {
	whole := encode(kindOut, []byte("hello"))
	for n := 1; n < len(whole); n++ {
		if _, _, err := readFrame(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: got %v, want an unexpected end", n, len(whole), err)
		}
	}
}

// FuzzReadFrame: whatever comes, no frame is larger than what has arrived.
func FuzzReadFrame(f *testing.F) {
	f.Add(encode(kindRequest, []byte("{}")))
	f.Add([]byte("POST / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{'O', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		k, body, err := readFrame(bytes.NewReader(raw))
		if err != nil {
			return
		}
		if !bytes.Equal(encode(k, body), raw[:frameHead+len(body)]) {
			t.Errorf("%q was read as %q %q", raw, k, body)
		}
	})
}

// A browser that is led to the port speaks a protocol whose first bytes are no frame.
func TestHTTPIsNoFrame(t *testing.T) {
	if _, _, err := readFrame(bytes.NewReader([]byte("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))); err == nil {
		t.Error("a request of HTTP passed for a frame")
	}
}
