package evolve_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/evolve"
	"edge/internal/digest"
	"edge/internal/fault"
)

// offlineWeb is a web that needs no network.
type offlineWeb struct{}

func (offlineWeb) Search(_ context.Context, query string, count any) ([]evolve.Hit, error) {
	raw, err := json.Marshal(count)
	return []evolve.Hit{{Title: query, URL: "https://example.org/", Snippet: string(raw)}}, err
}

func (offlineWeb) Read(_ context.Context, url string, maxChars int) (evolve.Page, error) {
	return evolve.Page{URL: url, Text: strings.Repeat("x", maxChars), Truncated: true}, nil
}

func (g *ground) replay(run evolve.Run) evolve.Replay {
	g.t.Helper()
	lines, err := evolve.ReadTrajectory(run.TrajectoryPath)
	if err != nil {
		g.t.Fatal(err)
	}
	other := newGround(g.t, evolve.ToolTimeout)
	out, err := evolve.Again(g.t.Context(), other.cfg, lines)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

func TestReplay(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.cfg.Web, g.cfg.AllowNetwork = offlineWeb{}, true
	made, _ := g.play("a task", calls("search_tools", `{"query":"days"}`, "web_search", `{"query":"dates","num_results":null}`, "read_webpage", `{"url":"https://example.org/"}`),
		calls("code_interpreter", proven, "code_interpreter", `{"code":"1/0"}`), create("days_between", daysSchema, daysCode, daysArgs), create("broken", daysSchema, "def run(start, end): return 1/0\n", daysArgs),
		calls("days_between", daysArgs, "days_between", `{"start":"x","end":"y"}`, "nobody", "{}"), says("10"))
	wantContains(t, "the web's answer", results(t, made)[1], `"snippet":"null"`, `"count":1`)
	out := g.replay(made)
	if out.Same != 8 || out.Different != 0 || out.NotReplayed != 2 || out.Finish != evolve.FinishAnswer {
		t.Errorf("got %+v", out)
	}
	reused, _ := g.play("another", calls("search_tools", `{"query":"days"}`), calls("days_between", daysArgs), says("10"))
	if out := g.replay(reused); out.Same != 2 || out.Different != 0 {
		t.Errorf("with a library: got %+v", out)
	}
}

// What gives something else is listed with both results.
func TestReplayFindsDifferences(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	run, _ := g.play("a task", calls("code_interpreter", `{"code":"import time; print(time.time_ns())"}`), says("done"), says("done"), says("done"))
	out := g.replay(run)
	if out.Different != 1 || len(out.Steps) != 1 || out.Steps[0].Outcome != evolve.ReplayDifferent || string(out.Steps[0].Want) == string(out.Steps[0].Got) {
		t.Errorf("got %+v", out)
	}
}

// Packages need the network; what they have shown stays shown.
func TestReplayTakesUpWhatWasVerified(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.cfg.AllowNetwork = true
	g.cfg.Code = installed{}
	run, _ := g.play("a task", calls("code_interpreter", `{"code":"print(1)","pip_install":"thing"}`), create("days_between", daysSchema, daysCode, daysArgs), says("done"))
	if out := g.replay(run); out.Same != 1 || out.NotReplayed != 1 || out.Different != 0 {
		t.Errorf("got %+v", out)
	}
}

// installed says that it has installed everything.
type installed struct{}

func (installed) Interpret(_ context.Context, _ string, packages []string) (evolve.Interpreted, error) {
	return evolve.Interpreted{Success: true, Stdout: "1\n", PipLogs: packages}, nil
}

func TestReadTrajectoryRefuses(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	run, _ := g.play("a task", calls("search_tools", `{"query":"x"}`), says("done"))
	raw, err := os.ReadFile(run.TrajectoryPath)
	if err != nil || digest.SHA256Of(raw) != run.TrajectorySHA256 {
		t.Fatalf("the digest isn't the file's: %v", err)
	}
	if _, err := evolve.ReadTrajectory(run.TrajectoryPath + "x"); !fault.Is(err, fault.CodeTrajectoryNotFound) {
		t.Errorf("got %v", err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	for name, content := range map[string]string{
		"empty": "", "no JSON": "x\n", "without its start": strings.Join(lines[1:], ""), "two starts": lines[0] + lines[0],
		"another version":           strings.Replace(string(raw), evolve.TrajectorySchema, "edge.evolve_trajectory/v9", 1),
		"a result that was changed": strings.Replace(string(raw), `"count":0`, `"count":1`, 1),
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		write(t, path, content)
		if _, err := evolve.ReadTrajectory(path); !fault.Is(err, fault.CodeTrajectoryInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
