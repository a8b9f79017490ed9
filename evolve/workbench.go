package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"edge/chat"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// Workbench runs tools of the library in the sandbox, each through a generated file in a folder of its own. It is used
// by one goroutine at a time.
type Workbench struct {
	run      *runner.Runner
	printed  *Printed
	packages string
	dir      string
	sets     map[digest.SHA256]*tools.ActiveSet
}

// NewWorkbench makes a workbench with a private folder in temp ("" is the system's). The runner must print to printed,
// and packages is the folder of installed packages, "" for none.
func NewWorkbench(run *runner.Runner, printed *Printed, packages, temp string) (*Workbench, error) {
	dir, err := os.MkdirTemp(temp, "edge-evolve-*")
	if err != nil {
		return nil, err
	}
	return &Workbench{run: run, printed: printed, packages: packages, dir: dir, sets: map[digest.SHA256]*tools.ActiveSet{}}, nil
}

// Close removes the generated files.
func (w *Workbench) Close() error { return os.RemoveAll(w.dir) }

// Outcome is one run of a tool.
type Outcome struct {
	Success bool            `json:"success"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Stderr  string          `json:"stderr,omitempty"`

	// Misused says that the tool didn't run: the arguments don't follow its parameters.
	Misused bool `json:"-"`
	// err is the failure's own error.
	err error
}

// Check loads a tool's code and makes sure that it defines run. Nothing else of it runs.
func (w *Workbench) Check(ctx context.Context, r Record) Outcome {
	if _, err := w.freeze(ctx, r, true); err != nil {
		return w.failed(err)
	}
	return Outcome{Success: true}
}

// Run calls a tool's run with arguments, a JSON object in the terms of its parameters.
func (w *Workbench) Run(ctx context.Context, r Record, args map[string]json.RawMessage) Outcome {
	set, err := w.freeze(ctx, r, false)
	if err != nil {
		return w.failed(err)
	}
	list, err := signature(r.Parameters)
	if err != nil {
		return w.failed(err)
	}
	canonical, err := adapt(args, list)
	if err != nil {
		return Outcome{Error: "invalid arguments: " + err.Error(), Misused: true}
	}
	w.printed.Reset()
	d := &chat.Dispatcher{Set: set, Runner: w.run}
	call, _, err := d.Dispatch(ctx, tools.Call{ToolName: r.Name, Arguments: canonical})
	if err != nil {
		out := w.failed(err)
		out.Misused = call.Status == chat.StatusRefused
		return out
	}
	return Outcome{Success: true, Result: call.Result}
}

// Closed gives the tool's parameters as the sandboxed function has them: what a grammar can enforce.
func (w *Workbench) Closed(ctx context.Context, r Record) (json.RawMessage, error) {
	set, err := w.freeze(ctx, r, false)
	if err != nil {
		return nil, err
	}
	t, _ := set.Lookup(r.Name)
	return t.Parameters, nil
}

// freeze generates the tool's file and describes it.
func (w *Workbench) freeze(ctx context.Context, r Record, eager bool) (*tools.ActiveSet, error) {
	source, err := wrap([]Record{r}, wrapOptions{Packages: w.packages, Eager: eager})
	if err != nil {
		return nil, err
	}
	sum := digest.SHA256Of(source)
	if set := w.sets[sum]; set != nil {
		return set, nil
	}
	folder := filepath.Join(w.dir, sum.String()[:16])
	path := filepath.Join(folder, "tools.py")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, source, 0o600); err != nil {
		return nil, err
	}
	w.printed.Reset()
	set, err := Freeze(ctx, w.run, path, []string{r.Name})
	if err == nil && !eager {
		w.sets[sum] = set
	}
	return set, err
}

// Freeze describes a generated file, which must hold exactly the tools that were put into it, at the level read.
func Freeze(ctx context.Context, run *runner.Runner, path string, names []string) (*tools.ActiveSet, error) {
	in, err := run.Inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	set, err := tools.Freeze(in, tools.Selection{})
	if err != nil {
		return nil, err
	}
	if got := set.Names(); len(got) != len(names) {
		return nil, fault.New(fault.CodeRunnerProtocolViolation, "the generated file has the tools %s", strings.Join(got, ", "))
	}
	for _, name := range names {
		if t, ok := set.Lookup(name); !ok || t.ExecutionLevel != tools.Read {
			return nil, fault.New(fault.CodeRunnerProtocolViolation, "the generated file has no tool %s of the level read", name)
		}
	}
	return set, nil
}

// failed is a run without a result: the reason, and the end of what was printed.
func (w *Workbench) failed(err error) Outcome {
	text := strings.ReplaceAll(w.printed.String(), w.dir, "")
	reason := strings.ReplaceAll(err.Error(), w.dir, "")
	out := Outcome{Error: clip(fmt.Sprintf("tool crashed: %s", reason), 1000), Stderr: lastChars(text, MaxStderrChars), err: err}
	if fault.Is(err, fault.CodeRunnerTimeout) {
		out.Error = "timeout: " + clip(reason, 1000)
	}
	return out
}

// Printed keeps the end of what processes print. It may be written to from several goroutines.
type Printed struct {
	mu   sync.Mutex
	text []byte
}

// Write takes what a process printed, and keeps the last 64 KiB.
func (p *Printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	if excess := len(p.text) - 64<<10; excess > 0 {
		p.text = append([]byte(nil), p.text[excess:]...)
	}
	return len(b), nil
}

// String is what is kept, valid UTF-8.
func (p *Printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ToValidUTF8(string(p.text), "�")
}

// Reset forgets all.
func (p *Printed) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = nil
}
