//go:build unix

package evolve_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"edge/evolve"
)

// A pipe among the records is set aside; opening it would wait for ever.
func TestAPipeIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	var heard []string
	library, err := evolve.NewLibrary(dir, func(line string) { heard = append(heard, line) })
	if err != nil {
		t.Fatal(err)
	}
	if list, err := library.List(); err != nil || len(list) != 0 || len(heard) != 1 {
		t.Errorf("got %v, %v, heard %q", list, err, heard)
	}
}
