package oci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// PullOptions say whose imprints are taken. A folder is the user's own disk: without either option an imprint is taken
// from it, signed or not. A registry is somebody else's: one of both has to be given.
type PullOptions struct {
	// Trust, if not empty, wants a signature by one of these keys, from a folder too.
	Trust []dsse.PublicKey
	// TrustUnsigned takes an imprint as it is. It doesn't go with Trust.
	TrustUnsigned bool
}

// Pulled says what lies in the store now.
type Pulled struct {
	imprint.Entry
	Reference string
	// Digest is the manifest's.
	Digest string
	// Bytes is how long the file is that was fetched, or would have been.
	Bytes int64
	// Present says that the store had the imprint, so that its file wasn't fetched.
	Present bool
	// Signer is the trusted key that signed, or zero.
	Signer digest.SHA256
}

// partialAge is how long the bytes of an interrupted pull wait to be continued.
const partialAge = 7 * 24 * time.Hour

// Pull brings an imprint into a store.
//
// Errors: imprint_not_found, imprint_format_unsupported, imprint_header_malformed and the other refusals of the
// imprint's gate; imprint_signature_missing, imprint_signature_invalid; download_failed, download_digest_mismatch;
// invalid_arguments; the operating system's; ctx's. After any of them the store is as it was.
func (c *Client) Pull(ctx context.Context, store *imprint.Store, t Target, opt PullOptions) (Pulled, error) {
	pulled, err := c.pull(ctx, store, t, opt)
	if err != nil {
		return Pulled{}, failed(ctx, fault.CodeDownloadFailed, t, err)
	}
	return pulled, nil
}

func (c *Client) pull(ctx context.Context, store *imprint.Store, t Target, opt PullOptions) (Pulled, error) {
	if len(opt.Trust) > 0 && opt.TrustUnsigned {
		return Pulled{}, fault.New(fault.CodeInvalidArguments, "keys to trust, and unsigned imprints as well").WithHint("give --trust or --trust-unsigned")
	}
	p, err := c.place(t)
	if err != nil {
		return Pulled{}, err
	}
	raw, manifest, err := c.manifest(ctx, p, t.name)
	if err != nil {
		return Pulled{}, err
	}
	a, err := c.resolve(ctx, p, raw, manifest.MediaType)
	if err != nil {
		return Pulled{}, err
	}
	pulled := Pulled{Reference: t.text, Digest: manifest.Digest.String(), Bytes: a.file.Size}
	switch {
	case len(opt.Trust) > 0:
		if pulled.Signer, err = c.trust(ctx, p, a, manifest, opt.Trust); err != nil {
			return Pulled{}, err
		}
	case t.Remote() && !opt.TrustUnsigned:
		return Pulled{}, fault.New(fault.CodeImprintSignatureMissing, "%s comes from a registry, and no key was given to trust", a.id)
	}
	pulled.Entry, pulled.Present, err = c.obtain(ctx, store, p, a, t)
	return pulled, err
}

// resolve reads the imprint's header and makes sure that the manifest speaks of the file which the header describes.
func (c *Client) resolve(ctx context.Context, p place, raw []byte, mediaType string) (artifact, error) {
	config, file, err := parseManifest(raw, mediaType)
	if err != nil {
		return artifact{}, err
	}
	header, err := c.readSmall(ctx, p, config)
	if err != nil {
		return artifact{}, err
	}
	a := artifact{config: config, file: file}
	var size int64
	if a.header, a.id, size, err = imprint.ParseHeader(header); err != nil {
		return artifact{}, err
	}
	switch {
	case file.Size < size:
		return artifact{}, fault.New(fault.CodeImprintTruncated, "the manifest has a file of %d bytes, its header describes %d", file.Size, size)
	case file.Size > size:
		return artifact{}, fault.New(fault.CodeImprintTrailingData, "the manifest has a file of %d bytes, its header describes %d", file.Size, size)
	}
	return a, nil
}

// obtain fetches the file, unless the store has the imprint, and has the store adopt it. Pulls into one store take
// turns, so that no two write the same part.
func (c *Client) obtain(ctx context.Context, store *imprint.Store, p place, a artifact, t Target) (e imprint.Entry, present bool, err error) {
	dir, err := store.Partial()
	if err != nil {
		return e, false, err
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return e, false, fmt.Errorf("lock %s: %w", dir, err)
	case !held:
		c.cfg.Notify("another pull is under way; waiting for it")
		if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
			return e, false, fmt.Errorf("lock %s: %w", dir, err)
		}
	}
	defer lock.Close()
	if err := c.removeOld(dir); err != nil {
		return e, false, err
	}
	part := filepath.Join(dir, a.file.Digest.Encoded()+partSuffix)
	e, err = store.Lookup(ctx, a.id)
	if err == nil { // a pull that died after the store had the imprint has left its part
		if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return e, true, err
		}
		return e, true, nil
	}
	if ctx.Err() != nil {
		return e, false, err
	}
	if err := c.download(ctx, p, a.file, part, "pulling "+t.text); err != nil {
		return e, false, err
	}
	e, err = store.Adopt(ctx, part, t.text, a.id)
	var refusal *imprint.Refusal
	if errors.As(err, &refusal) { // it has the digest that was asked for, so it will never be anything better
		err = errors.Join(err, os.Remove(part))
	}
	return e, false, err
}

const partSuffix = ".part"

// removeOld removes what pulls have left that nobody continued.
func (c *Client) removeOld(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		if err != nil {
			return err
		}
		if c.cfg.Now().Sub(info.ModTime()) > partialAge {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
