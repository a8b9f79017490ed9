package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"edge/internal/fault"
	"edge/tools"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// attempts are what a tool may try. Each is a Python body that raises OSError where it is denied. OUT is a folder of the
// user's with a file "kept", EDGE is edge's own process.
var attempts = []struct {
	name, body string
	// confined is the answer of a sandboxed process, free that of one with the user's rights.
	confined, free string
}{
	// Reading is allowed.
	{"read a file", "open(OUT + '/kept').read()", "allowed", "allowed"},
	{"list a folder", "os.listdir(OUT)", "allowed", "allowed"},
	{"use its private folder", "os.mkdir('d'); open('d/f', 'w').write('x'); os.symlink('f', 'd/l'); os.rename('d/f', 'd/g'); os.truncate('d/g', 0); os.unlink('d/g'); os.mkfifo('p')", "allowed", "allowed"},
	{"write to the null device", "open(os.devnull, 'w').write('x')", "allowed", "allowed"},
	{"start a thread", "import threading; t = threading.Thread(target=int); t.start(); t.join()", "allowed", "allowed"},
	{"signal itself", "import signal; signal.signal(10, signal.SIG_IGN); os.kill(os.getpid(), 10); signal.raise_signal(10)", "allowed", "allowed"},
	{"run an event loop", "import asyncio; asyncio.run(asyncio.sleep(0))", "allowed", "allowed"},
	{"ask for the terminal's size", "import shutil; shutil.get_terminal_size(); os.isatty(2)", "allowed", "allowed"},
	// Writing isn't.
	{"make a file", "open(OUT + '/new', 'w')", "denied", "allowed"},
	{"change a file", "open(OUT + '/kept', 'a').write('x')", "denied", "allowed"},
	{"truncate a file", "os.truncate(OUT + '/kept', 0)", "denied", "allowed"},
	{"open and truncate a file", "os.open(OUT + '/kept', os.O_RDONLY | os.O_TRUNC)", "denied", "allowed"},
	{"make a folder", "os.mkdir(OUT + '/newdir')", "denied", "allowed"},
	{"remove a file", "open(OUT + '/other', 'a').close() if not os.path.exists(OUT + '/other') else None; os.unlink(OUT + '/other')", "denied", "allowed"},
	{"rename a file", "os.rename(OUT + '/moved', OUT + '/moved2')", "denied", "allowed"},
	{"move a file out of the private folder", "open('x', 'w').close(); os.rename('x', OUT + '/escaped')", "denied", "allowed"},
	{"make a hard link inside", "os.link(OUT + '/kept', 'inside')", "denied", "allowed"},
	{"make a symbolic link outside", "os.symlink('kept', OUT + '/link')", "denied", "allowed"},
	{"write through a symbolic link", "os.symlink(OUT + '/kept', 'way'); open('way', 'a')", "denied", "allowed"},
	{"write through a descriptor's path", "open('/proc/self/fd/%d' % os.open(OUT + '/kept', os.O_RDONLY), 'w')", "denied", "allowed"},
	{"change a mode", "os.chmod(OUT + '/kept', 0o644)", "denied", "allowed"},
	{"change a mode by descriptor", "os.fchmod(os.open(OUT + '/kept', os.O_RDONLY), 0o644)", "denied", "allowed"},
	{"change an owner", "os.chown(OUT + '/kept', os.getuid(), os.getgid())", "denied", "allowed"},
	{"change times", "os.utime(OUT + '/kept', (1, 1))", "denied", "allowed"},
	{"change a file's flags", "import fcntl; fcntl.ioctl(os.open(OUT + '/kept', os.O_RDONLY), 0x40086602, b'\\0' * 8)", "denied", ""},
	{"take a lease", "import fcntl; fcntl.fcntl(os.open(OUT + '/kept', os.O_RDONLY), 1024, 0)", "denied", ""},
	{"write to shared memory", "open('/dev/shm/edge-test', 'w').close(); os.unlink('/dev/shm/edge-test')", "denied", "allowed"},
	// The network, of any family.
	{"tcp", "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)", "denied", "allowed"},
	{"udp", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "denied", "allowed"},
	{"tcp over ipv6", "import socket; socket.socket(socket.AF_INET6, socket.SOCK_STREAM)", "denied", ""},
	{"unix socket", "import socket; socket.socket(socket.AF_UNIX)", "denied", "allowed"},
	{"netlink", "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", "denied", "allowed"},
	{"kernel crypto socket", "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)", "denied", ""},
	{"a pair of datagram sockets", "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "denied", "allowed"},
	{"connect one of a pair elsewhere", "import socket; socket.socketpair()[0].connect('/dev/log')", "denied", ""},
	// Other processes.
	{"fork", "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)", "denied", "allowed"},
	{"start a program", "import subprocess; subprocess.run(['true'], check=True)", "denied", "allowed"},
	{"start a program by spawn", "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)", "denied", "allowed"},
	{"start a shell", "(_ for _ in ()).throw(PermissionError) if os.system('true') else None", "denied", "allowed"},
	{"become another program", "os.execv('/bin/true', ['true'])", "denied", ""},
	{"become a program of its own", "import shutil; shutil.copyfile('/bin/true', 'own'); os.execv('./own', ['own'])", "denied", ""},
	{"signal edge", "os.kill(EDGE, 0)", "denied", "allowed"},
	{"signal its group", "os.kill(0, 0)", "denied", "allowed"},
	{"read edge's memory", "open('/proc/%d/mem' % EDGE, 'rb')", "denied", ""},
	{"read edge's environment", "open('/proc/%d/environ' % EDGE).read()", "denied", ""},
	{"limit edge", "import resource; resource.prlimit(EDGE, resource.RLIMIT_NOFILE)", "denied", "allowed"},
	{"slow edge down", "os.setpriority(os.PRIO_PROCESS, EDGE, os.getpriority(os.PRIO_PROCESS, EDGE))", "denied", "allowed"},
	{"pin edge", "os.sched_setaffinity(EDGE, os.sched_getaffinity(EDGE))", "denied", "allowed"},
	// System calls that Python has no name for. A wrong argument is the kernel's own answer, and means that it looked.
	{"ptrace", "syscall(NR['ptrace'], 16, EDGE, 0, 0)", "denied", ""},
	{"process_vm_readv", "syscall(NR['process_vm_readv'], EDGE, 0, 0, 0, 0, 0)", "denied", ""},
	{"pidfd_getfd", "syscall(NR['pidfd_getfd'], 0, 0, 0)", "denied", ""},
	{"io_uring", "syscall(NR['io_uring_setup'], 1, 0)", "denied", ""},
	{"bpf", "syscall(NR['bpf'], 0, 0, 0)", "denied", ""},
	{"keyctl", "syscall(NR['keyctl'], 0, 0, 0)", "denied", ""},
	{"unshare", "syscall(NR['unshare'], 0)", "denied", "allowed"},
	{"userfaultfd", "syscall(NR['userfaultfd'], 0)", "denied", ""},
	{"perf_event_open", "syscall(NR['perf_event_open'], 0, 0, 0, 0, 0)", "denied", ""},
	{"shared memory segment", "syscall(NR['shmget'], 0, 4096, 0o1600)", "denied", ""},
	{"message queue", "syscall(NR['mq_open'], 0, 0, 0, 0)", "denied", ""},
	{"execveat", "syscall(NR['execveat'], -1, 0, 0, 0, 0)", "denied", ""},
	{"mount", "syscall(NR['mount'], 0, 0, 0, 0, 0)", "denied", ""},
	{"clone3", "syscall(NR['clone3'], 0, 0)", "absent", ""},
	{"a call newer than the table", "syscall(9999)", "absent", "absent"},
}

// attemptHead is the part of the tools file that makes the attempts.
const attemptHead = `import os, sys
OUT, EDGE, NR = %q, %d, %s
def syscall(*numbers):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*map(ctypes.c_long, numbers)) == -1:
        raise OSError(ctypes.get_errno(), "")

@edge_tool
def f():
    'd'
    found = {}
    for name, body in BODIES:
        try:
            exec(body, globals())
            found[name] = "allowed"
        except PermissionError:
            found[name] = "denied"
        except OSError as e:
            found[name] = {18: "denied", 38: "absent"}.get(e.errno, e.strerror)
    return found
`

func syscallNumbers() map[string]uintptr {
	return map[string]uintptr{
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "bpf": unix.SYS_BPF, "keyctl": unix.SYS_KEYCTL, "unshare": unix.SYS_UNSHARE,
		"userfaultfd": unix.SYS_USERFAULTFD, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "shmget": unix.SYS_SHMGET,
		"mq_open": unix.SYS_MQ_OPEN, "execveat": unix.SYS_EXECVEAT, "mount": unix.SYS_MOUNT, "clone3": unix.SYS_CLONE3,
	}
}

// attempt makes the attempts of the table in one call; skip leaves out what an unconfined process can't survive.
func attempt(t *testing.T, b *bench, withUserRights bool, want func(i int) string) map[string]string {
	t.Helper()
	out := t.TempDir()
	for _, name := range []string{"kept", "other", "moved"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var bodies [][2]string
	for i, a := range attempts {
		if want(i) != "" {
			bodies = append(bodies, [2]string{a.name, a.body})
		}
	}
	list, err := json.Marshal(bodies)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := json.Marshal(syscallNumbers())
	if err != nil {
		t.Fatal(err)
	}
	set := b.freeze("import json\nBODIES = json.loads(" + fmt.Sprintf("%q", list) + ")\n" + fmt.Sprintf(attemptHead, out, os.Getpid(), numbers))
	got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f"}, WithUserRights: withUserRights})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.printed)
	}
	var found map[string]string
	if err := json.Unmarshal(got.Canonical, &found); err != nil {
		t.Fatal(err)
	}
	for i, a := range attempts {
		if want(i) != "" && found[a.name] != want(i) {
			t.Errorf("%s: got %s, want %s", a.name, found[a.name], want(i))
		}
	}
	if confined := want(0) != "" && strings.Contains(string(got.Sandbox), `"level":"confined"`); confined {
		left, err := os.ReadDir(out)
		if err != nil || len(left) != 3 {
			t.Errorf("the user's folder was changed: %v, %v", left, err)
		}
		if text, err := os.ReadFile(filepath.Join(out, "kept")); err != nil || string(text) != "text" {
			t.Errorf("the user's file was changed: %q, %v", text, err)
		}
	}
	return found
}

// TestProbeTable makes the attempts at every level and prints what came of them; run it with -v to see the table.
func TestProbeTable(t *testing.T) {
	confinedWant := func(i int) string { return attempts[i].confined }
	freeWant := func(i int) string { return attempts[i].free }
	columns := []struct {
		name    string
		bench   *bench
		rights  bool
		want    func(int) string
		answers map[string]string
	}{
		{name: "read, prepare (auto)", bench: newBench(t), want: confinedWant},
		{name: "read, prepare (required)", bench: newBench(t, withSandbox(SandboxRequired)), want: confinedWant},
		{name: "read, prepare (off)", bench: newBench(t, withSandbox(SandboxOff)), want: freeWant},
		{name: "commit, confirmed", bench: newBench(t, withSandbox(SandboxRequired)), rights: true, want: freeWant},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-40s", "probe")
	for i := range columns {
		c := &columns[i]
		c.answers = attempt(t, c.bench, c.rights, c.want)
		fmt.Fprintf(&table, "%-26s", c.name)
	}
	for _, a := range attempts {
		fmt.Fprintf(&table, "\n%-40s", a.name)
		for _, c := range columns {
			answer := c.answers[a.name]
			if answer == "" {
				answer = "-" // depends on the kernel and on who asks
			}
			fmt.Fprintf(&table, "%-26s", answer)
		}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	t.Logf("kernel %s, user %d\n%s", unix.ByteSliceToString(name.Release[:]), os.Getuid(), &table)
}

func block(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}

func TestSandboxBlock(t *testing.T) {
	denied := map[string]any{"write_outside": "denied", "tcp": "denied", "udp": "denied", "unix": "denied", "start_process": "denied", "seccomp_mode": 2.0, "no_new_privs": true}
	allowed := map[string]any{"write_outside": "allowed", "tcp": "allowed", "udp": "allowed", "unix": "allowed", "start_process": "allowed", "seccomp_mode": 0.0, "no_new_privs": false}
	for _, c := range []struct {
		mode      SandboxMode
		rights    bool
		probes    map[string]any
		mechanism string
		level     string
	}{
		{SandboxAuto, false, denied, "landlock+seccomp", "confined"},
		{SandboxRequired, false, denied, "landlock+seccomp", "confined"},
		{SandboxOff, false, allowed, "none", "user"},
		{SandboxAuto, true, allowed, "none", "user"},
	} {
		t.Run(fmt.Sprint(c.mode, c.rights), func(t *testing.T) {
			b := newBench(t, withSandbox(c.mode))
			set := b.freeze("return 1")
			got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f"}, WithUserRights: c.rights})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"mechanism": c.mechanism, "requested": string(c.mode), "level": c.level}
			for k, v := range c.probes {
				want[k] = v
			}
			said := block(t, got.Sandbox)
			if c.level == "confined" {
				if abi, _ := said["landlock_abi"].(float64); abi < 1 {
					t.Errorf("landlock_abi: got %v", said["landlock_abi"])
				}
				want["landlock_abi"], want["seccomp_sha256"] = said["landlock_abi"], filterSHA256(int(said["landlock_abi"].(float64)))
			} else {
				want["fs"], want["net"] = "none", "none"
			}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			measured, err := b.runner.Measure(t.Context())
			if err != nil || (!c.rights && string(measured) != string(got.Sandbox)) {
				t.Errorf("measured beforehand: got %s, %v; want %s", measured, err, got.Sandbox)
			}
		})
	}
}

// A sandbox that can't be made is never replaced by none without a word, and never where it is required.
func TestSandboxUnavailable(t *testing.T) {
	t.Run("no program of edge's own", func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.Executable = "" })
		got := b.want("return 1", "{}", `{"result":1}`)
		if said := block(t, got.Sandbox); said["mechanism"] != "none" || said["write_outside"] != "allowed" {
			t.Errorf("got %s", got.Sandbox)
		}
		b = newBench(t, withSandbox(SandboxRequired), func(c *Config) { c.Executable = "" })
		if _, err := b.runner.Inspect(t.Context(), b.write("return 1")); code(err) != fault.CodeSandboxUnavailable {
			t.Errorf("got %v, want %s", err, fault.CodeSandboxUnavailable)
		}
	})
	t.Run("a program that makes no sandbox", func(t *testing.T) {
		dir := program(t, "edge", `shift 2; exec "$@"`)
		b := newBench(t, withSandbox(SandboxRequired), func(c *Config) { c.Executable = filepath.Join(dir, "edge") })
		if _, err := b.runner.Inspect(t.Context(), b.write("return 1")); code(err) != fault.CodeSandboxUnavailable || !strings.Contains(err.Error(), "write_outside") {
			t.Errorf("got %v, want %s with the probe", err, fault.CodeSandboxUnavailable)
		}
	})
	t.Run("the interpreter can't be executed inside", func(t *testing.T) {
		b := newBench(t)
		b.runner.programs = []string{"/dev/null"}
		if _, err := b.runner.Inspect(t.Context(), b.write("return 1")); code(err) != fault.CodeSandboxUnavailable || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("got %v, want %s", err, fault.CodeSandboxUnavailable)
		}
	})
	t.Run("by hand", func(t *testing.T) {
		var said strings.Builder
		if status := sandboxMain(nil, nil, &said, restrictFiles); status != sandboxExit || !strings.Contains(said.String(), "isn't for use by hand") {
			t.Errorf("got %d, %q", status, &said)
		}
	})
}

// On a kernel without Landlock the filter forbids all writing, the private folder's included.
func TestKernelWithoutLandlock(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := program(t, "edge", fmt.Sprintf(`exec %q %s "$@"`, executable, bareKernelCommand))
	b := newBench(t, withSandbox(SandboxRequired), func(c *Config) { c.Executable = filepath.Join(dir, "edge") })
	got := b.want("return 1", "{}", `{"result":1}`)
	if said := block(t, got.Sandbox); said["mechanism"] != "seccomp" || said["write_outside"] != "denied" || said["landlock_abi"] != nil {
		t.Errorf("got %s", got.Sandbox)
	}
	attempt(t, b, false, func(i int) string {
		switch attempts[i].name {
		case "use its private folder", "write to the null device":
			return "denied"
		case "become another program", "become a program of its own", "read edge's memory", "read edge's environment":
			return "" // what only Landlock forbids
		}
		return attempts[i].confined
	})
}

// A program can leave its architecture's table of system calls; the filter ends it.
func TestForeignSystemCallsKill(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Log("only amd64 processors have the other tables")
		return
	}
	b := newBench(t)
	for name, body := range map[string]string{
		// mov eax, 20 (getpid); int 0x80; ret
		"i386": "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\nm.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\nreturn ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
		"x32":  "import ctypes\nreturn ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))",
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{t, b.runner, t.TempDir(), b.temp, b.printed}
			if _, err := b.call(body, "{}"); code(err) != fault.CodeRunnerCrashed || !strings.Contains(err.Error(), syscall.SIGSYS.String()) {
				t.Errorf("got %v, want %s by %q", err, fault.CodeRunnerCrashed, syscall.SIGSYS)
			}
		})
	}
}

func TestLimitsInside(t *testing.T) {
	b := newBench(t)
	b.want("import resource as r\nreturn [list(r.getrlimit(k)) for k in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_AS)]", "{}",
		fmt.Sprintf(`{"result":[[0,0],[%d,%[1]d],[%d,%[2]d],[%d,%[3]d]]}`, maxFileBytes, maxOpenFiles, addressSpaceBytes))
	if _, err := b.call("open('big', 'w').truncate(1 << 30)\nreturn 1", "{}"); code(err) != fault.CodeToolRaised {
		t.Errorf("a file of 1 GiB: got %v, want %s", err, fault.CodeToolRaised)
	}
	// What a confirmed call starts inherits no bound on memory.
	set := b.freeze("import resource as r\nreturn r.getrlimit(r.RLIMIT_AS)[0] == r.RLIM_INFINITY")
	got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f"}, WithUserRights: true})
	if err != nil || string(got.Canonical) != `{"result":true}` {
		t.Errorf("got %s, %v", got.Canonical, err)
	}
}

// A tool has no terminal to type on, and keys that are typed there don't reach it: it is in another session than edge.
func TestSessionOfItsOwn(t *testing.T) {
	own, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []SandboxMode{SandboxAuto, SandboxOff} {
		b := newBench(t, withSandbox(mode))
		b.want(fmt.Sprintf("import os\ntry: os.open('/dev/tty', os.O_RDONLY)\nexcept OSError as e: return [e.errno == 6, os.getsid(0) != %d, os.getpgid(0) != %d]", own, unix.Getpgrp()), "{}", `{"result":[true,true,true]}`)
	}
}
