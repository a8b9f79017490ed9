package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// shims is a folder laid out as pyenv's, whose python3 counts how often it is run and leads to a real interpreter.
type shims struct{ root, shim, count, memory, work string }

func newShims(t *testing.T) shims {
	t.Helper()
	real, err := findPython("", os.Environ(), "")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := shims{root, filepath.Join(root, "shims", "python3"), filepath.Join(root, "count"), filepath.Join(root, "python.json"), filepath.Join(root, "work", "deep")}
	for _, dir := range []string{"shims", "versions", "work/deep"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho x >> " + s.count + "\nexec " + real.Path + " \"$@\"\n"
	s.write(t, s.shim, script)
	s.write(t, filepath.Join(root, "version"), "3.12\n")
	t.Chdir(s.work)
	return s
}

// write makes a file that was written a while ago.
func (s shims) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// ask finds the interpreter at a time when the files have been left alone for long enough, and says how often the shim
// has been run.
func (s shims) ask(t *testing.T, environ ...string) int {
	t.Helper()
	environ = append([]string{"PATH=" + filepath.Dir(s.shim)}, environ...)
	key, ok := circumstances(s.shim, nil, environ, time.Now().Add(time.Minute))
	if !ok {
		t.Fatal("it isn't taken for a shim")
	}
	python, known := recall(s.memory, key)
	if !known {
		var err error
		if python, err = askPython(s.shim, nil, environ); err != nil {
			t.Fatal(err)
		}
		remember(s.memory, key, python, time.Now().Add(time.Minute))
	}
	if !strings.HasPrefix(python.Version, "3.") || !filepath.IsAbs(python.Path) {
		t.Fatalf("got %+v", python)
	}
	raw, err := os.ReadFile(s.count)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(raw), "x")
}

func TestAShimIsAskedOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // pyenv's shims are shell scripts
	}
	s := newShims(t)
	if n := s.ask(t); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	if n := s.ask(t); n != 1 {
		t.Errorf("the same again: asked %d times, want 1", n)
	}
	// Whatever may lead it elsewhere has it asked again.
	want := 1
	for _, c := range []struct {
		name    string
		change  func()
		environ []string
	}{
		{"a variable", func() {}, []string{"PYENV_VERSION=3.10"}},
		{"the global version", func() { s.write(t, filepath.Join(s.root, "version"), "3.11.1\n") }, nil},
		{"a version of the folder", func() { s.write(t, filepath.Join(s.work, ".python-version"), "3.11\n") }, nil},
		{"a version of a folder above", func() { s.write(t, filepath.Join(s.root, "work", ".python-version"), "3.11\n") }, nil},
		{"another folder", func() { t.Chdir(s.root) }, nil},
		{"the shim itself", func() {
			raw, err := os.ReadFile(s.shim)
			if err != nil {
				t.Fatal(err)
			}
			s.write(t, s.shim, string(raw)+"# new\n")
		}, nil},
	} {
		c.change()
		want++
		if n := s.ask(t, c.environ...); n != want {
			t.Errorf("%s: asked %d times, want %d", c.name, n, want)
		}
		if n := s.ask(t, c.environ...); n != want {
			t.Errorf("%s, the same again: asked %d times, want %d", c.name, n, want)
		}
	}
	for _, content := range []string{"", "{}", "{", strings.Repeat("x", maxRemembered+1)} {
		s.write(t, s.memory, content)
		want++
		if n := s.ask(t); n != want {
			t.Errorf("a memory of %d bytes: asked %d times, want %d", len(content), n, want)
		}
	}
}

func TestOnlyShimsAreRemembered(t *testing.T) {
	s := newShims(t)
	if _, ok := circumstances(s.shim, nil, nil, time.Now()); ok && runtime.GOOS != "windows" {
		t.Error("files that were just written are trusted")
	}
	later := time.Now().Add(time.Minute)
	for _, path := range []string{"/usr/bin/python3", filepath.Join(s.root, "bin", "python3"), filepath.Join(t.TempDir(), "shims", "python3")} {
		if _, ok := circumstances(path, nil, nil, later); ok {
			t.Errorf("%s is taken for a shim", path)
		}
	}
}
