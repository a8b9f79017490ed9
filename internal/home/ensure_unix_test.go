//go:build unix

package home_test

import (
	"os"
	"path/filepath"
	"testing"

	"edge/internal/home"
)

func TestEnsure(t *testing.T) {
	root := t.TempDir()
	made := filepath.Join(root, "a", "b")
	if err := home.Ensure(made); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(made), made} {
		if mode := mustStat(t, dir).Mode().Perm(); mode != 0o700 {
			t.Errorf("%s has mode %o", dir, mode)
		}
	}

	shared := filepath.Join(root, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := home.Ensure(shared); err != nil {
		t.Fatal(err)
	}
	if mode := mustStat(t, shared).Mode().Perm(); mode != 0o755 {
		t.Errorf("a folder that was there got mode %o", mode)
	}

	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := home.Ensure(file); err == nil {
		t.Error("a file passed for a folder")
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
