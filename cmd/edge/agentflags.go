package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"edge/agent"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// handFlags say how the tools of an agent file run.
type handFlags struct {
	sandbox string
	network func() bool
}

func (f *handFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.sandbox, "sandbox", string(runner.SandboxAuto), "auto, required or off: how tools are confined")
	f.network = networkFlag(c)
}

// sandboxedRunner makes the runner that --sandbox asks for.
func (a *app) sandboxedRunner(mode string) (*runner.Runner, error) {
	if _, err := runner.ParseSandboxMode(mode); err != nil {
		return nil, fault.New(fault.CodeInvalidArguments, "--sandbox: %w", err)
	}
	return a.newRunner(runner.SandboxMode(mode))
}

// handsOf is what runs the calls of a file's agents: Python, edge's own hosted tools, and people for what commits.
func (a *app) handsOf(ctx context.Context, f handFlags, file *agent.File, r *runner.Runner) (surface, *tools.PendingStore, error) {
	set, err := file.Source()
	if err != nil {
		return surface{}, nil, err
	}
	pending, err := a.pending()
	if err != nil {
		return surface{}, nil, err
	}
	s, err := a.fileSurface(ctx, &toolFlags{sandbox: f.sandbox, network: f.network}, set, r)
	return s, pending, err
}

// decider has the file's own functions decide, each time in a process of its own.
func decider(r *runner.Runner, file *agent.File) agent.Decide {
	return func(ctx context.Context, name string, results []runner.Output, given json.RawMessage) (runner.Decision, error) {
		return r.Decide(ctx, runner.DecideRequest{Path: file.Path, SourceSHA256: file.SHA256(), Agent: name, Results: results, Context: given})
	}
}
