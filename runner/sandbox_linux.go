package runner

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// sandboxExit is SandboxMain's exit status when it didn't start the interpreter.
const sandboxExit = 125

// reportFile is the descriptor on which a sandbox says what it enforced.
const reportFile = 3

// sandboxOrder is what edge tells the copy of itself that makes the sandbox. Nothing in it is secret: other users can
// read a command line.
type sandboxOrder struct {
	Level level `json:"level"`
	// Required refuses where the kernel can't enforce all of the level.
	Required bool `json:"required,omitempty"`
	// Folder is the private folder, the only place to write to.
	Folder string `json:"folder"`
	// Executables are the only programs that may be executed; all may if it is empty.
	Executables []string `json:"executables,omitempty"`
	CPUSeconds  uint64   `json:"cpu_seconds"`
}

// The limits that a confined process can't raise.
const (
	maxFileBytes = 256 << 20
	maxOpenFiles = 1024
)

// canEnforce reports why this platform can't enforce a sandbox at all, before one is tried.
func canEnforce(executable string) error {
	if executable == "" {
		return fmt.Errorf("edge doesn't know its own program, which makes the sandbox")
	}
	return nil
}

// sandboxLaunch starts the interpreter through SandboxMain. A confined interpreter takes that process's place. One with
// the user's rights stays its child, because it may start others, which only a parent can find again.
func sandboxLaunch(c sandboxConfig, dir string) (launch, error) {
	if c.executable == "" {
		return launch{path: c.python.Path, args: c.args, static: unconfined()}, nil
	}
	order, err := json.Marshal(sandboxOrder{
		Level:       c.level,
		Required:    c.required,
		Folder:      dir,
		Executables: c.programs,
		CPUSeconds:  cpuSeconds(c.timeout),
	})
	if err != nil {
		return launch{}, fmt.Errorf("sandbox: %w", err)
	}
	return launch{
		path:       c.executable,
		args:       append([]string{SandboxCommand, string(order), c.python.Path}, c.args...),
		report:     true,
		supervised: c.level == userRights,
		alone:      c.level == confined,
	}, nil
}

// cpuSeconds is a second belt behind the clock: no honest call of that length can use more on all processors together.
func cpuSeconds(timeout time.Duration) uint64 {
	return uint64(timeout/time.Second+startTimeout/time.Second) * uint64(runtime.NumCPU())
}

// interpreterPrograms are the files that the kernel must be allowed to execute for python to start: the interpreter and
// its dynamic loader. For anything but an ELF file, such as a script that leads to the interpreter, it gives nothing.
func interpreterPrograms(python string) []string {
	f, err := elf.Open(python)
	if err != nil {
		return nil
	}
	defer f.Close()
	programs := []string{python}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return nil
			}
			programs = append(programs, strings.TrimRight(string(name), "\x00"))
		}
	}
	return programs
}

// SandboxMain is what the hidden command runs: args are what follows SandboxCommand, environ and the standard streams
// are handed on to the interpreter. It puts the sandbox round its own process and then becomes the interpreter, so it
// returns only if that failed, or if it had to stay as the interpreter's parent; the result is the exit status.
//
// A program must call it first thing in main, before it opens anything: what is open then, the interpreter has too.
func SandboxMain(args, environ []string, stderr io.Writer) int {
	return sandboxMain(args, environ, stderr, restrictFiles)
}

func sandboxMain(args, environ []string, stderr io.Writer, files fileRestriction) int {
	runtime.LockOSThread() // what is restricted here is this thread, which then becomes the interpreter
	unix.CloseOnExec(reportFile)
	report := os.NewFile(reportFile, "report")
	refuse := func(err error) int {
		if json.NewEncoder(report).Encode(enforced{Mechanism: "none", Refused: err.Error()}) != nil {
			fmt.Fprintln(stderr, "edge:", err)
		}
		return sandboxExit
	}
	if len(args) < 2 {
		return refuse(fmt.Errorf("%s isn't for use by hand", SandboxCommand))
	}
	var order sandboxOrder
	if err := json.Unmarshal([]byte(args[0]), &order); err != nil {
		return refuse(fmt.Errorf("sandbox order: %w", err))
	}
	python := args[1:]
	if order.Level == userRights {
		json.NewEncoder(report).Encode(unconfined())
		report.Close()
		return supervise(python, environ, stderr)
	}
	said, err := confine(order, files)
	if err != nil {
		return refuse(err)
	}
	json.NewEncoder(report).Encode(said)
	if said.SeccompSHA256 == "" {
		// Nothing keeps it from starting processes, so somebody has to end them.
		report.Close()
		return supervise(python, environ, stderr)
	}
	return refuse(fmt.Errorf("start %s: %w", python[0], syscall.Exec(python[0], python, environ)))
}

// fileRestriction confines the calling thread's use of files and gives the version of Landlock that does it, or 0.
type fileRestriction func(sandboxOrder) (int, error)

// confine restricts the calling thread for good, as far as the kernel goes.
func confine(order sandboxOrder, files fileRestriction) (enforced, error) {
	if err := setLimits(order); err != nil {
		return enforced{}, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return enforced{}, fmt.Errorf("no_new_privs: %w", err)
	}
	dropCapabilities()
	// Without Landlock the filter forbids all writing instead, so it alone decides whether the level is enforced.
	abi, filesErr := files(order)
	said := enforced{LandlockABI: abi}
	if err := installFilter(buildFilter(uint32(os.Getpid()), abi)); err == nil {
		said.SeccompSHA256 = filterSHA256(abi)
	} else if order.Required {
		return enforced{}, errors.Join(err, filesErr)
	}
	switch {
	case abi > 0 && said.SeccompSHA256 != "":
		said.Mechanism = "landlock+seccomp"
	case abi > 0:
		said.Mechanism = "landlock"
	case said.SeccompSHA256 != "":
		said.Mechanism = "seccomp"
	default:
		said = unconfined()
	}
	return said, nil
}

// dropCapabilities leaves an administrator's process the right to read any file, and none of the others: some of them
// open what the rest of the sandbox closes, such as other processes' memory. It can't fail for a process that has any.
func dropCapabilities() {
	for c := range uintptr(64) {
		if c != unix.CAP_DAC_OVERRIDE && c != unix.CAP_DAC_READ_SEARCH {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

func setLimits(order sandboxOrder) error {
	for _, l := range []struct {
		name  string
		which int
		max   uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"cpu", unix.RLIMIT_CPU, order.CPUSeconds},
		{"file size", unix.RLIMIT_FSIZE, maxFileBytes},
		{"open files", unix.RLIMIT_NOFILE, maxOpenFiles},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.which, &now); err != nil {
			return fmt.Errorf("limit of %s: %w", l.name, err)
		}
		lower := min(l.max, now.Max)
		if err := syscall.Setrlimit(l.which, &syscall.Rlimit{Cur: lower, Max: lower}); err != nil {
			return fmt.Errorf("limit of %s: %w", l.name, err)
		}
	}
	return nil
}

// restrictFiles is a fileRestriction by Landlock.
func restrictFiles(order sandboxOrder) (int, error) {
	const (
		read  = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
		write = landlock.AccessFSSet(ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
			ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeFifo)
		execute = landlock.AccessFSSet(ll.AccessFSExecute)
		file    = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate)
	)
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0, fmt.Errorf("landlock: this kernel has none, or doesn't enable it: %w", err)
	}
	programs := order.Executables
	if len(programs) == 0 {
		programs = []string{"/"}
	}
	// Network and signals are restricted too, as far as this version can, because no rule allows any.
	fd, flags, err := landlock.V11.BestEffort().NewRulesetFD(
		landlock.PathAccess(read, "/"),
		landlock.PathAccess(read|write, order.Folder),
		landlock.PathAccess(file, os.DevNull),
		landlock.PathAccess(execute, programs...),
	)
	if err != nil {
		return 0, fmt.Errorf("landlock: %w", err)
	}
	if fd < 0 {
		return 0, fmt.Errorf("landlock: nothing to enforce in version %d", abi)
	}
	defer syscall.Close(fd)
	if err := ll.LandlockRestrictSelf(fd, flags); err != nil {
		return 0, fmt.Errorf("landlock: %w", err)
	}
	return abi, nil
}

// programsOf resolves the links of an interpreter's path before its programs are read off it.
func programsOf(python string) []string {
	real, err := filepath.EvalSymlinks(python)
	if err != nil {
		return nil
	}
	return interpreterPrograms(real)
}
