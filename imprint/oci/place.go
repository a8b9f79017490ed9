package oci

import (
	"context"
	"errors"
	"fmt"
	"io"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"edge/internal/fault"
)

// place is where artifacts lie: a repository of a registry, or a folder.
type place interface {
	// manifest reads the manifest that a tag or a digest names. What it gives has the digest that its descriptor says
	// and, where name is one, that digest.
	manifest(ctx context.Context, name string) ([]byte, ocispec.Descriptor, error)
	// open opens a blob at byte from, or at 0 where it can't be continued; at says which. That its bytes are right is
	// the caller's to check.
	open(ctx context.Context, blob ocispec.Descriptor, from int64) (rc io.ReadCloser, at int64, err error)
	// referrers gives what says of itself that its subject is the manifest, at most limit of them.
	referrers(ctx context.Context, manifest ocispec.Descriptor, limit int) ([]ocispec.Descriptor, error)
	// prepare makes the place ready to be written to, before anything is.
	prepare(ctx context.Context) error
	// has reports whether a blob is there, whole.
	has(ctx context.Context, blob ocispec.Descriptor) bool
	// put stores a blob.
	put(ctx context.Context, blob ocispec.Descriptor, r io.Reader) error
	// publish stores a manifest whose blobs are there, under a tag, or with none under its digest alone.
	publish(ctx context.Context, desc ocispec.Descriptor, raw []byte, tag string) error
}

// transientError is a failure after which the same request may succeed.
type transientError struct{ error }

func (e transientError) Unwrap() error { return e.error }

func isTransient(err error) bool {
	var t transientError
	return errors.As(err, &t)
}

// mismatch is the refusal of bytes that aren't those that were asked for.
func mismatch(format string, args ...any) *fault.Error {
	return fault.New(fault.CodeDownloadDigestMismatch, format, args...)
}

// checkManifest makes the descriptor of a manifest's bytes, which have to be those that want names.
func checkManifest(raw []byte, mediaType string, want godigest.Digest) (ocispec.Descriptor, error) {
	got := godigest.FromBytes(raw)
	if want != "" && got != want {
		return ocispec.Descriptor{}, mismatch("the manifest is another one: got %s, want %s", got, want)
	}
	return describe(mediaType, got, int64(len(raw))), nil
}

// readSmall reads a blob of a few kilobytes into memory. The caller has bounded its size.
func (c *Client) readSmall(ctx context.Context, p place, blob ocispec.Descriptor) (raw []byte, err error) {
	return raw, c.persist(ctx, func() (bool, error) {
		rc, _, err := p.open(ctx, blob, 0)
		if err != nil {
			return false, err
		}
		defer rc.Close()
		raw, err = content.ReadAll(rc, blob)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData):
			return false, mismatch("a part of type %s isn't the one that the manifest names: %w", clip(blob.MediaType), err)
		}
		return false, transientError{err}
	})
}

// persist repeats a step that failed for a reason that may pass, until it fails several times in a row without getting
// any further.
func (c *Client) persist(ctx context.Context, step func() (further bool, err error)) error {
	for failures := 0; ; {
		further, err := step()
		if err == nil || !isTransient(err) || ctx.Err() != nil {
			return err
		}
		if failures++; further {
			failures = 1
		}
		if failures >= c.cfg.Attempts {
			return fmt.Errorf("after %d attempts: %w", failures, err)
		}
		if err := c.pause(ctx, failures); err != nil {
			return err
		}
	}
}
