package stamp_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"edge/internal/stamp"
)

func TestAChangedFileHasAnotherStamp(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return // nothing is told there
	}
	path := filepath.Join(t.TempDir(), "x")
	of := func() stamp.Stamp {
		t.Helper()
		s, ok := stamp.OfPath(path)
		if !ok {
			t.Fatal("no stamp")
		}
		return s
	}
	if _, ok := stamp.OfPath(path); ok {
		t.Error("a file that isn't there has a stamp")
	}
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := of()
	if first != of() {
		t.Error("an untouched file has two stamps")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	second := of()
	if second.QuietSince(time.Now()) || !second.QuietSince(time.Now().Add(time.Minute)) {
		t.Error("a time that a program set makes the file look quiet")
	}
	time.Sleep(20 * time.Millisecond) // more than a tick
	if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if third := of(); third == second || third.Size != second.Size || third.Modified != second.Modified {
		t.Errorf("the same size and the same time given back: %+v and %+v", third, second)
	}
	if first == second {
		t.Error("another time is no other stamp")
	}
}
