//go:build sweep && linux

package tools_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/tools"
)

// The sweep kills a process at each of its system calls in turn, or has the call fail, by strace:
//
//	make sweep
//
// Whatever happens where, an action runs at most once, and no file is torn.

// injection is what strace does to one call of a process: the when-th of that name.
type injection struct {
	call, what string
	when       int
}

func (i injection) String() string { return fmt.Sprintf("%s at %s number %d", i.what, i.call, i.when) }

const kill = "signal=KILL"

// played is how a process that was interfered with ended.
type played struct {
	out    string
	status int // -1: it was killed
	hit    bool
}

func interfere(t *testing.T, in injection, args ...string) played {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace")
	cmd := playing(t, args...)
	cmd.Args = append([]string{"strace", "-f", "-o", log, "-e", "trace=" + in.call, "-e", fmt.Sprintf("inject=%s:%s:when=%d", in.call, in.what, in.when)}, cmd.Path)
	var err error
	if cmd.Path, err = exec.LookPath("strace"); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.Run()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	p := played{out.String(), cmd.ProcessState.ExitCode(), bytes.Contains(text, []byte("(INJECTED)"))}
	if bytes.Contains(text, []byte("+++ killed by SIGKILL +++")) {
		p.hit, p.status = true, -1
	}
	return p
}

// plain does args without interference.
func plain(t *testing.T, args ...string) played {
	t.Helper()
	out, _ := playing(t, args...).Output()
	return played{out: string(out)}
}

// traceOf gives the system calls that a process makes from its first look at the store to its end, a line each.
func traceOf(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace")
	cmd := playing(t, args...)
	trace := exec.Command("strace", "-f", "-o", log, cmd.Path)
	trace.Env = cmd.Env
	if out, err := trace.CombinedOutput(); err != nil {
		t.Fatalf("%v: run make sweep, which installs strace\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := bytes.Cut(text, []byte(`"`+dir))
	if !found {
		t.Fatalf("the trace doesn't name %s", dir)
	}
	return strings.Split(string(text), "\n")
}

// callsOf gives the names of those calls.
func callsOf(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	var names []string
	for _, line := range traceOf(t, dir, args...) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if name, _, ok := strings.Cut(fields[1], "("); ok && name != "" && name != "exit_group" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !slices.Contains(names, "openat") || len(names) < 5 {
		t.Fatalf("the trace has only %q", names)
	}
	return names
}

// sweep interferes with the calls of names, one after the other, until no process meets one more. scene makes a fresh
// store and gives what is done there, and what must hold afterwards.
func sweep(t *testing.T, names []string, what string, scene func() (args []string, holds func(played) string)) int {
	t.Helper()
	points := 0
	for _, name := range names {
		for when := 1; ; when++ {
			in := injection{name, what, when}
			args, holds := scene()
			p := interfere(t, in, args...)
			if !p.hit {
				break
			}
			points++
			if wrong := holds(p); wrong != "" {
				t.Errorf("%s: %s", in, wrong)
			}
		}
	}
	return points
}

// whole reports a file of the store that can't be read.
func whole(t *testing.T, dir string) string {
	t.Helper()
	s, err := tools.NewPendingStore(dir, time.Now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		if info.State == tools.Malformed {
			return info.Path + " is torn"
		}
		done := strings.TrimSuffix(info.Path, ".json") + ".done"
		if _, err := os.Stat(done); err == nil && info.State != tools.Finished {
			return done + " is torn"
		}
	}
	return ""
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".effect") {
			list = append(list, e.Name())
		}
	}
	return list
}

func offered(t *testing.T, dir string) (path, token string) {
	t.Helper()
	fields := strings.Fields(plain(t, playCreate, dir).out)
	if len(fields) != 2 {
		t.Fatalf("create printed %q", fields)
	}
	return fields[0], fields[1]
}

// first gives the first complaint.
func first(complaints ...string) string {
	for _, c := range complaints {
		if c != "" {
			return c
		}
	}
	return ""
}

func failures() []string { return []string{"error=ENOSPC", "error=EIO"} }

// changing are the calls of names that a full or broken disk can fail.
func changing(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return !slices.Contains([]string{"openat", "write", "fsync", "close", "renameat", "renameat2", "rename", "fchmod", "unlinkat", "linkat", "mkdirat", "getdents64", "read"}, name)
	})
}

func both(t *testing.T, all []string, scene func() ([]string, func(played) string)) {
	t.Helper()
	kills := sweep(t, all, kill, scene)
	t.Logf("killed at %d system calls of %d kinds", kills, len(all))
	for _, what := range failures() {
		n := sweep(t, changing(all), what, scene)
		t.Logf("%s at %d system calls", what, n)
	}
}

func TestSweepCreate(t *testing.T) {
	dir := t.TempDir()
	both(t, callsOf(t, dir, playCreate, dir), func() ([]string, func(played) string) {
		dir := t.TempDir()
		return []string{playCreate, dir}, func(p played) string {
			wrong := whole(t, dir)
			// What was offered can be confirmed; what wasn't can't hurt.
			if fields := strings.Fields(p.out); len(fields) == 2 {
				if plain(t, playConfirm, dir, fields[0], fields[1]); effects(t, fields[0]) != 1 {
					wrong = first(wrong, "the action was offered, and can't be confirmed")
				}
			} else if p.status == 0 {
				wrong = first(wrong, "it succeeded without an offer")
			}
			plain(t, playPrune, dir)
			plain(t, playPrune, dir)
			if left := names(t, dir); len(left) > 0 {
				wrong = first(wrong, fmt.Sprintf("after prune there is still %q", left))
			}
			return wrong
		}
	})
}

func TestSweepConfirm(t *testing.T) {
	dir := t.TempDir()
	path, token := offered(t, dir)
	ends := map[string]int{}
	both(t, callsOf(t, dir, playConfirm, dir, path, token), func() ([]string, func(played) string) {
		dir := t.TempDir()
		path, token := offered(t, dir)
		return []string{playConfirm, dir, path, token}, func(p played) string {
			wrong := whole(t, dir)
			ran := effects(t, path)
			claim := strings.TrimSuffix(path, ".json") + ".claim"
			_, err := os.Stat(claim)
			claimed := err == nil
			again := playing(t, playConfirm, dir, path, token)
			again.Run()
			total := effects(t, path)
			switch {
			case ran > 0 && !claimed:
				wrong = first(wrong, "it ran unclaimed")
			case p.status == 0 && ran != 1:
				wrong = first(wrong, fmt.Sprintf("it succeeded and ran %d times", ran))
			case claimed && (total != ran || again.ProcessState.ExitCode() != fault.Confirm.Exit()):
				wrong = first(wrong, fmt.Sprintf("claimed: confirming again gave status %d, and it ran %d times", again.ProcessState.ExitCode(), total))
			case !claimed && (total != 1 || again.ProcessState.ExitCode() != 0):
				wrong = first(wrong, fmt.Sprintf("unclaimed: confirming again gave status %d, and it ran %d times", again.ProcessState.ExitCode(), total))
			}
			ends[fmt.Sprintf("ran %d times, then %d", ran, total-ran)]++
			return first(wrong, whole(t, dir))
		}
	})
	t.Log(ends)
}

// A power cut can't be swept. What outlives it is what was synced before the next step: the claim and its folder before
// the action, each file before its rename, and its folder after it.
func TestSweepSyncs(t *testing.T) {
	dir := t.TempDir()
	path, token := offered(t, dir)
	inOrder(t, traceOf(t, dir, playConfirm, dir, path, token),
		`.claim", O_WRONLY|O_CREAT|O_EXCL`, "fsync(", `openat(AT_FDCWD, "`+dir+`", `, "fsync(", `.effect"`,
		`.tmp", O_RDWR|O_CREAT|O_EXCL`, "write(", "fsync(", ".done\"", `openat(AT_FDCWD, "`+dir+`", `, "fsync(")
	inOrder(t, traceOf(t, dir, playCreate, dir),
		`.tmp", O_RDWR|O_CREAT|O_EXCL`, "fchmod(", "write(", "fsync(", ".json\"", `openat(AT_FDCWD, "`+dir+`", `, "fsync(", "write(1, ")
}

func inOrder(t *testing.T, trace []string, steps ...string) {
	t.Helper()
	for _, line := range trace {
		if len(steps) > 0 && strings.Contains(line, steps[0]) {
			steps = steps[1:]
		}
	}
	if len(steps) > 0 {
		t.Errorf("these steps didn't follow: %q in\n%s", steps, strings.Join(trace, "\n"))
	}
}

func TestSweepPrune(t *testing.T) {
	setUp := func(dir string) (paths, tokens []string) {
		for range 3 {
			path, token := offered(t, dir)
			paths, tokens = append(paths, path), append(tokens, token)
		}
		plain(t, playConfirm, dir, paths[0], tokens[0])
		s, err := tools.NewPendingStore(dir, time.Now, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := claim(s, paths[1], tokens[1]); err != nil { // and nothing more: it was cut off
			t.Fatal(err)
		}
		return paths, tokens
	}
	dir := t.TempDir()
	setUp(dir)
	both(t, callsOf(t, dir, playPrune, dir), func() ([]string, func(played) string) {
		dir := t.TempDir()
		paths, tokens := setUp(dir)
		return []string{playPrune, dir}, func(played) string {
			wrong := whole(t, dir)
			for i, path := range paths {
				plain(t, playConfirm, dir, path, tokens[i])
				if ran := effects(t, path); ran > 1 || i < 2 && ran != 1-i {
					wrong = first(wrong, "action "+strconv.Itoa(i)+" ran "+strconv.Itoa(ran)+" times in all")
				}
			}
			plain(t, playPrune, dir)
			plain(t, playPrune, dir)
			if left := names(t, dir); len(left) > 0 {
				wrong = first(wrong, fmt.Sprintf("after prune there is still %q", left))
			}
			return wrong
		}
	})
}
