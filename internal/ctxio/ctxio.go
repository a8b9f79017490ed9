// Package ctxio lets reading end when a context does.
package ctxio

import (
	"context"
	"io"
)

// Reader is r until ctx ends; then each Read gives ctx's error. A Read that is under way isn't cut off.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (c *reader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
