package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"edge/internal/fault"
)

const (
	// DefaultTimeout is how long one call may take.
	DefaultTimeout = 10 * time.Second
	// startTimeout is how long the interpreter may take to start; that isn't part of the call.
	startTimeout = 30 * time.Second
)

// Config is what a Runner is made with. It isn't changed afterwards.
type Config struct {
	// Python is the interpreter; if empty, EDGE_PYTHON of Environ, or else python3 or python on its PATH.
	Python string
	// TempDir is where private folders are made; if empty, the system's folder for temporary files.
	TempDir string
	// Environ is edge's own environment; a tool sees a few names of it.
	Environ []string
	// Memory is a file in which the answer of a shim (pyenv's) may be remembered; if empty, it is asked each time.
	Memory string
	// Stderr gets what tools print, the first MiB of each process; if nil, nobody does.
	Stderr io.Writer
	// Sandbox is SandboxAuto if empty.
	Sandbox SandboxMode
	// Executable is edge's own program, which must call SandboxMain for SandboxCommand. Linux has no sandbox without.
	Executable string
	// Rand makes the secrets; it must be unpredictable.
	Rand io.Reader
	// Timeout bounds one call, DefaultTimeout if 0.
	Timeout time.Duration
}

// Runner starts a process per call. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	python   Python
	programs []string
	// args and first are what every interpreter is started with.
	args   []string
	first  []byte
	stderr io.Writer

	mu     sync.Mutex
	ahead  *ahead
	warm   *preload // of the file that was inspected last; nil where that has no function tools
	closed bool
}

// ahead is a process that was started before there was work for it.
type ahead struct {
	level level
	// path is the only file that it may serve, "" for any: what was imported ahead is that file's.
	path string
	// started is closed when process or err is set.
	started chan struct{}
	process *process
	err     error
}

// New finds the interpreter and asks it for its version. Errors: python_not_found, or a plain one for a configuration
// that can't work.
func New(cfg Config) (*Runner, error) {
	var err error
	if cfg.Sandbox, err = ParseSandboxMode(string(cfg.Sandbox)); err != nil {
		return nil, fault.New(fault.CodeInvalidArguments, "%w", err)
	}
	if cfg.Rand == nil {
		return nil, errors.New("runner: no source of randomness")
	}
	if cfg.Timeout < 0 {
		return nil, fmt.Errorf("runner: timeout: got %v, want more than 0", cfg.Timeout)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	r := &Runner{cfg: cfg, args: pythonArgs(), stderr: &lockedWriter{w: cfg.Stderr}}
	if r.first, err = firstFrame(nil); err != nil {
		return nil, err
	}
	if r.python, err = findPython(cfg.Python, cfg.Environ, cfg.Memory); err != nil {
		return nil, err
	}
	r.programs = programsOf(r.python.Path)
	return r, nil
}

// Python is the interpreter that was found.
func (r *Runner) Python() Python { return r.python }

// Prepare starts the process of the next call ahead, sandboxed and idle, and doesn't wait for it. The next Inspect or
// Call that may use it does; no process is used twice. It does nothing while one is waiting.
func (r *Runner) Prepare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.ahead != nil {
		return
	}
	a := &ahead{level: r.levelFor(false), started: make(chan struct{})}
	warm, first := r.warm, r.first
	if warm != nil {
		a.path = warm.path
	}
	r.ahead = a
	go func() {
		defer close(a.started)
		if warm != nil {
			if first, a.err = firstFrame(warm); a.err != nil {
				return
			}
		}
		a.process, a.err = r.startProcess(a.level, first)
	}()
}

// Close ends the process that was started ahead, if any. Calls that are running end by themselves; new ones are refused.
func (r *Runner) Close() error {
	r.mu.Lock()
	a := r.ahead
	r.ahead, r.closed = nil, true
	r.mu.Unlock()
	a.discard()
	return nil
}

func (a *ahead) discard() {
	if a == nil {
		return
	}
	if <-a.started; a.process != nil {
		a.process.end()
	}
}

// levelFor is what a call may do: a confirmed action, and everything if the sandbox is off, runs with the user's rights.
func (r *Runner) levelFor(withUserRights bool) level {
	if withUserRights || r.cfg.Sandbox == SandboxOff {
		return userRights
	}
	return confined
}

// obtain gives a process that nobody has used: the one started ahead if it is alive, of the level and may serve the file,
// or else a new one.
func (r *Runner) obtain(l level, path string) (*process, error) {
	r.mu.Lock()
	a := r.ahead
	if a != nil && a.level == l {
		r.ahead = nil
	} else {
		a = nil
	}
	closed := r.closed
	r.mu.Unlock()
	if a != nil && a.path != "" && a.path != path {
		a.discard()
		a = nil
	}
	if closed {
		a.discard()
		return nil, errors.New("runner: used after Close")
	}
	if a != nil {
		if <-a.started; a.err == nil && !a.process.gone() {
			return a.process, nil
		}
		a.discard()
	}
	return r.startProcess(l, r.first)
}

func (r *Runner) startProcess(l level, first []byte) (*process, error) {
	required := r.cfg.Sandbox == SandboxRequired && l == confined
	if required {
		if err := canEnforce(r.cfg.Executable); err != nil {
			return nil, fault.New(fault.CodeSandboxUnavailable, "the sandbox is required: %w", err)
		}
	}
	return startProcess(r.tempDir(), r.stderr, first, func(dir string) (launch, error) {
		made, err := sandboxLaunch(sandboxConfig{
			level:      l,
			required:   required,
			executable: r.cfg.Executable,
			python:     r.python,
			programs:   r.programs,
			args:       r.args,
			timeout:    r.cfg.Timeout,
		}, dir)
		made.env = environment(r.cfg.Environ, dir)
		return made, err
	})
}

func (r *Runner) tempDir() string {
	if r.cfg.TempDir != "" {
		return r.cfg.TempDir
	}
	return os.TempDir()
}

// await waits for a channel of p within a limit, and for nothing once ctx is done.
func await[T any](ctx context.Context, ch <-chan T, limit time.Duration) (value T, ok bool, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case value = <-ch:
		return value, true, nil
	case <-timer.C:
		return value, false, nil
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}
