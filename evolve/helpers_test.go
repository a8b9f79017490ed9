package evolve_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/evolve"
	"edge/evolve/remote"
	"edge/hosted"
	"edge/hosted/interpreter"
	"edge/internal/home"
	"edge/runner"
)

// The test binary is its own sandbox helper, as edge is: planners meet the real sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runner.SandboxCommand {
		os.Exit(runner.SandboxMain(os.Args[2:], os.Environ(), os.Stderr))
	}
	os.Exit(m.Run())
}

const (
	daysCode   = "from datetime import date\n\ndef run(start, end):\n    return {'start': start, 'end': end, 'days': (date.fromisoformat(end) - date.fromisoformat(start)).days}\n"
	daysSchema = `{"type":"object","properties":{"start":{"type":"string"},"end":{"type":"string"}},"required":["start","end"]}`
	daysArgs   = `{"start":"2020-01-01","end":"2020-01-11"}`
	proven     = `{"code":"print(6 * 7)"}`
)

// ground is a library, a workbench and an interpreter of one test.
type ground struct {
	t        *testing.T
	dir      string
	cfg      evolve.Config
	python   *runner.Runner
	notified []string
}

func newGround(t *testing.T, timeout time.Duration) *ground {
	t.Helper()
	g := &ground{t: t, dir: t.TempDir()}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	printed := &evolve.Printed{}
	g.python, err = runner.New(runner.Config{
		Environ: os.Environ(), Executable: executable, Rand: rand.Reader, TempDir: t.TempDir(), Stderr: printed, Sandbox: runner.SandboxRequired, Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.python.Close() })
	place := evolve.NewPlace(g.dir)
	library, err := evolve.NewLibrary(place.Library(), func(text string) { g.notified = append(g.notified, text) })
	if err != nil {
		t.Fatal(err)
	}
	workbench, err := evolve.NewWorkbench(g.python, printed, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { workbench.Close() })
	g.cfg = evolve.Config{
		Library: library, Workbench: workbench, Trajectories: place.Trajectories(), Version: "test", Clock: time.Now, Rand: rand.Reader, AllowCreate: true,
		Code: interpreting{interpreter.New(hosted.Environment{Home: home.Dir(g.dir), Python: g.python, Getenv: os.Getenv})},
	}
	return g
}

type interpreting struct{ *interpreter.Interpreter }

func (i interpreting) Interpret(ctx context.Context, code string, packages []string) (evolve.Interpreted, error) {
	out, err := i.Run(ctx, code, packages)
	return evolve.Interpreted{Success: out.Success, Stdout: out.Stdout, Stderr: out.Stderr, ReturnCode: out.ReturnCode, Note: out.Note, PipLogs: out.PipLogs, Error: out.Error}, err
}

// turn is one recorded turn of a planner: calls as NAME JSON, or an answer.
type turn struct {
	calls  []evolve.Call
	answer string
}

func says(answer string) turn { return turn{answer: answer} }

func calls(pairs ...string) turn {
	var t turn
	for i := 0; i < len(pairs); i += 2 {
		t.calls = append(t.calls, evolve.Call{ID: fmt.Sprintf("id%d", i), Name: pairs[i], Arguments: pairs[i+1]})
	}
	return t
}

func create(name, schema, code, testArgs string) turn {
	args := map[string]any{"name": name, "description": "the tool " + name, "parameters": json.RawMessage(schema), "code": code}
	if testArgs != "" {
		args["test_args"] = json.RawMessage(testArgs)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return calls("create_tool", string(raw))
}

// heard is a request as the server got it.
type heard struct {
	Messages []struct {
		Role      string          `json:"role"`
		Content   *string         `json:"content"`
		ToolCalls json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

func (h heard) offered() string {
	var names []string
	for _, t := range h.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

func (h heard) last() string { return *h.Messages[len(h.Messages)-1].Content }

// server plays recorded turns over HTTP, the last one for ever, and keeps what it was asked.
type server struct {
	*httptest.Server
	asked []heard
}

func serve(t *testing.T, turns ...turn) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var h heard
		if err := json.NewDecoder(r.Body).Decode(&h); err != nil {
			t.Error(err)
		}
		s.asked = append(s.asked, h)
		now := turns[min(len(s.asked), len(turns))-1]
		message := map[string]any{"role": "assistant", "content": now.answer}
		if len(now.calls) > 0 {
			var list []map[string]any
			for _, c := range now.calls {
				list = append(list, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
			}
			message["content"], message["tool_calls"] = nil, list
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message}}})
	}))
	t.Cleanup(s.Close)
	return s
}

// play takes a task through an agent whose planner says these turns.
func (g *ground) play(task string, turns ...turn) (evolve.Run, *server) {
	g.t.Helper()
	s := serve(g.t, turns...)
	planner, err := remote.New(remote.Config{URL: s.URL, Model: "script"})
	if err != nil {
		g.t.Fatal(err)
	}
	cfg := g.cfg
	cfg.Planner = planner
	run, err := evolve.New(cfg).Run(g.t.Context(), task)
	if err != nil {
		g.t.Fatal(err)
	}
	return run, s
}

// results are the results of a run's calls, as the trajectory has them.
func results(t *testing.T, run evolve.Run) []string {
	t.Helper()
	lines, err := evolve.ReadTrajectory(run.TrajectoryPath)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range lines {
		if l.Kind == "call" {
			out = append(out, string(l.Result))
		}
	}
	return out
}

func wantContains(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s: got %s, want %q in it", what, got, part)
		}
	}
}

// tools gives the names of what lies in the library's folder.
func (g *ground) files() string {
	g.t.Helper()
	entries, err := os.ReadDir(g.cfg.Library.Dir())
	if err != nil {
		g.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

func (g *ground) put(name, code, testArgs string) evolve.Created {
	g.t.Helper()
	p := evolve.Proposal{Name: name, Description: "the tool " + name, Parameters: json.RawMessage(daysSchema), Code: code}
	if testArgs != "" {
		if err := json.Unmarshal([]byte(testArgs), &p.TestArgs); err != nil {
			g.t.Fatal(err)
		}
	}
	out, err := g.cfg.Library.Create(g.t.Context(), g.cfg.Workbench, p)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

func (g *ground) record(name string) evolve.Record {
	g.t.Helper()
	r, ok := g.cfg.Library.Get(name)
	if !ok {
		g.t.Fatalf("the library has no %s: %s", name, g.files())
	}
	return r
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
