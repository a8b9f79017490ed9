package runner

import (
	"io/fs"
	"os"
	"path/filepath"
)

// newFolder makes the private folder of one process: empty, mode 0700, with its symbolic links resolved, because the
// sandboxes of some platforms compare paths as text.
func newFolder(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "edge-tool-")
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Abs(dir)
}

// removeFolder removes dir and all in it, also folders that the tool made unreadable. No process of the call is alive
// any more, so what is looked at here can't be swapped for a link.
func removeFolder(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		// A folder is offered before it is read, and a second time with the error if it can't be.
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
