package runner

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/tools"

	"golang.org/x/sys/unix"
)

// Each of these starts a process that would outlive the call, and gives its number.
var leftovers = []struct{ name, body string }{
	{"a child that holds the output", "import subprocess\nreturn subprocess.Popen(['sleep', '60']).pid"},
	{"a child of a shell", "import subprocess\nreturn int(subprocess.run(['sh', '-c', 'sleep 60 >/dev/null 2>&1 & echo $!'], capture_output=True).stdout)"},
	{"a child in a session of its own", "import subprocess\nreturn subprocess.Popen(['sleep', '60'], start_new_session=True).pid"},
	{"a fork that holds the private channel", "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(60)\n    os._exit(0)\nreturn pid"},
	{"a daemon, twice forked", daemon + "return daemon()"},
}

const daemon = `import os, time
def daemon():
    r, w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(w, str(os.getpid()).encode())
            time.sleep(60)
        os._exit(0)
    os.wait()
    return int(os.read(r, 20))
`

func TestNothingOutlivesACall(t *testing.T) {
	for _, c := range leftovers {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, withSandbox(SandboxOff))
			got, err := b.call(c.body, "{}")
			if err != nil {
				t.Fatal(err)
			}
			wantGone(t, resultNumber(t, got))
		})
		t.Run(c.name+", in a confirmed call", func(t *testing.T) {
			b := newBench(t)
			set := b.freeze(c.body)
			got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f"}, WithUserRights: true})
			if err != nil {
				t.Fatal(err)
			}
			wantGone(t, resultNumber(t, got))
		})
		t.Run(c.name+", in a call that is cut off", func(t *testing.T) {
			b := newBench(t, withSandbox(SandboxOff))
			note := filepath.Join(b.project, "pid")
			set := b.freeze("def g():\n    " + strings.ReplaceAll(c.body, "\n", "\n    ") + fmt.Sprintf("\nimport os, time\nopen(%q, 'w').write(str(g()))\nos.rename(%[1]q, %q)\ntime.sleep(60)", note+".new", note))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var pid int
			go func() {
				defer cancel()
				for ctx.Err() == nil {
					if text, err := os.ReadFile(note); err == nil {
						pid, _ = strconv.Atoi(string(text))
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			_, err := b.runner.Call(ctx, CallRequest{Set: set, Call: tools.Call{ToolName: "f"}})
			if code(err) != fault.CodeCancelled || pid < 2 {
				t.Fatalf("got %v and process %d, want %s", err, pid, fault.CodeCancelled)
			}
			wantGone(t, pid)
		})
	}
}

func resultNumber(t *testing.T, got Result) int {
	t.Helper()
	var r struct{ Result int }
	if err := json.Unmarshal(got.Canonical, &r); err != nil || r.Result < 2 {
		t.Fatalf("%s: %v", got.Canonical, err)
	}
	return r.Result
}

// wantGone waits for nothing: when a call has returned, what it started has ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if state := processState(pid); state != "" {
		syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("process %d is still there: %s", pid, state)
	}
}

// waitGone allows the kernel a while to end a process; another one reaps it.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		state := processState(pid)
		switch {
		case state == "" || state == "Z":
			return
		case time.Now().After(limit):
			syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("process %d is still there: %s", pid, state)
			return
		}
	}
}

// processState is the letter that /proc gives, "" if there is no such process.
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

// Without edge's own program there is no supervisor; the group is killed all the same.
func TestGroupIsKilledWithoutSupervisor(t *testing.T) {
	b := newBench(t, withSandbox(SandboxOff), func(c *Config) { c.Executable = "" })
	for _, c := range leftovers[:2] {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{t, b.runner, t.TempDir(), b.temp, b.printed}
			got, err := b.call(c.body, "{}")
			if err != nil {
				t.Fatal(err)
			}
			// Killed is certain; the reaping is the init process's.
			pid := resultNumber(t, got)
			waitGone(t, pid)
		})
	}
}

func TestSupervisedExits(t *testing.T) {
	b := newBench(t, withSandbox(SandboxOff))
	for _, c := range []struct{ body, says string }{
		{"import os; os._exit(3)", "exit status 3"},
		{"import os; os.kill(os.getpid(), 9)", "signal: killed"},
		{"import os, signal; os.kill(0, 15); signal.pause()", "signal: "},
		{"import os, signal; os.kill(os.getppid(), 9); signal.pause()", "signal: killed"},
	} {
		t.Run(c.body, func(t *testing.T) {
			b := &bench{t, b.runner, t.TempDir(), b.temp, b.printed}
			if _, err := b.call(c.body, "{}"); code(err) != fault.CodeRunnerCrashed || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s with %q", err, fault.CodeRunnerCrashed, c.says)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	b := newBench(t)
	set := b.freeze("import os; return os.getpid()")
	pid := func() int {
		t.Helper()
		got, err := b.again(set, "{}")
		if err != nil {
			t.Fatal(err)
		}
		return resultNumber(t, got)
	}
	ready := func() int {
		t.Helper()
		b.runner.Prepare()
		b.runner.Prepare() // no second one
		a := b.runner.ahead
		if <-a.started; a.err != nil {
			t.Fatal(a.err)
		}
		<-a.process.ready
		return a.process.group.pid
	}

	first := ready()
	if got := pid(); got != first {
		t.Errorf("the call ran in %d, want the prepared %d", got, first)
	}
	wantGone(t, first)
	if got := pid(); got == first {
		t.Error("a process ran twice")
	}

	// A dead one is noticed and replaced.
	dead := ready()
	ahead := b.runner.ahead.process
	syscall.Kill(dead, syscall.SIGKILL)
	<-ahead.exited
	if got := pid(); got == dead {
		t.Error("a dead process ran a call")
	}

	// A confirmed call isn't given a confined one, which stays for the next.
	third := ready()
	got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f"}, WithUserRights: true})
	if err != nil || resultNumber(t, got) == third {
		t.Errorf("got %s, %v; want another process than %d", got.Canonical, err, third)
	}
	if got := pid(); got != third {
		t.Errorf("the call ran in %d, want the prepared %d", got, third)
	}

	last := ready()
	b.runner.Close()
	wantGone(t, last)
}

// TestManyCalls is issue 4's thousand calls, fewer of them unless EDGE_MANY_CALLS says otherwise.
func TestManyCalls(t *testing.T) {
	calls := 60
	if text := os.Getenv("EDGE_MANY_CALLS"); text != "" {
		var err error
		if calls, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	off := newBench(t, withSandbox(SandboxOff))
	set := b.freeze("print('x')\nimport os, threading\nos.mkdir('d'); open('d/f', 'w').write('x'); os.mkdir('e', 0)\nthreading.Thread(target=lambda: __import__('time').sleep(60)).start()\nreturn 1")
	messy := off.freeze("import os, subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\nos.mkdir('e', 0)\nreturn 1")
	one := func(i int) {
		b, set := b, set
		if i%4 == 3 {
			b, set = off, messy
		}
		if i%2 == 1 {
			b.runner.Prepare()
		}
		if _, err := b.again(set, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		one(i)
	}
	type census struct{ children, files, goroutines, folders int }
	count := func() census {
		t.Helper()
		// The last goroutine of a call may be on its way out when the call returns.
		for range 100 {
			runtime.Gosched()
			time.Sleep(time.Millisecond)
		}
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		inB, err := os.ReadDir(b.temp)
		if err != nil {
			t.Fatal(err)
		}
		inOff, err := os.ReadDir(off.temp)
		if err != nil {
			t.Fatal(err)
		}
		return census{len(childrenOf(strconv.Itoa(os.Getpid()))), len(files), runtime.NumGoroutine(), len(inB) + len(inOff)}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := count()
	for i := range calls {
		one(i)
	}
	if end := count(); end != start {
		t.Errorf("after %d calls: got %+v, want %+v", calls, end, start)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d calls: heap %d KiB before, %d KiB after", calls, before.HeapAlloc>>10, after.HeapAlloc>>10)
	if after.HeapAlloc > before.HeapAlloc+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
}

// hangCommand has the test binary play an edge that is killed in the middle of a call.
const hangCommand = "__hang"

func hang(project string, mode SandboxMode) {
	executable, err := os.Executable()
	if err != nil {
		panic(err)
	}
	r, err := New(Config{Environ: os.Environ(), TempDir: project, Sandbox: mode, Executable: executable, Rand: rand.Reader, Stderr: os.Stderr, Timeout: time.Minute})
	if err != nil {
		panic(err)
	}
	// What the file's top level does is enough: inspection runs it.
	_, err = r.Inspect(context.Background(), filepath.Join(project, "tools.py"))
	panic(err)
}

func TestNothingOutlivesEdge(t *testing.T) {
	for _, c := range []struct {
		mode SandboxMode
		body string
	}{
		{SandboxAuto, "import os, sys, time\nprint('PIDS', os.getpid(), flush=True)\ntime.sleep(60)\n"},
		{SandboxOff, daemon + "import subprocess\nprint('PIDS', os.getpid(), os.getppid(), daemon(), subprocess.Popen(['sleep', '60']).pid, flush=True)\ntime.sleep(60)\n"},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			project := t.TempDir()
			if err := os.WriteFile(filepath.Join(project, "tools.py"), []byte(c.body), 0o600); err != nil {
				t.Fatal(err)
			}
			executable, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			edge := exec.Command(executable, hangCommand, project, string(c.mode))
			printed, err := edge.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := edge.Start(); err != nil {
				t.Fatal(err)
			}
			var pids []int
			for lines := bufio.NewScanner(printed); lines.Scan(); {
				fields := strings.Fields(lines.Text())
				if len(fields) > 1 && fields[0] == "PIDS" {
					for _, f := range fields[1:] {
						pid, err := strconv.Atoi(f)
						if err != nil {
							t.Fatal(err)
						}
						pids = append(pids, pid)
					}
					break
				}
			}
			if len(pids) == 0 {
				t.Fatal("edge ended early")
			}
			edge.Process.Kill()
			edge.Wait()
			for _, pid := range pids {
				waitGone(t, pid)
			}
		})
	}
}

// A tool may leave folders that even their owner can't enter.
func TestRemoveFolder(t *testing.T) {
	dir, err := os.MkdirTemp("", "edge-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	inner := filepath.Join(dir, "a", "b")
	file := filepath.Join(inner, "f")
	outside := t.TempDir()
	if err := errors.Join(os.MkdirAll(inner, 0o700), os.WriteFile(file, nil, 0), os.Symlink(outside, filepath.Join(inner, "link"))); err != nil {
		t.Fatal(err)
	}
	user := os.Getuid()
	if user == 0 {
		user = 65534 // no mode keeps an administrator out
	}
	for _, path := range []string{file, inner, filepath.Dir(inner), dir} {
		if err := errors.Join(os.Chmod(path, 0), os.Chown(path, user, -1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	// The file system's user is the thread's own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SetfsuidRetUid(user)
	if err != nil {
		t.Fatal(err)
	}
	removed := removeFolder(dir)
	if _, err := unix.SetfsuidRetUid(before); err != nil {
		t.Fatal(err)
	}
	if removed != nil {
		t.Error(removed)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("what a link led to was touched: %v, %v", info, err)
	}
}
