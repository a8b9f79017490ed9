package runner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func frameOf(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

func TestReadFrame(t *testing.T) {
	for _, c := range []struct {
		name, input, body string
		err               error
	}{
		{"a frame", frameOf(`{}`), `{}`, nil},
		{"what follows is left alone", frameOf(`{}`) + "more", `{}`, nil},
		{"nothing", "", "", io.EOF},
		{"half a length", "\x00\x00", "", io.ErrUnexpectedEOF},
		{"no body", frameOf(`{}`)[:4], "", io.ErrUnexpectedEOF},
		{"half a body", frameOf(`{}`)[:5], "", io.ErrUnexpectedEOF},
		{"an empty body", frameOf(""), "", errFrame},
		{"one byte too long", "\x00\x80\x00\x01", "", errFrame},
		{"text", "Hello, world\n", "", errFrame},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := readFrame(strings.NewReader(c.input))
			if string(body) != c.body || !errors.Is(err, c.err) {
				t.Errorf("got %q, %v; want %q, %v", body, err, c.body, c.err)
			}
		})
	}
}

// tool-runner-v1 §3: a receiver must not allocate what a length only promises.
func TestReadFrameAllocatesWhatArrives(t *testing.T) {
	input := strings.NewReader("\x00\x80\x00\x00ten bytes…")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readFrame(input); err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("got %d bytes for a frame of ten, want far less than the 8 MiB that it promised", got)
	}
}

func TestWriteFrameRefuses(t *testing.T) {
	for _, n := range []int{0, maxFrame + 1} {
		if err := writeFrame(io.Discard, make([]byte, n)); !errors.Is(err, errFrame) {
			t.Errorf("%d bytes: got %v, want %v", n, err, errFrame)
		}
	}
	var out bytes.Buffer
	if err := writeFrame(&out, make([]byte, maxFrame)); err != nil {
		t.Fatal(err)
	}
	if body, err := readFrame(&out); err != nil || len(body) != maxFrame {
		t.Errorf("the largest frame: got %d bytes, %v", len(body), err)
	}
}

// FuzzReadFrame: whatever arrives, what is accepted is exactly what a sender of that body would have written.
func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "\x00\x00\x00\x00", frameOf(`{"protocol":"edge.runner/v1","ok":true}`), frameOf("x") + frameOf("y"),
		"\x00\x7f\xff\xffx", "\x00\x80\x00\x00x", "\xff\xff\xff\xff", "Traceback (most recent call last):\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		body, err := readFrame(bytes.NewReader(input))
		if err != nil {
			if body != nil {
				t.Fatalf("a body of %d bytes beside %v", len(body), err)
			}
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, body); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(input, again.Bytes()) {
			t.Fatalf("got %q from %q", body, input)
		}
		if answer, err := parseResponse(body); err == nil && answer.Protocol != protocol {
			t.Fatalf("an answer of protocol %q was taken", answer.Protocol)
		}
	})
}
