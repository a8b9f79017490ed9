package main

import (
	"context"

	"edge/runner"
	"edge/tools"
)

// activeRunner is the runner of a command, nil where nothing of Python is needed.
type activeRunner struct{ *runner.Runner }

func (r activeRunner) close() {
	if r.Runner != nil {
		r.Runner.Close()
	}
}

// activeSet freezes the tools that the flags name; nil without any.
func (a *app) activeSet(ctx context.Context, f *toolFlags) (*tools.ActiveSet, activeRunner, error) {
	if f.file == "" {
		return nil, activeRunner{}, nil
	}
	r, err := a.newRunner(runner.SandboxMode(f.sandbox))
	if err != nil {
		return nil, activeRunner{}, err
	}
	set, _, err := f.freeze(ctx, r)
	if err != nil {
		r.Close()
		return nil, activeRunner{}, err
	}
	return set, activeRunner{r}, nil
}
