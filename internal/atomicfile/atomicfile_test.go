package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"edge/internal/atomicfile"
)

const (
	oldContent = 'o'
	newContent = 'n'
	size       = 1 << 20
)

// TestMain lets the test binary be the process that is killed in mid-write.
func TestMain(m *testing.M) {
	if path := os.Getenv("ATOMICFILE_TEST_WRITE_FOREVER"); path != "" {
		for i := 0; ; i++ {
			content := bytes.Repeat([]byte{[]byte{oldContent, newContent}[i%2]}, size)
			if err := atomicfile.WriteBytes(path, 0o600, content); err != nil {
				panic(err)
			}
			if i == 0 {
				os.Stdout.WriteString("ready\n")
			}
		}
	}
	os.Exit(m.Run())
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, test := range []struct {
		content string
		perm    os.FileMode
	}{{"first", 0o600}, {"", 0o644}, {"a longer third", 0o400}, {"fourth", 0o600}} {
		if err := atomicfile.WriteBytes(path, test.perm, []byte(test.content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != test.content {
			t.Errorf("got %q (%v), want %q", got, err, test.content)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode() != test.perm {
			t.Errorf("got mode %v, want %v", info.Mode(), test.perm)
		}
	}
	wantFiles(t, filepath.Dir(path), "file")
}

func TestAFailedFillChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := atomicfile.WriteBytes(path, 0o600, []byte("old")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "another"} {
		err := atomicfile.Write(filepath.Join(dir, name), 0o600, func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			return syscall.ENOSPC
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v, want what the disk said", name, err)
		}
	}
	wantFiles(t, dir, "file")
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file became %q", got)
	}
}

func TestAFailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "taken", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, "taken"), 0o600, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	wantFiles(t, dir, "taken")
}

func TestAMissingFolder(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.WriteBytes(filepath.Join(dir, "absent", "file"), 0o600, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder isn't there", err)
	}
	if err := atomicfile.SyncDir(filepath.Join(dir, "absent")); runtime.GOOS != "windows" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder isn't there", err)
	}
	wantFiles(t, dir)
}

// A symbolic link is replaced, not followed: what it points at belongs to someone else.
func TestALinkIsReplaced(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(elsewhere, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteBytes(path, 0o600, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if theirs, _ := os.ReadFile(elsewhere); string(theirs) != "theirs" {
		t.Errorf("the link's target became %q", theirs)
	}
	if ours, _ := os.ReadFile(path); string(ours) != "ours" {
		t.Errorf("got %q, want ours", ours)
	}
}

func TestReadersSeeOldOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	contents := [][]byte{bytes.Repeat([]byte{oldContent}, size), bytes.Repeat([]byte{newContent}, size)}
	if err := atomicfile.WriteBytes(path, 0o600, contents[0]); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, content := range contents {
		writers.Go(func() {
			for range 15 {
				if err := atomicfile.WriteBytes(path, 0o600, content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		wantWhole(t, path)
		select {
		case <-done:
			wantFiles(t, filepath.Dir(path), "file")
			return
		default:
		}
	}
}

// A process that is killed at any moment leaves a whole file; what it was about to write may lie beside it, under a
// name that no reader looks for.
func TestKilledWriter(t *testing.T) {
	for range 8 {
		path := filepath.Join(t.TempDir(), "file")
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), "ATOMICFILE_TEST_WRITE_FOREVER="+path)
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
			t.Error(err)
		}
		wantWhole(t, path)
		if err := writer.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := writer.Wait(); err == nil {
			t.Error("the writer wasn't killed")
		}
		wantWhole(t, path)
		all, errAll := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		temporary, errTemporary := filepath.Glob(filepath.Join(filepath.Dir(path), ".file.*.tmp"))
		if errAll != nil || errTemporary != nil || len(all)-len(temporary) != 1 || len(temporary) > 1 {
			t.Errorf("left behind: %v, of them temporary: %v", all, temporary)
		}
	}
}

func wantWhole(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if len(got) != size || !bytes.Equal(got, bytes.Repeat(got[:1], size)) {
		t.Errorf("a torn file of %d bytes", len(got))
	}
}

func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if len(got) != len(names) || len(names) == 1 && got[0] != names[0] {
		t.Errorf("files are %q, want %q", got, names)
	}
}
