//go:build unix

package runner

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// group is a process and everything that stayed in its process group.
type group struct {
	pid        int
	supervised bool

	mu sync.Mutex
	// reaped is set once the leader's number may belong to another process.
	reaped bool
}

// newGroup has cmd start in a session of its own, which is a process group of its own without a terminal: keys that are
// typed there don't reach the tool, and the tool can't type on it.
func newGroup(cmd *exec.Cmd, l launch) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr, l.supervised)
	return &group{supervised: l.supervised}, nil
}

func (g *group) adopt(p *os.Process) error {
	g.pid = p.Pid
	return nil
}

// stop asks a supervisor to end what it watches over, or ends the group.
func (g *group) stop() {
	if g.supervised {
		g.signal(g.pid, syscall.SIGTERM)
		return
	}
	g.kill()
}

// kill ends every process of the group.
func (g *group) kill() { g.signal(-g.pid, syscall.SIGKILL) }

func (g *group) signal(to int, sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		syscall.Kill(to, sig)
	}
}

// wait waits for the leader to end, kills what it left in its group, and only then reaps it, so that the group's number
// can't be another's by then.
func (g *group) wait(cmd *exec.Cmd) {
	if !waitWithoutReaping(g.pid) {
		cmd.Wait()
	}
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	cmd.Wait() // returns at once; a second time it only says so
	g.reaped = true
}

func (g *group) close() {}
