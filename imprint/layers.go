package imprint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edge/internal/atomicfile"
	"edge/internal/ctxio"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// A thin imprint is the beginning of a file, up to where its layers begin. The layers lie in files of their own in the
// folder LayerFolder beside it, named by their digests, so that imprints with a layer in common have it once.
const (
	LayerFolder = "layers"
	layerSuffix = ".layer"
)

func layerPath(folder string, s Section) string {
	return filepath.Join(folder, LayerFolder, s.BLAKE3.Hex()+layerSuffix)
}

// attach opens the layers of a thin file. Errors: imprint_truncated where a layer is missing or short,
// imprint_trailing_data where one is longer; the operating system's.
func (u *Unverified) attach(folders []string) error {
	whole := &spread{head: u.src, headEnd: u.body + u.header.headLength()}
	for _, s := range u.header.states() {
		f, err := openLayer(folders, s)
		if err != nil {
			return err
		}
		u.files = append(u.files, f)
		info, err := f.Stat()
		if err != nil {
			return err
		}
		switch name := filepath.Base(f.Name()); {
		case info.Size() < s.Length:
			return fault.New(fault.CodeImprintTruncated, "layer %s: size: got %d, want %d", name, info.Size(), s.Length)
		case info.Size() > s.Length:
			return fault.New(fault.CodeImprintTrailingData, "layer %s: size: got %d, want %d", name, info.Size(), s.Length)
		}
		whole.layers = append(whole.layers, placed{u.body + s.Offset, s.Length, f})
	}
	u.src = whole
	return nil
}

func openLayer(folders []string, s Section) (*os.File, error) {
	for _, folder := range folders {
		f, err := openRegular(layerPath(folder, s))
		if err == nil || !fault.Is(err, fault.CodeImprintNotFound) {
			return f, err
		}
	}
	return nil, fault.New(fault.CodeImprintTruncated, "it is the thin file of a store, and its layer %s isn't there", layerPath(folders[0], s)).
		WithHint("keep the folder \"" + LayerFolder + "\" beside it, or learn again; edge demo learn run --out writes a file that needs no other")
}

func haveLayers(folders []string, h Header) bool {
	return !slices.ContainsFunc(h.states(), func(s Section) bool {
		return !slices.ContainsFunc(folders, func(folder string) bool { _, err := os.Stat(layerPath(folder, s)); return err == nil })
	})
}

// spread reads an imprint whose layers lie in other files as if it were one file. Between the parts there are zeros.
type spread struct {
	head    io.ReaderAt
	headEnd int64
	layers  []placed
}

// placed is a layer's file, and where its bytes stand in the whole.
type placed struct {
	offset, length int64
	file           io.ReaderAt
}

// ReadAt implements io.ReaderAt.
func (w *spread) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		src, from, to := w.part(at + int64(n))
		if src == nil && to == 0 {
			return n, io.EOF
		}
		chunk := p[n:min(int64(len(p)), int64(n)+to-(at+int64(n)))]
		if src == nil {
			clear(chunk)
			n += len(chunk)
			continue
		}
		got, err := src.ReadAt(chunk, at+int64(n)-from)
		n += got
		if got < len(chunk) {
			return n, err
		}
	}
	return n, nil
}

// part says what stands at an offset: a file, the offset of its first byte, and where it ends; nil for zeros; an end of 0
// behind the last layer.
func (w *spread) part(at int64) (src io.ReaderAt, from, to int64) {
	if at < w.headEnd {
		return w.head, 0, w.headEnd
	}
	for _, l := range w.layers {
		if at < l.offset {
			return nil, 0, l.offset
		}
		if at < l.offset+l.length {
			return l.file, l.offset, l.offset + l.length
		}
	}
	return nil, 0, 0
}

// putLayers makes sure that the store has every layer of u, whole, before a thin file names them. The caller holds the
// lock.
func (s *Store) putLayers(ctx context.Context, h Header, content func(i int) io.Reader) error {
	if err := os.MkdirAll(filepath.Join(s.dir, LayerFolder), 0o700); err != nil {
		return fmt.Errorf("imprint store: %w", err)
	}
	for i, section := range h.states() {
		path := layerPath(s.dir, section)
		switch err := examineLayer(ctx, path, section); {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return err
		case isDamage(err):
			if err := setAside(path); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("imprint store: %w", err)
		}
		err := atomicfile.Write(path, 0o600, func(w io.Writer) error {
			if _, err := io.Copy(w, ctxio.Reader(ctx, content(i))); err != nil {
				return err
			}
			written, ok := w.(io.ReaderAt)
			if !ok {
				return errors.New("imprint: the new file can't be read back")
			}
			return sealed.Examine(ctx, written, 0, section.seal())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// examineLayer makes sure that the file is the layer that s describes.
func examineLayer(ctx context.Context, path string, s Section) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != s.Length {
		return fmt.Errorf("%d bytes, want %d: %w", info.Size(), s.Length, io.ErrUnexpectedEOF)
	}
	return sealed.Examine(ctx, f, 0, s.seal())
}

func isDamage(err error) bool {
	var mismatch *sealed.MismatchError
	return errors.As(err, &mismatch) || errors.Is(err, io.ErrUnexpectedEOF)
}
