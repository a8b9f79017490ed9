//go:build unix

package models

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command lead a process group, all of which ends when the command is cancelled: npm and pip start
// helpers that would go on by themselves.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
