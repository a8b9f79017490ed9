package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/ctxio"
	"edge/internal/fault"
)

// layoutLock is a file by which those who change the folder's index take turns. It stays: removing it would let two in.
const layoutLock = ".edge.lock"

// layout is a folder in the OCI image layout. The library's own store of that kind isn't used: it writes index.json in
// place and in any order, keeps a damaged blob that has the right name, and reads every manifest of a folder to find
// one.
type layout struct {
	dir string
}

func (l layout) blobPath(d godigest.Digest) string {
	return filepath.Join(l.dir, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// readFile reads a file of at most limit bytes. Opening a pipe would wait for a writer, so it looks first.
func (l layout) readFile(path string, limit int64) ([]byte, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, size, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s isn't a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// index reads the folder's list of manifests. Errors: imprint_not_found where the folder is no layout.
func (l layout) index() (index ocispec.Index, err error) {
	raw, err := l.readFile(filepath.Join(l.dir, ocispec.ImageLayoutFile), maxManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return index, fault.New(fault.CodeImprintNotFound, "%s isn't a folder in the OCI image layout: it has no file %s", l.dir, ocispec.ImageLayoutFile).
			WithHint("check the folder's name")
	case err != nil:
		return index, err
	}
	var version ocispec.ImageLayout
	if err := json.Unmarshal(raw, &version); err != nil {
		return index, fmt.Errorf("%s: %w", ocispec.ImageLayoutFile, err)
	}
	if version.Version != ocispec.ImageLayoutVersion {
		return index, fault.New(fault.CodeImprintFormatUnsupported, "%s: the layout's version is %q, want %q", l.dir, clip(version.Version), ocispec.ImageLayoutVersion)
	}
	if raw, err = l.readFile(filepath.Join(l.dir, ocispec.ImageIndexFile), maxIndex); err == nil {
		if err = canon.Check(raw); err == nil {
			err = json.Unmarshal(raw, &index)
		}
	}
	if err != nil {
		return index, fmt.Errorf("%s: %w", ocispec.ImageIndexFile, err)
	}
	return index, nil
}

func (l layout) manifest(_ context.Context, name string) ([]byte, ocispec.Descriptor, error) {
	index, err := l.index()
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	var found []ocispec.Descriptor
	for _, d := range index.Manifests {
		if d.Annotations[ocispec.AnnotationRefName] == name || string(d.Digest) == name {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, ocispec.Descriptor{}, fault.New(fault.CodeImprintNotFound, "%s has no %s", l.dir, name).WithHint("look into its index.json for what it has")
	}
	desc := found[0]
	if slices.ContainsFunc(found, func(d ocispec.Descriptor) bool { return d.Digest != desc.Digest }) {
		return nil, ocispec.Descriptor{}, fault.New(fault.CodeImprintNotFound, "%s has %s more than once", l.dir, name).WithHint("name it by its digest")
	}
	if !sha256Digest(desc.Digest) {
		return nil, ocispec.Descriptor{}, malformed("a digest %q", clip(string(desc.Digest)))
	}
	raw, err := l.readFile(l.blobPath(desc.Digest), maxManifest)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	desc, err = checkManifest(raw, desc.MediaType, desc.Digest)
	return raw, desc, err
}

func (l layout) open(_ context.Context, blob ocispec.Descriptor, from int64) (io.ReadCloser, int64, error) {
	f, size, err := openRegular(l.blobPath(blob.Digest))
	if err != nil {
		return nil, 0, err
	}
	if size != blob.Size {
		f.Close()
		return nil, 0, mismatch("the blob %s has %d bytes, its manifest says %d", blob.Digest, size, blob.Size)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, from, nil
}

func (l layout) referrers(ctx context.Context, manifest ocispec.Descriptor, limit int) ([]ocispec.Descriptor, error) {
	index, err := l.index()
	if err != nil {
		return nil, err
	}
	var found []ocispec.Descriptor
	for _, d := range index.Manifests {
		if !mayBeSignature(d) || len(found) == limit {
			continue
		}
		raw, desc, err := l.manifest(ctx, string(d.Digest))
		if err != nil {
			continue // what can't be read vouches for nothing
		}
		if m, err := decodeManifest(raw, desc.MediaType); err == nil && m.ArtifactType == SignatureType && m.Subject != nil && m.Subject.Digest == manifest.Digest {
			found = append(found, desc)
		}
	}
	return found, nil
}

// has reads the whole blob: one that is there and damaged isn't there.
func (l layout) has(_ context.Context, blob ocispec.Descriptor) bool {
	f, size, err := openRegular(l.blobPath(blob.Digest))
	if err != nil {
		return false
	}
	defer f.Close()
	got, err := godigest.FromReader(f)
	return err == nil && size == blob.Size && got == blob.Digest
}

func (l layout) put(ctx context.Context, blob ocispec.Descriptor, r io.Reader) error {
	path := l.blobPath(blob.Digest)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		verified := content.NewVerifyReader(ctxio.Reader(ctx, r), blob)
		if _, err := io.Copy(w, verified); err != nil {
			return err
		}
		return verified.Verify()
	})
}

// prepare makes the folder a layout if it is empty or isn't there. Any other folder is left alone.
func (l layout) prepare(ctx context.Context) error {
	return l.locked(ctx, func() error {
		if _, err := l.index(); !fault.Is(err, fault.CodeImprintNotFound) {
			return err
		}
		entries, err := os.ReadDir(l.dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() != layoutLock && e.Name() != ocispec.ImageIndexFile {
				return fault.New(fault.CodeInvalidArguments, "%s holds other files (%s) and no %s", l.dir, e.Name(), ocispec.ImageLayoutFile).
					WithHint("name an empty or a new folder")
			}
		}
		empty := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
		if err := l.writeIndex(empty); err != nil {
			return err
		}
		return l.writeJSON(ocispec.ImageLayoutFile, ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	})
}

// publish writes the manifest, and then lists it. A tag that named another manifest names this one from then on.
func (l layout) publish(ctx context.Context, desc ocispec.Descriptor, raw []byte, tag string) error {
	if err := l.put(ctx, desc, bytes.NewReader(raw)); err != nil {
		return err
	}
	if tag != "" {
		desc.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	}
	return l.locked(ctx, func() error {
		index, err := l.index()
		if err != nil {
			return err
		}
		index.Manifests = slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool {
			name := d.Annotations[ocispec.AnnotationRefName]
			return name == tag && (tag != "" || d.Digest == desc.Digest) || name == "" && d.Digest == desc.Digest
		})
		index.Manifests = append(index.Manifests, desc)
		return l.writeIndex(index)
	})
}

// locked makes the folder and does something while no other edge changes its index.
func (l layout) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(l.dir, layoutLock))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", l.dir, err)
	}
	defer lock.Close()
	return do()
}

func (l layout) writeIndex(index ocispec.Index) error {
	return l.writeJSON(ocispec.ImageIndexFile, index)
}

func (l layout) writeJSON(name string, value any) error {
	raw, err := canon.Marshal(value)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(l.dir, name), 0o644, raw)
}
