package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edge/chat"
	"edge/evolve"
	"edge/evolve/remote"
	"edge/hosted"
	"edge/hosted/interpreter"
	"edge/hosted/webpage"
	"edge/hosted/websearch"
	"edge/imprint"
	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
)

// ground is what edge evolve stands on: a library, and a sandbox to run its tools in.
type ground struct {
	place     evolve.Place
	library   *evolve.Library
	workbench *evolve.Workbench
	code      evolve.Interpreter
	python    *runner.Runner
	packages  string
}

func (g *ground) close() {
	g.workbench.Close()
	g.python.Close()
}

func (a *app) evolvePlace() evolve.Place {
	return evolve.NewPlace(filepath.Join(a.home.Path(), "evolve"))
}

func (a *app) openGround(allowNetwork bool) (*ground, error) {
	return a.groundAt(filepath.Join(a.home.Path(), "evolve"), allowNetwork)
}

// groundAt opens the library below dir. What a planner writes runs in a sandbox that is enforced, or not at all.
func (a *app) groundAt(dir string, allowNetwork bool) (*ground, error) {
	place := evolve.NewPlace(dir)
	library, err := evolve.NewLibrary(place.Library(), a.notify)
	if err != nil {
		return nil, stateError(err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	printed := &evolve.Printed{}
	python, err := runner.New(runner.Config{
		Environ: a.environ, Stderr: printed, Sandbox: runner.SandboxRequired, Executable: self, Rand: rand.Reader, Memory: a.home.Python(),
		Timeout: evolve.ToolTimeout,
	})
	if err != nil {
		return nil, err
	}
	packages := interpreter.Packages(a.home)
	workbench, err := evolve.NewWorkbench(python, printed, packages, "")
	if err != nil {
		python.Close()
		return nil, err
	}
	code := interpreter.New(hosted.Environment{Home: a.home, AllowNetwork: allowNetwork, Python: python, Getenv: a.getenv, Notify: a.notify})
	return &ground{place, library, workbench, interpreting{code}, python, packages}, nil
}

// plainConfig is an agent's configuration without a planner and without the web.
func (a *app) plainConfig(g *ground) evolve.Config {
	return evolve.Config{
		Library: g.library, Workbench: g.workbench, Code: g.code, AllowCreate: true, Trajectories: g.place.Trajectories(),
		Version: version(), Clock: time.Now, Rand: rand.Reader, Log: func(line string) { a.notify(plain(line)) },
	}
}

// evolveConfig adds what the flags ask for; the function that it gives frees it.
func (a *app) evolveConfig(ctx context.Context, f evolveFlags, g *ground) (evolve.Config, func(), error) {
	cfg := a.plainConfig(g)
	cfg.AllowCreate, cfg.AllowNetwork = !f.noCreate, f.allowNetwork
	if f.allowNetwork {
		cfg.Web = web{websearch.New(hosted.Environment{Home: a.home, AllowNetwork: true, Getenv: a.getenv})}
	}
	if f.remote() {
		planner, err := a.remotePlanner(f)
		cfg.Planner = planner
		return cfg, func() {}, err
	}
	w, err := a.load(ctx, f.engineFlags)
	if err != nil {
		return cfg, nil, err
	}
	local := evolve.NewLocal(w.World)
	cfg.Planner = local
	free := func() { local.Close(); w.Close() }
	if f.imprint != "" {
		direct, err := a.openDirect(ctx, f.imprint, g, w.World)
		if err != nil {
			free()
			return cfg, nil, err
		}
		cfg.Learned = direct
	}
	return cfg, free, nil
}

// remotePlanner is the planner behind openai:URL#NAME or ollama:NAME.
func (a *app) remotePlanner(f evolveFlags) (*remote.Planner, error) {
	cfg := remote.Config{AllowNetwork: f.allowNetwork}
	if name, ok := strings.CutPrefix(f.model, "ollama:"); ok {
		cfg.URL, cfg.Model = a.getenv("OLLAMA_HOST"), name
		switch {
		case cfg.URL == "":
			cfg.URL = "http://127.0.0.1:11434"
		case !strings.Contains(cfg.URL, "://"):
			cfg.URL = "http://" + cfg.URL
		}
		return remote.New(cfg)
	}
	cfg.URL, cfg.Model, _ = strings.Cut(strings.TrimPrefix(f.model, "openai:"), "#")
	cfg.Key = a.getenv("OPENAI_API_KEY")
	return remote.New(cfg)
}

// web is the way to the web, for runs that may use it.
type web struct{ client *websearch.Client }

func (w web) Search(ctx context.Context, query string, count any) ([]evolve.Hit, error) {
	results, err := w.client.Search(ctx, query, websearch.ClampCount(count))
	hits := []evolve.Hit{}
	for _, r := range results {
		hits = append(hits, evolve.Hit{Title: r.Title, URL: r.URL, Snippet: r.Snippet})
	}
	return hits, err
}

func (web) Read(ctx context.Context, url string, maxChars int) (evolve.Page, error) {
	page, err := (&webpage.Reader{}).Read(ctx, url, maxChars)
	return evolve.Page{URL: page.URL, Title: page.Title, Text: page.Text, Truncated: page.Truncated}, err
}

// interpreting is the hosted code interpreter.
type interpreting struct{ *interpreter.Interpreter }

func (i interpreting) Interpret(ctx context.Context, code string, packages []string) (evolve.Interpreted, error) {
	out, err := i.Run(ctx, code, packages)
	return evolve.Interpreted{
		Success: out.Success, Stdout: out.Stdout, Stderr: out.Stderr, ReturnCode: out.ReturnCode, Note: out.Note, PipLogs: out.PipLogs, Error: out.Error,
	}, err
}

// direct answers with the tools of an imprint.
type direct struct {
	app   *app
	store *imprint.Store
	ref   string
	world learn.World
	run   *chat.Dispatcher
}

// openDirect finds what an imprint was learned from. Changed tools are refused here, a changed world by the gate.
func (a *app) openDirect(ctx context.Context, ref string, g *ground, w learn.World) (*direct, error) {
	store, err := a.imprints()
	if err != nil {
		return nil, err
	}
	u, err := store.Open(ref)
	if err != nil {
		return nil, err
	}
	id := u.ID().String()
	u.Close()
	path, names, err := g.place.Recall(id, g.library)
	if err != nil {
		return nil, err
	}
	set, err := evolve.Freeze(ctx, g.python, path, names)
	if err != nil {
		return nil, err
	}
	return &direct{a, store, ref, w, &chat.Dispatcher{Set: set, Runner: g.python}}, nil
}

// Try asks the model once, in a conversation of its own.
func (d *direct) Try(ctx context.Context, task string) (out evolve.DirectAnswer, ok bool, err error) {
	u, err := d.store.Open(d.ref)
	if err != nil {
		return out, false, err
	}
	defer u.Close()
	c, err := chat.Open(ctx, chat.Config{World: d.world, Dispatcher: d.run, Imprint: u, Clock: time.Now, Gate: d.app.gate()})
	if err != nil {
		return out, false, err
	}
	defer c.Close()
	turn, err := c.Ask(ctx, task)
	if fault.Is(err, fault.CodeContextFull) {
		return out, false, nil // the planner may take it
	}
	if err != nil {
		return out, false, err
	}
	d.app.touch(c.Imprint())
	if turn.FinishReason != chat.FinishAnswer && turn.FinishReason != chat.FinishDirect {
		return out, false, nil
	}
	for _, call := range turn.ToolCalls {
		if call.Status != chat.StatusOK {
			return out, false, nil
		}
		out.Calls = append(out.Calls, evolve.DirectCall{Name: call.ToolName, Arguments: call.Arguments, Result: call.Result, MS: call.DurationMS})
	}
	out.Answer = turn.Answer
	return out, len(out.Calls) > 0, nil
}
