package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"edge/chat"
	"edge/facts"
	"edge/hosted"
	"edge/hosted/open"
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

// slow reports whether a call's process takes longer to be ready than a reply to be written: function tools import pydantic.
// The others start when a call may come, and leave the cores to the prompt until then.
func (s surface) slow() bool {
	return slices.ContainsFunc(s.set.Tools(), func(t tools.Tool) bool { return t.Surface == tools.FromFunction })
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
		return a.fileSurface(ctx, f, set, r)
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

// fileSurface is a frozen file's tools: Python runs those that are functions, and edge itself those that are hosted. It
// takes the runner over, also where it fails.
func (a *app) fileSurface(ctx context.Context, f *toolFlags, set *tools.ActiveSet, r *runner.Runner) (surface, error) {
	mux := hosted.Mux{Python: r, By: map[string]hosted.Tool{}}
	env := hosted.Environment{
		Home: a.home, AllowNetwork: f.allowsNetwork(), Python: r, Getenv: a.getenv,
		Base: filepath.Dir(set.Path()), Notify: a.notify,
	}
	for _, t := range set.Tools() {
		if t.Surface != tools.FromHost {
			continue
		}
		tool, err := open.Open(ctx, env, t.Name, t.Hosted)
		if err != nil {
			return surface{}, errors.Join(err, mux.Close(), r.Close())
		}
		mux.By[t.Name] = tool
	}
	if len(mux.By) == 0 {
		return surface{set, r, r, r}, nil
	}
	return surface{set, networked{mux, f.allowsNetwork()}, r, closers{mux, r}}, nil
}

// networked says of each call whether edge may have used the network for it.
type networked struct {
	hosted.Mux
	allowed bool
}

func (n networked) Call(ctx context.Context, req runner.CallRequest) (runner.Result, error) {
	result, err := n.Mux.Call(ctx, req)
	tool, _ := req.Set.Lookup(req.Call.ToolName)
	result.Network = n.allowed && tool.Surface == tools.FromHost && hostedKind(tool) != "file_search"
	return result, err
}

// hostedKind is the kind of a hosted tool.
func hostedKind(t tools.Tool) string {
	var config struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(t.Hosted, &config) != nil {
		return ""
	}
	return config.Kind
}

// closers are closed in order.
type closers []io.Closer

func (c closers) Close() error {
	var err error
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
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
