//go:build linux && (amd64 || arm64)

package runner

import (
	"bytes"
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"syscall"

	"edge/internal/digest"

	"golang.org/x/sys/unix"
)

// Where the kernel's struct seccomp_data keeps what a filter looks at. Of an argument only the low half is looked at:
// each one below is an int or a set of flags in the low half.
const (
	seccompNr   = 0
	seccompArch = 4
	seccompArg  = 16
)

// newestSyscall is the last system call that this table was written with. Later ones don't exist for a confined process.
const newestSyscall = unix.SYS_RSEQ_SLICE_YIELD

const (
	actAllow  = unix.SECCOMP_RET_ALLOW
	actKill   = unix.SECCOMP_RET_KILL_PROCESS
	actDeny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	actAbsent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// deniedSyscalls are refused whatever their arguments.
func deniedSyscalls() []uintptr {
	return append([]uintptr{
		// The network, of every family.
		unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
		// Other processes: looking into them, taking their descriptors, changing how they run, sharing memory with them.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL,
		unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
		// Another program, by a way that Landlock's rule on execution doesn't see.
		unix.SYS_EXECVEAT,
		// What a file is, beside its content: Landlock doesn't guard it.
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		// Ways round a filter, and the parts of a kernel that its own sandboxes close first.
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_PERSONALITY,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// Another view of the system. All of these need rights that only an administrator has.
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_ACCT,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG,
	}, deniedSyscallsOfArch()...)
}

// argRule lets a system call through only if one argument, masked, is among the values; otherwise, if except is set, only
// if it isn't.
type argRule struct {
	nr     uintptr
	arg    int
	mask   uint32
	values []uint32
	except bool
}

const allBits = ^uint32(0)

// writingSyscalls change folders, or open files in a way that a filter can't read.
func writingSyscalls() []uintptr {
	return append([]uintptr{
		unix.SYS_OPENAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
		unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	}, writingSyscallsOfArch()...)
}

// writingRules let a file be opened for reading only.
func writingRules() []argRule {
	return append([]argRule{{unix.SYS_OPENAT, 2, writingFlags, []uint32{unix.O_RDONLY}, false}}, writingRulesOfArch()...)
}

const writingFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC

// argRules is what is allowed with some arguments only; self is the process that the filter is for.
func argRules(self uint32) []argRule {
	return []argRule{
		// Threads, but no processes. clone3 hides its flags behind a pointer and is absent, so that libc falls back.
		{unix.SYS_CLONE, 0, unix.CLONE_THREAD, []uint32{unix.CLONE_THREAD}, false},
		// An event loop wakes itself through a pair of connected streams. Such a pair can't be connected elsewhere;
		// a pair of datagram sockets could send anywhere.
		{unix.SYS_SOCKETPAIR, 0, allBits, []uint32{unix.AF_UNIX}, false},
		{unix.SYS_SOCKETPAIR, 1, ^uint32(unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC), []uint32{unix.SOCK_STREAM}, false},
		// Signals and limits, to itself.
		{unix.SYS_KILL, 0, allBits, []uint32{self}, false},
		{unix.SYS_TGKILL, 0, allBits, []uint32{self}, false},
		{unix.SYS_RT_SIGQUEUEINFO, 0, allBits, []uint32{self}, false},
		{unix.SYS_RT_TGSIGQUEUEINFO, 0, allBits, []uint32{self}, false},
		{unix.SYS_PRLIMIT64, 0, allBits, []uint32{0, self}, false},
		{unix.SYS_SCHED_SETAFFINITY, 0, allBits, []uint32{0, self}, false},
		{unix.SYS_SCHED_SETSCHEDULER, 0, allBits, []uint32{0, self}, false},
		{unix.SYS_SCHED_SETPARAM, 0, allBits, []uint32{0, self}, false},
		{unix.SYS_SCHED_SETATTR, 0, allBits, []uint32{0, self}, false},
		// A descriptor that was opened for reading can signal its owner, or break a lease.
		{unix.SYS_FCNTL, 1, allBits, []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_SETLEASE}, true},
		// Devices and file systems do many things on request, some of them for whoever may only read: the harmless
		// requests, by name.
		{unix.SYS_IOCTL, 1, allBits, []uint32{unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCGPGRP, fionread, fionbio, fioclex, fionclex}, false},
	}
}

// Requests that package unix doesn't name; both architectures have the generic numbers.
const (
	fionread = 0x541b
	fionbio  = 0x5421
	fionclex = 0x5450
	fioclex  = 0x5451
)

// filter builds a program instruction by instruction. Every rule falls through to the next, so no jump is long.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}

func (f *filter) load(offset uint32)   { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (f *filter) result(action uint32) { f.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// unlessEqual skips the next n instructions if what is loaded isn't k.
func (f *filter) unlessEqual(k uint32, n uint8) { f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, n) }

// ifEqual skips the next n instructions if what is loaded is k.
func (f *filter) ifEqual(k uint32, n uint8) { f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, n, 0) }

// buildFilter is the whole filter for the process self. It closes what the kernel's Landlock doesn't know: truncation by
// path before version 3, and without Landlock all writing, the private folder's included.
func buildFilter(self uint32, landlockABI int) []unix.SockFilter {
	var f filter
	// A program can ask for another architecture's table, where the numbers mean other things.
	f.load(seccompArch)
	f.ifEqual(auditArch, 1)
	f.result(actKill)
	f.load(seccompNr)
	if x32Bit != 0 {
		f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, x32Bit, 0, 1)
		f.result(actKill)
	}
	f.add(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, newestSyscall, 0, 1)
	f.result(actAbsent)
	f.unlessEqual(unix.SYS_CLONE3, 1)
	f.result(actAbsent)

	denied, rules := deniedSyscalls(), argRules(self)
	if landlockABI < 3 {
		denied = append(denied, unix.SYS_TRUNCATE)
	}
	if landlockABI < 1 {
		denied, rules = append(denied, writingSyscalls()...), append(rules, writingRules()...)
	}
	for _, nr := range denied {
		f.unlessEqual(uint32(nr), 1)
		f.result(actDeny)
	}
	for _, r := range rules {
		n := uint8(len(r.values))
		// load, and, one comparison per value, the fall-through result, load again
		f.unlessEqual(uint32(r.nr), n+4)
		f.load(seccompArg + 8*uint32(r.arg))
		f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, r.mask, 0, 0)
		for i, v := range r.values {
			left := n - uint8(i) - 1
			if r.except {
				// A match lands on the denial, the last mismatch jumps over it.
				if left > 0 {
					f.ifEqual(v, left)
				} else {
					f.unlessEqual(v, 1)
				}
			} else {
				// A match jumps over the denial, the last mismatch lands on it.
				f.ifEqual(v, left+1)
			}
		}
		f.result(actDeny)
		f.load(seccompNr)
	}
	f.result(actAllow)
	return f
}

// installFilter puts the filter on the calling thread and all others. no_new_privs must be set.
func installFilter(program []unix.SockFilter) error {
	prog := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// The call takes an address as a number; reflect gives one without package unsafe, and puts prog on the heap,
	// where it doesn't move.
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, reflect.ValueOf(prog).Pointer())
	runtime.KeepAlive(prog)
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

// filterSHA256 names a filter's policy: it digests the program as it would be for process 0.
func filterSHA256(landlockABI int) string {
	var text bytes.Buffer
	binary.Write(&text, binary.LittleEndian, buildFilter(0, landlockABI))
	return digest.SHA256Of(text.Bytes()).String()
}
