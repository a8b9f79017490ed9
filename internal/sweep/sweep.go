// Package sweep interferes with a process at each of its system calls in turn, by strace: it kills it there, or has the
// call fail as a full or broken disk makes it fail. It is for tests only (make sweep, Linux).
//
// What it promises is the count: from the first system call that names the scene's folder to the process's end, every
// call of the thread that made it was a point. The process is the test's own, a copy of its binary that locks its
// goroutine to its thread (runtime.LockOSThread), because strace counts the calls of each thread for itself.
package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Run starts the process under a command that takes the process's own as its last arguments, waits for it, and gives
// its exit status (−1: it was killed) and what it printed.
type Run func(wrap ...string) (status int, printed string)

// Scene is one process and what must be true when it has ended.
type Scene struct {
	// Dir is the folder that the process works on; each scene has one of its own.
	Dir string
	Run Run
	// Holds gives a complaint, or "".
	Holds func(Ending) string
}

// Ending is how a process ended that was interfered with.
type Ending struct {
	// Status is its exit status; −1 where it was killed.
	Status  int
	Printed string
	// Call is the system call that was interfered with, Failed whether that call failed instead of killing it.
	Call   string
	Failed bool
}

const kill = "signal=KILL"

// disk are the calls that a disk can fail. Whoever makes one of mustReport has to report that it failed.
func disk() []string {
	return append(mustReport(), "openat", "close", "read", "pread64", "lseek", "fchmod", "fchmodat", "fchmodat2", "mkdirat", "unlinkat", "linkat", "getdents64",
		"newfstatat", "fstat", "utimensat")
}

func mustReport() []string {
	return []string{"write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "renameat", "renameat2", "copy_file_range"}
}

// All kills the process at each call, and has each call that touches the disk fail with ENOSPC and with EIO. It logs how
// many points that were.
func All(t *testing.T, scene func() Scene) {
	t.Helper()
	first := calls(t, scene())
	var names []string
	for name := range first {
		names = append(names, name)
	}
	slices.Sort(names)
	t.Logf("SIGKILL: %d points, system calls of %d kinds", points(t, kill, names, first, scene), len(names))
	failing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(disk(), name) })
	for _, what := range []string{"ENOSPC", "EIO"} {
		t.Logf("%s: %d points, %q", what, points(t, "error="+what, failing, first, scene), failing)
	}
}

// Trace gives the lines of strace for an undisturbed run, from the first one that names the scene's folder.
func Trace(t *testing.T, s Scene) []string {
	t.Helper()
	_, after := split(t, s)
	return after
}

func split(t *testing.T, s Scene) (before, after []string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace")
	if status, printed := s.Run("strace", "-f", "-y", "-s", "4096", "-o", log); status != 0 {
		t.Fatalf("undisturbed, it ends with status %d; make sweep installs strace\n%s", status, printed)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"`+s.Dir) })
	if start < 0 {
		t.Fatalf("its system calls don't name %s", s.Dir)
	}
	return lines[:start], lines[start:]
}

// calls gives the names of the calls since the first one that names the folder, and for each the number that its first
// one has among those of its thread.
func calls(t *testing.T, s Scene) map[string]int {
	t.Helper()
	before, after := split(t, s)
	thread, _ := call(after[0])
	first := map[string]int{}
	for _, line := range after {
		if _, name := call(line); name != "" && name != "exit_group" {
			first[name] = 1
		}
	}
	if len(first) < 5 || first["openat"] == 0 {
		t.Fatalf("the trace has only %v", first)
	}
	for _, line := range before {
		if in, name := call(line); in == thread && first[name] > 0 {
			first[name]++
		}
	}
	return first
}

// call gives a line's thread, and the call that begins in it.
func call(line string) (thread, name string) {
	thread, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	name, _, ok := strings.Cut(rest, "(")
	if !ok || strings.ContainsAny(name, " <+") {
		return thread, ""
	}
	return thread, name
}

// points interferes with the calls of names, one after the other, until no process meets one more.
func points(t *testing.T, what string, names []string, first map[string]int, scene func() Scene) int {
	t.Helper()
	log, count := filepath.Join(t.TempDir(), "strace"), 0
	for _, name := range names {
		for when := first[name]; ; when++ {
			s := scene()
			status, printed := s.Run("strace", "-f", "-o", log, "-e", "trace="+name, "-e", fmt.Sprintf("inject=%s:%s:when=%d", name, what, when))
			raw, err := os.ReadFile(log)
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			e := Ending{Status: status, Printed: printed, Call: name, Failed: what != kill}
			if !bytes.Contains(raw, []byte("(INJECTED)")) && !bytes.Contains(raw, []byte("+++ killed by SIGKILL +++")) {
				break
			}
			count++
			wrong := s.Holds(e)
			if wrong == "" && e.Failed && e.Status == 0 && slices.Contains(mustReport(), name) {
				wrong = "it reported nothing"
			}
			if wrong != "" {
				t.Errorf("%s at %s number %d: %s\nstatus %d %s", what, name, when, wrong, status, printed)
			}
		}
	}
	return count
}
