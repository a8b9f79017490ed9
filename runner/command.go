package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"edge/internal/fault"
)

// Command is a line for the system's shell. It runs with the user's rights, outside of the sandbox: whoever runs one
// holds a person's confirmation of it.
type Command struct {
	Line string
	// Dir is the folder that it runs in.
	Dir string
	// Limit is how long it may run.
	Limit time.Duration
	// Keep is how many bytes of its output are kept: the first half and the last.
	Keep int
}

// CommandOutput is what a command wrote, both channels as they came, and how it ended.
type CommandOutput struct {
	Head, Tail []byte
	// Omitted counts the bytes between them.
	Omitted  int64
	TimedOut bool
	// Status is "" for a command that ended well, or "exit status 3", "signal: killed".
	Status string
}

// RunCommand runs the line and ends with it, with the limit, or with ctx; the whole process group ends then, also what the
// command left in the background. Its input is empty, and its environment is what tools may know. Errors: that the shell
// can't be started, and ctx's end.
func RunCommand(ctx context.Context, c Command) (CommandOutput, error) {
	if err := ctx.Err(); err != nil {
		return CommandOutput{}, fault.From(err)
	}
	temp, err := newFolder("")
	if err != nil {
		return CommandOutput{}, fmt.Errorf("command: private folder: %w", err)
	}
	defer removeFolder(temp)
	reader, writer, err := os.Pipe()
	if err != nil {
		return CommandOutput{}, fmt.Errorf("command: pipe: %w", err)
	}
	defer reader.Close()
	cmd := exec.Command("/bin/sh", "-c", c.Line)
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/d", "/s", "/c", c.Line)
	}
	cmd.Dir, cmd.Env = c.Dir, environment(os.Environ(), temp)
	cmd.Stdout, cmd.Stderr = writer, writer
	group, exited, err := startGroup(cmd)
	writer.Close()
	if err != nil {
		return CommandOutput{}, fmt.Errorf("command: %w", err)
	}
	defer group.close()
	kept := &middle{half: c.Keep / 2}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(kept, reader)
	}()
	timer := time.NewTimer(c.Limit)
	defer timer.Stop()
	timedOut := false
	select {
	case <-exited:
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
	}
	group.kill()
	<-exited
	reader.SetReadDeadline(time.Now().Add(drainGrace)) // a process that left the group may hold the pipe
	<-drained
	if err := ctx.Err(); err != nil && !timedOut && !cmd.ProcessState.Exited() {
		return CommandOutput{}, fault.From(err)
	}
	out := kept.output()
	out.TimedOut = timedOut
	if !cmd.ProcessState.Success() {
		out.Status = cmd.ProcessState.String()
	}
	return out, nil
}

// startGroup starts cmd in a group of its own, from a thread that stays until it is reaped: the kernel ties "kill it when
// its parent dies" to the thread.
func startGroup(cmd *exec.Cmd) (*group, <-chan struct{}, error) {
	g, err := newGroup(cmd, launch{})
	if err != nil {
		return nil, nil, err
	}
	exited := make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			if err = g.adopt(cmd.Process); err != nil {
				err = errors.Join(err, cmd.Process.Kill(), cmd.Wait())
			}
		}
		started <- err
		if err == nil {
			g.wait(cmd)
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		g.close()
		return nil, nil, err
	}
	return g, exited, nil
}

// middle keeps the first and the last bytes that are written to it.
type middle struct {
	mu         sync.Mutex
	half       int
	head, tail []byte
	omitted    int64
}

func (m *middle) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(p)
	take := min(m.half-len(m.head), n)
	m.head = append(m.head, p[:take]...)
	m.tail = append(m.tail, p[take:]...)
	if more := len(m.tail) - m.half; more > 0 {
		m.tail = append(m.tail[:0], m.tail[more:]...)
		m.omitted += int64(more)
	}
	return n, nil
}

func (m *middle) output() CommandOutput {
	m.mu.Lock()
	defer m.mu.Unlock()
	return CommandOutput{Head: m.head, Tail: m.tail, Omitted: m.omitted}
}
