package ctxio_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"edge/internal/ctxio"
)

func TestReaderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := ctxio.Reader(ctx, strings.NewReader("abcd"))
	half := make([]byte, 2)
	if n, err := io.ReadFull(r, half); n != 2 || err != nil || string(half) != "ab" {
		t.Fatalf("got %q, %v", half[:n], err)
	}
	cancel()
	if rest, err := io.ReadAll(r); len(rest) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: got %q, %v", rest, err)
	}
}
