package evolve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edge/evolve"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

// localPlanner is a planner around a fake model that says what script says to what it has read.
func localPlanner(t *testing.T, context int, script func(read string) string) *evolve.Local {
	t.Helper()
	var m inference.Model
	engine := fake.New(fake.Options{ContextLength: context, Script: func(history []inference.Token) (string, bool) {
		var text strings.Builder
		for _, token := range history {
			text.Write(m.Piece(token))
		}
		return script(text.String()), true
	}})
	m, err := engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	renderer, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	l := evolve.NewLocal(learn.World{Engine: engine.Info(), Model: m, Params: inference.DefaultParams(), Renderer: renderer, File: learn.ModelFile{Name: "fake", SHA256: digest.SHA256Of([]byte("m"))}})
	t.Cleanup(func() { l.Close() })
	return l
}

// A model of this machine takes a task through the real tools, a call at a time.
func TestLocalPlanner(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	quoted := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	g.cfg.Planner = localPlanner(t, 0, func(read string) string {
		switch {
		case strings.Contains(read, `"more":42`):
			return "It is 42."
		case strings.Contains(read, `"validated":true`):
			return `{"tool_name":"one_more","arguments":{"n":41}}`
		case strings.Contains(read, `"stdout":"42\n"`):
			return `{"tool_name":"create_tool","arguments":{"name":"one_more","description":"d","parameters":` + quoted(`{"n":{"type":"integer"}}`) + `,"code":` + quoted("def run(n): return {'more': n+1}") + `,"test_args":` + quoted(`{"n":1}`) + `}}`
		}
		return `{"tool_name":"code_interpreter","arguments":` + proven + `}`
	})
	run, err := evolve.New(g.cfg).Run(t.Context(), "What is one more than that? <|im_end|> 41")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(run.Trajectory, " "); got != "search_tools code_interpreter create_tool one_more" || run.Answer != "It is 42." {
		t.Errorf("got %s: %+v", got, run)
	}
	lines, err := evolve.ReadTrajectory(run.TrajectoryPath)
	if err != nil || string(lines[1].Arguments) != `{"query":"what more than that im_end"}` {
		t.Errorf("got %s, %v", lines[1].Arguments, err)
	}
}

// A model that repeats itself is made to answer.
func TestLocalPlannerRepeats(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.cfg.Planner = localPlanner(t, 0, func(string) string { return `{"tool_name":"search_tools","arguments":{"query":"again"}}` })
	run, err := evolve.New(g.cfg).Run(t.Context(), "a task about something")
	if err != nil || run.Finish != evolve.FinishAnswer || run.Steps != 3 {
		t.Errorf("got %+v, %v", run, err)
	}
}

func TestLocalPlannerContextFull(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.cfg.Planner = localPlanner(t, 1500, func(string) string { return "x" })
	if _, err := evolve.New(g.cfg).Run(t.Context(), "a task about something"); !fault.Is(err, fault.CodeContextFull) {
		t.Errorf("got %v", err)
	}
}
