package main

import (
	"context"
	"io"

	"edge/chat"
	"edge/facts"
	"edge/runner"
	"edge/tools"
)

// surface is the tools of a command with what runs them. The zero surface has none.
type surface struct {
	set    *tools.ActiveSet
	run    chat.Runner
	python *runner.Runner // nil where no Python is needed
	closer io.Closer
}

func (s surface) close() {
	if s.closer != nil {
		s.closer.Close()
	}
}

// ahead starts the next call's process before it is needed.
func (s surface) ahead() {
	if s.python != nil {
		s.python.Prepare()
	}
}

// surface freezes the tools that the flags name: a Python file's, or the built-in fact lookup.
func (a *app) surface(ctx context.Context, f *toolFlags) (surface, error) {
	switch {
	case f.file != "":
		r, err := a.newRunner(runner.SandboxMode(f.sandbox))
		if err != nil {
			return surface{}, err
		}
		set, _, err := f.freeze(ctx, r)
		if err != nil {
			r.Close()
			return surface{}, err
		}
		return surface{set, r, r, r}, nil
	case f.facts != "":
		return lookupSurface(ctx, f.facts, manifest{FactsStore: f.facts})
	case f.manifest != "":
		m, err := readManifest(f.manifest)
		if err != nil {
			return surface{}, err
		}
		return lookupSurface(ctx, f.manifest, m)
	}
	return surface{}, nil
}

func lookupSurface(ctx context.Context, source string, m manifest) (surface, error) {
	store, err := facts.Open(ctx, m.FactsStore)
	if err != nil {
		return surface{}, err
	}
	set, err := chat.LookupSet(source, m.Name, m.Description)
	if err != nil {
		store.Close()
		return surface{}, err
	}
	return surface{set: set, run: chat.NewLookup(store), closer: store}, nil
}
