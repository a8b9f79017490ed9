package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// exitGrace is how long a process that gave its answer may take to end by itself.
	exitGrace = time.Second
	// killGrace is how long a supervisor may take to end what the tool started, and a killed process to go.
	killGrace = 2 * time.Second
	// drainGrace is how long what is still in the pipes is read after the process is gone. A process that left the
	// group may hold them open for ever.
	drainGrace = 100 * time.Millisecond
)

// launch is how one process is started.
type launch struct {
	path string
	args []string
	env  []string
	// report is where the sandbox says what the kernel enforced; the child has it as descriptor 3.
	report bool
	// supervised is set where the program started here stays as the parent of the interpreter.
	supervised bool
	// alone is set where the process may not start others.
	alone bool
	// static is what a sandbox without a report is known to be.
	static enforced
}

// process is one runner process, from its start to its burial. end must be called on every path.
type process struct {
	dir    string
	stdin  *os.File
	result *os.File
	stderr *os.File
	group  *group
	output *drain
	// supervised and static are as in launch.
	supervised bool
	static     enforced

	// ready is closed when the interpreter has taken the first frame, or can't any more.
	ready chan struct{}
	// answer gets the outcome of reading one frame.
	answer chan answer
	// surplus is closed when the result channel has ended; extra says whether anything came after the first frame.
	surplus chan struct{}
	extra   bool
	// report gets what the sandbox said about itself, nil if it said nothing.
	report chan []byte
	// exited is closed when the process is reaped; state is set before.
	exited chan struct{}
	state  *os.ProcessState

	ending sync.Once
	// stopped is set if end found the process alive.
	stopped bool
}

// answer is one frame, or why there is none.
type answer struct {
	frame []byte
	err   error
}

// startProcess starts l in a new private folder and sends it the first frame. makeLaunch is given the folder.
func startProcess(parent string, stderr io.Writer, first []byte, makeLaunch func(dir string) (launch, error)) (*process, error) {
	dir, err := newFolder(parent)
	if err != nil {
		return nil, fmt.Errorf("runner: private folder: %w", err)
	}
	p := &process{
		dir:     dir,
		ready:   make(chan struct{}),
		answer:  make(chan answer, 1),
		surplus: make(chan struct{}),
		report:  make(chan []byte, 1),
		exited:  make(chan struct{}),
	}
	l, err := makeLaunch(dir)
	if err == nil {
		err = p.start(l, stderr, first)
	}
	if err != nil {
		return nil, errors.Join(err, removeFolder(dir))
	}
	return p, nil
}

func (p *process) start(l launch, stderr io.Writer, first []byte) (err error) {
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	// pipe makes one pipe and gives the child's end and ours.
	pipe := func(childReads bool) (child, own *os.File, err error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, fmt.Errorf("runner: pipe: %w", err)
		}
		if child, own = w, r; childReads {
			child, own = r, w
		}
		ours, theirs = append(ours, own), append(theirs, child)
		return child, own, nil
	}

	p.supervised, p.static = l.supervised, l.static
	cmd := exec.Command(l.path, l.args...)
	cmd.Dir, cmd.Env = p.dir, l.env
	var report *os.File
	if cmd.Stdin, p.stdin, err = file(pipe(true)); err != nil {
		return err
	}
	if cmd.Stdout, p.result, err = file(pipe(false)); err != nil {
		return err
	}
	if cmd.Stderr, p.stderr, err = file(pipe(false)); err != nil {
		return err
	}
	shrinkPipe(theirs[0])
	if l.report {
		var child *os.File
		if child, report, err = pipe(false); err != nil {
			return err
		}
		cmd.ExtraFiles = []*os.File{child}
	}
	if p.group, err = newGroup(cmd, l); err != nil {
		return err
	}

	started := make(chan error)
	go func() {
		// The kernel ties "kill it when its parent dies" to the thread that started the child: this one stays until
		// the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("runner: start %s: %w", l.path, err)
			return
		}
		if err := p.group.adopt(cmd.Process); err != nil {
			p.group.kill()
			cmd.Process.Kill()
			cmd.Wait()
			started <- err
			return
		}
		started <- nil
		p.group.wait(cmd)
		p.state = cmd.ProcessState
		close(p.exited)
	}()
	if err := <-started; err != nil {
		p.group.close()
		return err
	}

	p.output = newDrain(p.stderr, stderr)
	go func() {
		defer close(p.ready)
		writeFrame(p.stdin, first) // a process that can't take it ends without an answer, which says more
	}()
	go p.readAnswer()
	if report == nil {
		p.report <- nil
	} else {
		go func() {
			defer report.Close()
			said, _ := io.ReadAll(io.LimitReader(report, 64<<10))
			p.report <- bytes.TrimSpace(said)
		}()
	}
	return nil
}

// file widens a pipe's child end to what exec.Cmd takes, without wrapping a nil.
func file(child, own *os.File, err error) (io.ReadWriter, *os.File, error) {
	if err != nil {
		return nil, nil, err
	}
	return child, own, nil
}

// readAnswer reads the one frame that is due, and then to the end of the channel.
func (p *process) readAnswer() {
	defer close(p.surplus)
	frame, err := readFrame(p.result)
	p.answer <- answer{frame, err}
	if err != nil {
		return
	}
	var more [1]byte
	if n, _ := p.result.Read(more[:]); n > 0 {
		p.extra = true
	}
}

// send gives the process its request and closes its input. It doesn't wait until the process has read it.
func (p *process) send(request []byte) {
	go func() {
		writeFrame(p.stdin, request)
		p.stdin.Close()
	}()
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *process) waitExit(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// end ends the process and all that it started, reaps it, drains its pipes and removes its folder. It may be called more
// than once; the first call does the work.
func (p *process) end() {
	p.ending.Do(func() {
		p.stdin.Close()
		if !p.gone() {
			p.stopped = true
			p.group.stop()
			if !p.waitExit(killGrace) {
				p.group.kill()
				p.waitExit(killGrace)
			}
		}
		p.group.close()
		limit := time.Now().Add(drainGrace)
		p.result.SetReadDeadline(limit)
		p.stderr.SetReadDeadline(limit)
		<-p.surplus
		// A writer that is stuck for good must not hold the call up.
		select {
		case <-p.output.done:
		case <-time.After(killGrace):
		}
		p.result.Close()
		p.stderr.Close()
		removeFolder(p.dir)
	})
}

// exitText says how the process came to give no answer: "exit status 3", "signal: killed". end was called before.
func (p *process) exitText() string {
	if p.state == nil || p.stopped && p.state.ExitCode() < 0 {
		return "it closed its channel"
	}
	if code := p.state.ExitCode(); p.supervised && code > 128 {
		// A supervisor passes its child's signal on as 128 + number.
		return "signal: " + syscall.Signal(code-128).String()
	}
	return p.state.String()
}
