package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"edge/internal/fault"
)

// Script is Python source that somebody else wrote, a model for instance, to be run as a program.
type Script struct {
	Source []byte
	// Packages is a folder of installed packages that come before the interpreter's own; "" for none.
	Packages string
	// Timeout bounds the run, the interpreter's start included.
	Timeout time.Duration
	// StdoutChars and StderrChars are how many characters of the end of each stream are kept.
	StdoutChars, StderrChars int
}

// ScriptResult is how a script ended.
type ScriptResult struct {
	Stdout, Stderr string
	// ExitCode is the exit status, or minus the number of the signal that ended the process.
	ExitCode int
	// TimedOut says that the script was ended by its limit.
	TimedOut bool
	// Sandbox is what was enforced, as canonical JSON.
	Sandbox json.RawMessage
}

const (
	scriptName = "main.py"
	// siteName is the module that Python itself imports at its start, before the script.
	siteName   = "sitecustomize.py"
	siteSource = `import sys
try:
    import resource
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = %[1]d if hard == resource.RLIM_INFINITY else min(hard, %[1]d)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
except (ImportError, OSError, ValueError):  # where there is no such limit
    pass
packages = %[2]s
if packages:
    places = [i for i, entry in enumerate(sys.path) if entry.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(places[0] if places else len(sys.path), packages)
sys.path.remove(%[3]s)
`
)

// Script runs source in a process of its own, in the same sandbox as a read tool: it reads what the user may read, writes
// only to a private folder that is gone afterwards, starts no process and has no network. Because nobody has read the
// source, it runs only where all of that is enforced, unless the sandbox is off. A script that fails or takes too long is
// a result; errors are sandbox_unavailable and cancelled.
func (r *Runner) Script(ctx context.Context, s Script) (ScriptResult, error) {
	if err := ctx.Err(); err != nil {
		return ScriptResult{}, interrupted("script", err)
	}
	dir, err := newFolder(r.tempDir())
	if err != nil {
		return ScriptResult{}, fmt.Errorf("runner: private folder: %w", err)
	}
	defer removeFolder(dir)
	if err := writeScript(dir, s); err != nil {
		return ScriptResult{}, err
	}
	l, err := r.scriptLaunch(ctx, s, dir)
	if err != nil {
		return ScriptResult{}, err
	}
	return r.runScript(ctx, s, dir, l)
}

// writeScript puts the script and what prepares its interpreter into the private folder.
func writeScript(dir string, s Script) error {
	site := fmt.Sprintf(siteSource, addressSpaceBytes, quotePython(s.Packages), quotePython(siteFolder(dir)))
	if err := os.Mkdir(siteFolder(dir), 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(siteFolder(dir), siteName), []byte(site), 0o600),
		os.WriteFile(filepath.Join(dir, scriptName), s.Source, 0o600),
	)
}

func siteFolder(dir string) string { return filepath.Join(dir, ".site") }

// quotePython writes text as a literal of Python's: JSON's are, but for lone surrogates, which no path has here.
func quotePython(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(quoted)
}

// scriptLaunch is how the script is started. Where no report says what the kernel enforces, it is measured before.
func (r *Runner) scriptLaunch(ctx context.Context, s Script, dir string) (launch, error) {
	level := r.levelFor(false)
	if level == confined {
		if err := canEnforce(r.cfg.Executable); err != nil {
			return launch{}, unconfinedScript(err)
		}
	}
	l, err := sandboxLaunch(sandboxConfig{
		level:      level,
		required:   level == confined,
		executable: r.cfg.Executable,
		python:     r.python,
		programs:   r.programs,
		args:       []string{"-B", "-X", "utf8", scriptName},
		timeout:    s.Timeout,
	}, dir)
	if err != nil {
		return launch{}, err
	}
	l.env = append(environment(r.cfg.Environ, dir), "PYTHONPATH="+siteFolder(dir), "PYTHONHASHSEED=0")
	if level == confined && !l.report {
		block, err := r.Measure(ctx)
		if err != nil {
			return launch{}, err
		}
		if err := allDenied(block); err != nil {
			return launch{}, unconfinedScript(err)
		}
	}
	return l, nil
}

func unconfinedScript(err error) error {
	return fault.New(fault.CodeSandboxUnavailable, "code that a model wrote runs in the sandbox only: %w", err).
		WithHint("use --sandbox off to run it with your own rights")
}

func (r *Runner) runScript(ctx context.Context, s Script, dir string, l launch) (result ScriptResult, err error) {
	cmd := exec.Command(l.path, l.args...)
	cmd.Dir, cmd.Env = dir, l.env
	stdout, stderr := &tail{chars: s.StdoutChars}, &tail{chars: s.StderrChars}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = killGrace // a busy machine needs time to read what is left in the pipes
	var report, theirs *os.File
	if l.report {
		if report, theirs, err = os.Pipe(); err != nil {
			return result, fmt.Errorf("runner: pipe: %w", err)
		}
		defer report.Close()
		defer theirs.Close()
		cmd.ExtraFiles = []*os.File{theirs}
	}
	g, err := newGroup(cmd, l)
	if err != nil {
		return result, err
	}
	defer g.close()
	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		runtime.LockOSThread() // see process.start
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("runner: start %s: %w", l.path, err)
			return
		}
		if err := g.adopt(cmd.Process); err != nil {
			g.kill()
			cmd.Process.Kill()
			cmd.Wait()
			started <- err
			return
		}
		started <- nil
		g.wait(cmd)
	}()
	if err := <-started; err != nil {
		return result, err
	}
	_, ended, ctxErr := await(ctx, exited, s.Timeout)
	result.TimedOut = !ended && ctxErr == nil
	if !ended {
		g.stop()
		if _, ended, _ = await(context.Background(), exited, killGrace); !ended {
			g.kill()
			<-exited
		}
	}
	said := l.static
	if report != nil {
		theirs.Close()
		text, _ := io.ReadAll(io.LimitReader(report, 64<<10))
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		if json.Unmarshal(lines[len(lines)-1], &said) != nil {
			said.Refused = "its report can't be read"
		}
	}
	if result.Sandbox, err = sandboxBlock(r.cfg.Sandbox, r.levelFor(false), said, nil); err != nil {
		return result, err
	}
	switch {
	case ctxErr != nil:
		return result, interrupted("script", ctxErr)
	case said.Refused != "":
		return result, unconfinedScript(errors.New(said.Refused))
	}
	result.Stdout, result.Stderr = stdout.text(dir), stderr.text(dir)
	result.ExitCode = exitCode(cmd.ProcessState, l.supervised)
	return result, nil
}

// exitCode is as Python's subprocess tells it: minus the signal's number for a process that a signal ended.
func exitCode(state *os.ProcessState, supervised bool) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	if code := state.ExitCode(); !supervised || code <= 128 {
		return code
	}
	return 128 - state.ExitCode()
}

// tail keeps the last characters of what is written to it.
type tail struct {
	chars int
	mu    sync.Mutex
	buf   []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := t.chars * utf8.UTFMax
	if t.buf = append(t.buf, b...); len(t.buf) > 2*keep {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keep:]...)
	}
	return len(b), nil
}

// text is the end of it, without the private folder's name, which is another each time.
func (t *tail) text(dir string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.NewReplacer(dir+string(filepath.Separator), "", dir, ".").Replace(string(t.buf))
	runes := []rune(text) // a byte that is no part of a character becomes U+FFFD
	return string(runes[max(0, len(runes)-t.chars):])
}
