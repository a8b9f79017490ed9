package main

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/spf13/cobra"

	"edge/internal/fault"
	"edge/models"
	"edge/runner"
)

// doctorResult is edge.doctor/v1. OK says whether everything that a chat with tools needs works.
type doctorResult struct {
	Schema  string             `json:"schema"`
	OK      bool               `json:"ok"`
	Engine  models.EngineCheck `json:"engine"`
	CPU     finding            `json:"cpu"`
	Model   models.ModelCheck  `json:"model"`
	Python  finding            `json:"python"`
	Sandbox sandboxFinding     `json:"sandbox"`
	Paths   models.PathsCheck  `json:"paths"`
}

type finding struct {
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Todo  string `json:"todo,omitempty"`
}

type sandboxFinding struct {
	finding
	Enforced json.RawMessage `json:"enforced,omitempty"` // what a process in the sandbox found
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what works here, and what to do about what doesn't", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.diagnose(c.Context())
			if err != nil {
				return err
			}
			return a.print(r, func() { a.sayDoctor(r) })
		},
	}
}

func (a *app) diagnose(ctx context.Context) (*doctorResult, error) {
	store, err := a.models()
	if err != nil {
		return nil, err
	}
	d := store.Diagnose(ctx, models.DefaultModel)
	r := &doctorResult{Schema: "edge.doctor/v1", Engine: d.Engine, Model: d.Model, Paths: d.Paths}
	r.CPU = a.diagnoseCPU(store, &r.Engine)
	a.diagnosePython(ctx, r)
	r.OK = r.Engine.OK && r.CPU.OK && r.Model.OK && r.Python.OK && r.Paths.OK
	return r, nil
}

// diagnoseCPU opens the engine: whether the dynamic linker takes it, and which variant it picks, shows only then.
func (a *app) diagnoseCPU(store *models.Store, engine *models.EngineCheck) finding {
	if !engine.OK {
		return finding{Found: "not tried: the engine isn't there", Todo: engine.Todo}
	}
	dir, release, err := store.RuntimeLocation()
	if err != nil {
		return finding{Found: err.Error()}
	}
	e, err := openEngine(dir, release, "") // without a memory every library is read, also those that this processor needn't
	if err != nil {
		f := fault.From(err)
		if f.Code == fault.CodeEngineLoadFailed && f.Hint == "" {
			f.Hint = "run: edge setup --repair" // the table's hint is this very command
		}
		engine.OK, engine.Todo = false, f.NextStep()
		return finding{Found: f.Message, Todo: f.NextStep()}
	}
	defer e.Close()
	return finding{OK: true, Found: e.Info().Backend}
}

func (a *app) diagnosePython(ctx context.Context, r *doctorResult) {
	run, err := a.newRunner(runner.SandboxAuto)
	if err != nil {
		f := fault.From(err)
		r.Python = finding{Found: f.Message, Todo: f.NextStep()}
		r.Sandbox.finding = finding{Found: "not tried: there is no Python", Todo: f.NextStep()}
		return
	}
	defer run.Close()
	p := run.Python()
	r.Python = finding{OK: true, Found: p.Version + " at " + p.Path}
	block, err := run.Measure(ctx)
	if err != nil {
		r.Sandbox.finding = finding{Found: fault.From(err).Message, Todo: "tools run with your rights here; use --sandbox required to refuse that"}
		return
	}
	r.Sandbox.Enforced = block
	r.Sandbox.OK = runner.Confined(block)
	r.Sandbox.Found = "tools are confined: no writing, no network, no new processes"
	if !r.Sandbox.OK {
		r.Sandbox.Found = "tools aren't fully confined on " + runtime.GOOS
		r.Sandbox.Todo = "run only tools that you trust, or use --sandbox required to refuse"
	}
}

func (a *app) sayDoctor(r *doctorResult) {
	line := func(name string, ok bool, found, todo string) {
		mark := "ok  "
		if !ok {
			mark = "no  "
		}
		a.say("%s %-8s %s", mark, name, found)
		if !ok && todo != "" {
			a.say("              → %s", todo)
		}
	}
	line("engine", r.Engine.OK, r.Engine.Found, r.Engine.Todo)
	line("cpu", r.CPU.OK, r.CPU.Found, r.CPU.Todo)
	line("model", r.Model.OK, r.Model.Found, r.Model.Todo)
	line("python", r.Python.OK, r.Python.Found, r.Python.Todo)
	line("sandbox", r.Sandbox.OK, r.Sandbox.Found, r.Sandbox.Todo)
	line("paths", r.Paths.OK, r.Paths.Found, r.Paths.Todo)
}
