package runner

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervise runs the interpreter as a child and, when it has ended or SIGTERM arrives, ends everything that descends
// from it, also what left its process group or lost its parent: as a subreaper this process is the parent of last
// resort. It gives the child's exit status, or 128 + the number of the signal that ended it.
func supervise(argv, environ []string, stderr io.Writer) int {
	// Before there is a child: a request to stop must not find the default action.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(stderr, "edge: supervisor:", err)
		return sandboxExit
	}
	child, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   environ,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		fmt.Fprintf(stderr, "edge: start %s: %v\n", argv[0], err)
		return sandboxExit
	}
	// The pipes are the child's alone; held here too, they would never end.
	for fd := range 2 {
		syscall.Close(fd)
	}

	ended := make(chan syscall.WaitStatus, 1)
	everyone := make(chan struct{})
	go reapAll(child, ended, everyone)

	var status syscall.WaitStatus
	select {
	case status = <-ended:
	case <-stop:
		syscall.Kill(child, syscall.SIGKILL)
		status = <-ended
	}
	endDescendants(everyone)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// reapAll reaps every child, inherited ones too, until there is none left.
func reapAll(first int, ended chan<- syscall.WaitStatus, everyone chan<- struct{}) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			close(everyone)
			return
		case pid == first && (status.Exited() || status.Signaled()):
			ended <- status
		}
	}
}

// endDescendants kills this process's children until it has none: each one's own children become this process's when it
// dies.
func endDescendants(everyone <-chan struct{}) {
	self := strconv.Itoa(os.Getpid())
	for {
		select {
		case <-everyone:
			return
		default:
		}
		for _, pid := range childrenOf(self) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// childrenOf reads from /proc which processes have the parent; one that is gone meanwhile is passed over.
func childrenOf(parent string) []int {
	var children []int
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state parent …: the name may hold anything, so the fields are counted from its end.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != parent {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			children = append(children, pid)
		}
	}
	return children
}
