package filesearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/stamp"
)

const (
	maxFileBytes = 4 << 20
	maxFiles     = 50_000
)

// counts is what a scan saw.
type counts struct{ files, binary, large, unreadable, beyond int }

func (c counts) leftOut() int { return c.binary + c.large + c.unreadable + c.beyond }

func (c counts) String() string {
	text := fmt.Sprintf("%d files", c.files)
	if c.files == 1 {
		text = "1 file"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.binary, "not text"},
		{c.large, fmt.Sprintf("larger than %d MiB", maxFileBytes>>20)},
		{c.unreadable, "not readable"},
		{c.beyond, fmt.Sprintf("beyond the first %d", maxFiles)},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) > 0 {
		text += "; left out: " + strings.Join(parts, ", ")
	}
	return text
}

// entry is a file that was found, at rel below root.
type entry struct {
	name string // as results name it
	root *os.Root
	rel  string
}

// scan calls visit for every file of the folders that could be text, in the order of names.
func scan(ctx context.Context, folders []folder, except string, c *counts, visit func(entry) error) error {
	for _, f := range folders {
		if err := scanOne(ctx, f, except, c, visit); err != nil {
			return fmt.Errorf("file search: %s: %w", f.path, err)
		}
	}
	return nil
}

func scanOne(ctx context.Context, f folder, except string, c *counts, visit func(entry) error) error {
	// A root is never left, whatever links lead out of it and whenever they were put there.
	root, err := os.OpenRoot(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.CodeInvalidToolMetadata, "file search: the folder %s is gone", f.path)
	} else if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.unreadable++
			return nil
		case rel != "." && strings.HasPrefix(d.Name(), "."), d.IsDir() && except != "" && filepath.Join(f.path, filepath.FromSlash(rel)) == except:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		case c.files+c.leftOut() >= maxFiles:
			c.beyond++
			return nil
		}
		return visit(entry{path.Join(filepath.ToSlash(f.name), rel), root, rel})
	})
}

// look opens a file and gives its stamp, whether that will tell later that the file hasn't changed, and whether the file
// is too large. Nothing is read.
func (e entry) look() (file *os.File, at stamp.Stamp, trusted, large bool, err error) {
	file, err = e.root.Open(filepath.FromSlash(e.rel))
	if err != nil {
		return nil, at, false, false, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, at, false, false, err
	}
	at, known := stamp.Of(file, info)
	return file, at, known && at.QuietSince(time.Now()), info.Size() > maxFileBytes, nil
}

// load reads a file's text; ok is false for what isn't text.
func load(file io.Reader, name string) (text string, sha digest.SHA256, ok bool, err error) {
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", sha, false, err
	}
	sha = digest.SHA256Of(raw)
	text, ok = decode(raw)
	if ok && isHTML(name, raw) {
		text = htmlText(text)
	}
	return text, sha, ok, nil
}

func isHTML(name string, raw []byte) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml":
		return true
	case "":
		return bytes.HasPrefix(bytes.ToLower(raw[:min(len(raw), 14)]), []byte("<!doctype html"))
	}
	return false
}
