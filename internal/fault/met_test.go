package fault_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Every code is met by a test outside this package: by its constant in Go, or by its text in a script or in Python.
func TestEveryCodeIsMet(t *testing.T) {
	met := map[string]bool{}
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "internal/fault" || name == "internal/archtest" || name != "." && strings.HasPrefix(path.Base(name), ".")):
			return fs.SkipDir
		case entry.IsDir() || !isTest(path.Base(name)):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, word := range strings.FieldsFunc(string(text), func(r rune) bool {
			return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			met[word] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !met["TestMain"] {
		t.Fatal("no test was read")
	}
	for code, name := range declaredCodes(t) {
		if !met[name] && !met[string(code)] {
			t.Errorf("no test meets %s (%s)", name, code)
		}
	}
}

func isTest(base string) bool {
	return strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "test_") && path.Ext(base) == ".py" || path.Ext(base) == ".txtar"
}
