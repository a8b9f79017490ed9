// Package interpreter runs Python code that a model wrote: in a process of its own, in the runner's sandbox, for a minute
// at most, and gives what it printed.
//
// The invariant: the code runs only where the sandbox is enforced (or was turned off by the user): no network, nothing
// written outside a private folder that is gone afterwards, no processes. Packages are installed by pip, from wheels only,
// so that nothing of a package runs outside the sandbox either, and only where the network is allowed.
package interpreter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"edge/hosted"
	"edge/internal/home"
	"edge/runner"
)

const (
	// Timeout is how long code may run.
	Timeout = 60 * time.Second
	// StdoutChars and StderrChars are how many characters of the end of each stream are given.
	StdoutChars = 8000
	StderrChars = 4000
	// EmptyNote is said of code that ran well and printed nothing.
	EmptyNote = "the code ran, and printed nothing: no real data was seen, so nothing is verified yet; print the values"

	maxPackages = 8

	lockPoll = 50 * time.Millisecond
)

// Output is what running code gave.
type Output struct {
	Success    bool     `json:"success"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	ReturnCode int      `json:"returncode"`
	Note       string   `json:"note,omitempty"`
	PipLogs    []string `json:"pip_logs,omitempty"`
	Error      string   `json:"error,omitempty"`
	// Sandbox is how the code was confined.
	Sandbox json.RawMessage `json:"-"`
}

// Interpreter runs code. It is safe for concurrent use; runs take turns with installations only.
type Interpreter struct {
	python *runner.Runner
	folder string
	// network says whether packages may be installed.
	network bool
	timeout time.Duration
}

// New makes an interpreter; nothing is created before packages are installed.
func New(env hosted.Environment) *Interpreter {
	return &Interpreter{python: env.Python, folder: Packages(env.Home), network: env.AllowNetwork, timeout: Timeout}
}

// Packages is the private folder of installed packages.
func Packages(dir home.Dir) string { return filepath.Join(dir.Hosted(), "packages") }

// Run installs packages where that is allowed, and runs the code. That code fails, takes too long, or that a package can't
// be installed is said in the output; errors are those of the runner (sandbox_unavailable, cancelled) and of the disk.
func (i *Interpreter) Run(ctx context.Context, code string, packages []string) (Output, error) {
	logs, err := i.install(ctx, packages)
	if err != nil {
		return Output{}, err
	}
	unlock, err := i.lock(ctx, (*flock.Flock).TryRLockContext)
	if err != nil {
		return Output{}, err
	}
	defer unlock()
	script := runner.Script{Source: []byte(code), Timeout: i.timeout, StdoutChars: StdoutChars, StderrChars: StderrChars}
	if _, err := os.Stat(i.folder); err == nil {
		script.Packages = i.folder
	}
	ran, err := i.python.Script(ctx, script)
	if err != nil {
		return Output{}, err
	}
	out := Output{Success: ran.ExitCode == 0 && !ran.TimedOut, Stdout: printable(ran.Stdout), Stderr: printable(ran.Stderr), ReturnCode: ran.ExitCode, PipLogs: logs, Sandbox: ran.Sandbox}
	switch {
	case ran.TimedOut:
		out.Error = fmt.Sprintf("timeout after %ds", int(i.timeout/time.Second))
	case out.Success && strings.TrimSpace(out.Stdout) == "":
		out.Note = EmptyNote
	}
	return out, nil
}

// printable leaves no control characters but those of lines: each would take six bytes of a result, and a terminal obeys some.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, text)
}

// install gives a line for each package.
func (i *Interpreter) install(ctx context.Context, packages []string) (logs []string, err error) {
	if len(packages) == 0 {
		return nil, nil
	}
	if len(packages) > maxPackages {
		return []string{fmt.Sprintf("[pip install] refused: %d packages at once, want at most %d", len(packages), maxPackages)}, nil
	}
	var good []string
	for _, p := range packages {
		p = strings.TrimSpace(p)
		switch {
		case !Requirement(p):
			logs = append(logs, fmt.Sprintf("[pip install %.100q] refused: want a package's name, with a version at most", p))
		case !i.network:
			logs = append(logs, fmt.Sprintf("[pip install %s] refused: the network is off; it needs --allow-network", p))
		default:
			good = append(good, p)
		}
	}
	if len(good) == 0 {
		return logs, nil
	}
	if err := home.Ensure(i.folder); err != nil {
		return nil, err
	}
	unlock, err := i.lock(ctx, (*flock.Flock).TryLockContext)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, p := range good {
		err := i.python.InstallWheels(ctx, i.folder, p)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			logs = append(logs, fmt.Sprintf("[pip install %s] FAILED: %v", p, err))
		} else {
			logs = append(logs, fmt.Sprintf("[pip install %s] ok", p))
		}
	}
	return logs, nil
}

// lock keeps installations and runs apart, among processes too. Where nothing was ever installed there is nothing to lock.
func (i *Interpreter) lock(ctx context.Context, take func(*flock.Flock, context.Context, time.Duration) (bool, error)) (unlock func(), err error) {
	if _, err := os.Stat(i.folder); errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	l := flock.New(i.folder+".lock", flock.SetPermissions(0o600))
	if _, err := take(l, ctx, lockPoll); err != nil {
		return nil, err
	}
	return func() { l.Close() }, nil
}
