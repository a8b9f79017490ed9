package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"edge/internal/fault"
)

func TestExitStatusOfEachClass(t *testing.T) {
	want := map[fault.Class]int{
		fault.Internal: 1, fault.Usage: 3, fault.Missing: 10, fault.Drift: 11, fault.Corrupt: 12, fault.Stale: 13,
		fault.Tool: 20, fault.Limit: 21, fault.Confirm: 22, fault.Engine: 30, fault.Cancelled: 130,
		"no_such_class": 1,
	}
	for class, exit := range want {
		if got := class.Exit(); got != exit {
			t.Errorf("class %s exits %d, want %d", class, got, exit)
		}
	}
}

func TestFrom(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "absent"))
	coded := fault.New(fault.CodeImprintTruncated, "imprint: 3 bytes")
	tests := []struct {
		name string
		err  error
		want fault.Code
	}{
		{"its own code", coded, fault.CodeImprintTruncated},
		{"its own code, wrapped", fmt.Errorf("open: %w", coded), fault.CodeImprintTruncated},
		{"its own code, joined", errors.Join(errors.New("first"), coded), fault.CodeImprintTruncated},
		{"a code around a full disk", fault.New(fault.CodeDownloadFailed, "get: %w", syscall.ENOSPC), fault.CodeDownloadFailed},
		{"cancelled", fmt.Errorf("decode: %w", context.Canceled), fault.CodeCancelled},
		{"a deadline isn't the user's cancellation", context.DeadlineExceeded, fault.CodeInternal},
		{"full disk", &fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}, fault.CodeNoSpace},
		{"full quota", &fs.PathError{Op: "write", Path: "p", Err: syscall.EDQUOT}, fault.CodeNoSpace},
		{"no permission", &fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}, fault.CodePathNotWritable},
		{"not permitted", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EPERM}, fault.CodePathNotWritable},
		{"read-only file system", fmt.Errorf("write: %w", &fs.PathError{Op: "open", Path: "p", Err: syscall.EROFS}), fault.CodePathNotWritable},
		{"a missing file has no code by itself", missing, fault.CodeInternal},
		{"anything else", errors.New("odd"), fault.CodeInternal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := fault.From(test.err)
			if got.Code != test.want {
				t.Errorf("got %s, want %s", got.Code, test.want)
			}
			if got.Error() == "" || got.NextStep() == "" {
				t.Errorf("an error without words: %+v", got)
			}
			if !fault.Is(got, test.want) {
				t.Error("Is doesn't see the code that From gave")
			}
			if !errors.Is(got, test.err) && !errors.Is(test.err, got) {
				t.Error("the cause got lost")
			}
		})
	}
	if fault.From(nil) != nil {
		t.Error("no error became one")
	}
}

func TestNewKeepsItsCauses(t *testing.T) {
	one := fault.New(fault.CodeInternal, "op: %w", syscall.EIO)
	two := fault.New(fault.CodeInternal, "op: %w, then %w", syscall.EIO, context.Canceled)
	none := fault.New(fault.CodeInternal, "op: %v", syscall.EIO)
	if !errors.Is(one, syscall.EIO) {
		t.Error("one cause was lost")
	}
	if !errors.Is(two, syscall.EIO) || !errors.Is(two, context.Canceled) {
		t.Error("one of two causes was lost")
	}
	if errors.Is(none, syscall.EIO) || none.Unwrap() != nil {
		t.Error("a value that was only printed became a cause")
	}
	if want := "op: input/output error"; one.Error() != want {
		t.Errorf("got %q, want %q", one.Error(), want)
	}
}

func TestHint(t *testing.T) {
	row, ok := fault.Lookup(fault.CodeModelNotFound)
	if !ok {
		t.Fatal("no row")
	}
	e := fault.New(fault.CodeModelNotFound, "model x")
	if e.NextStep() != row.Hint {
		t.Errorf("got %q, want the table's %q", e.NextStep(), row.Hint)
	}
	if got := e.WithHint("try %s", "y").NextStep(); got != "try y" {
		t.Errorf("got %q, want the error's own hint", got)
	}
}

func TestACodeOutsideTheTableIsABug(t *testing.T) {
	e := fault.New("made_up", "x")
	if e.Class() != fault.Internal {
		t.Errorf("got class %s, want internal", e.Class())
	}
	if _, ok := fault.Lookup("made_up"); ok {
		t.Error("found a row that nobody wrote")
	}
}
