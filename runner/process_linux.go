package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end the child if edge is killed. A supervisor is told instead, so that it can end more
// than itself.
func dieWithParent(attr *syscall.SysProcAttr, supervised bool) {
	attr.Pdeathsig = syscall.SIGKILL
	if supervised {
		attr.Pdeathsig = syscall.SIGTERM
	}
}

// waitWithoutReaping returns when the process has ended; its number stays taken until it is reaped.
func waitWithoutReaping(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// shrinkPipe makes the pipe one page long: a first frame that was written is then a first frame that was read, which is
// how the interpreter's start is told apart from the call.
func shrinkPipe(f *os.File) {
	unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
}
