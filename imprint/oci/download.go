package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"edge/internal/ctxio"
	"edge/internal/digest"
	"edge/internal/fault"
)

// download makes the file at path the blob. What an earlier try left there is continued; what this one leaves when it
// fails can be continued, unless it was found to be wrong.
func (c *Client) download(ctx context.Context, p place, blob ocispec.Descriptor, path, label string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	d := &part{file: f, blob: blob, show: c.cfg.Progress(label)}
	defer d.show.Done()
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil && (d.wrong || d.size == 0) {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if d.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if d.size > blob.Size {
		if err := d.restart(); err != nil {
			return err
		}
	}
	d.tell()
	for inherited := d.size > 0; ; inherited = false {
		if err := c.persist(ctx, func() (bool, error) { return d.attempt(ctx, p) }); err != nil {
			d.wrong = fault.Is(err, fault.CodeDownloadDigestMismatch)
			return err
		}
		got, _, err := digest.SHA256Reader(ctxio.Reader(ctx, io.NewSectionReader(f, 0, blob.Size)))
		if err != nil {
			return err
		}
		if got.String() == blob.Digest.Encoded() {
			return nil
		}
		// The bytes that an earlier try left may have been spoiled since: once more, from the start.
		if !inherited {
			d.wrong = true
			return mismatch("the file has the sha256 %s, its manifest says %s", got, blob.Digest.Encoded())
		}
		if err := d.restart(); err != nil {
			return err
		}
		d.tell()
	}
}

// part is a file that becomes a blob.
type part struct {
	file  *os.File
	blob  ocispec.Descriptor
	size  int64 // what is there
	wrong bool  // it can't become the blob any more
	show  Progress
}

func (d *part) tell() {
	d.show.Start(d.blob.Size)
	d.show.Add(d.size)
}

func (d *part) restart() error {
	d.size = 0
	return d.file.Truncate(0)
}

// attempt asks for the rest of the blob, and takes no more than that.
func (d *part) attempt(ctx context.Context, p place) (further bool, err error) {
	if d.size == d.blob.Size {
		return true, nil
	}
	rc, at, err := p.open(ctx, d.blob, d.size)
	if err != nil {
		return false, err
	}
	defer rc.Close()
	before := d.size
	if at != d.size {
		if err := d.restart(); err != nil {
			return false, err
		}
		d.tell()
		before = d.blob.Size // bytes that come again are no progress
	}
	out := &placed{part: d}
	_, err = io.CopyN(out, ctxio.Reader(ctx, rc), d.blob.Size-d.size)
	switch {
	case out.err != nil:
		return false, out.err
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("the connection ended after %d of %d bytes", d.size, d.blob.Size)
	}
	if err != nil && ctx.Err() == nil {
		err = transientError{err}
	}
	return d.size > before, err
}

// placed writes behind what is there. Its own errors are the disk's, and no reason to ask again.
type placed struct {
	*part
	err error
}

func (w *placed) Write(b []byte) (int, error) {
	n, err := w.file.WriteAt(b, w.size)
	w.size += int64(n)
	w.show.Add(int64(n))
	w.err = err
	return n, err
}
