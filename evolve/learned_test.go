package evolve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/evolve"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

func TestBest(t *testing.T) {
	var list []evolve.Record
	for i := range 12 {
		list = append(list, evolve.Record{Name: fmt.Sprintf("t%02d", i), Validated: true, Uses: i / 2, Successes: i})
	}
	list = append(list, evolve.Record{Name: "quarantined", Validated: true, Uses: 99, Quarantined: true}, evolve.Record{Name: "never_ran", Uses: 99})
	var got []string
	for _, r := range evolve.Best(list) {
		got = append(got, r.Name)
	}
	if want := "t11 t10 t09 t08 t07 t06 t05 t04"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLesson(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	run, _ := g.play("How many days?", calls("search_tools", `{"query":"days"}`), calls("days_between", daysArgs), says("10"))
	if run.Finish != evolve.FinishAnswer {
		t.Fatal(run)
	}
	// Two calls for one request say nothing about which of them the request means.
	g.play("How many days, twice?", calls("search_tools", `{"query":"days"}`), calls("days_between", daysArgs, "days_between", daysArgs), says("10"))
	list, err := g.cfg.Library.List()
	if err != nil {
		t.Fatal(err)
	}
	lesson, err := evolve.NewLesson(evolve.Best(list), "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(g.dir, "lesson", "tools.py")
	write(t, path, string(lesson.File))
	set, err := evolve.Freeze(t.Context(), g.python, path, []string{"days_between"})
	if err != nil {
		t.Fatal(err)
	}
	sample, err := learn.ParseSample(lesson.Sample, set)
	if err != nil {
		t.Fatal(err)
	}
	if len(sample.Examples) != 3 || sample.Examples[0].Prompt != "How many days?" || string(sample.Examples[0].Call.Arguments) != `{"end":"2020-01-11","start":"2020-01-01"}` || sample.Examples[2].Call != nil {
		t.Errorf("got %+v", sample.Examples)
	}
	if _, err := evolve.NewLesson(nil, ""); !fault.Is(err, fault.CodeNoToolsFound) {
		t.Errorf("got %v", err)
	}
}

// An imprint stands for the tools that it was learned from, and for no others.
func TestRecall(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	place := evolve.NewPlace(g.dir)
	lesson, err := evolve.NewLesson([]evolve.Record{g.record("days_between")}, "")
	if err != nil {
		t.Fatal(err)
	}
	id := digest.BLAKE3Of([]byte("imprint")).String()
	if _, _, err := place.Recall(id, g.cfg.Library); !fault.Is(err, fault.CodeImprintRequiresTools) {
		t.Errorf("before it was kept: got %v", err)
	}
	if err := place.Keep(id, lesson); err != nil {
		t.Fatal(err)
	}
	path, names, err := place.Recall(id, g.cfg.Library)
	if err != nil || strings.Join(names, " ") != "days_between" {
		t.Fatalf("got %v, %v", names, err)
	}
	changed := func(what, field string) {
		t.Helper()
		_, _, err := place.Recall(id, g.cfg.Library)
		e := fault.From(err)
		if !fault.Is(err, fault.CodeToolsFileChanged) || !strings.Contains(e.NextStep(), "edge evolve learn") {
			t.Fatalf("%s: got %v", what, err)
		}
		if len(e.Mismatches) == 0 || e.Mismatches[0].Field != field {
			t.Errorf("%s: got %+v", what, e.Mismatches)
		}
	}
	write(t, path, string(lesson.File)+"\n")
	changed("another file", "tools_file_sha256")
	write(t, path, string(lesson.File))
	if out := g.put("days_between", betterCode, daysArgs); !out.Replaced {
		t.Fatalf("got %+v", out)
	}
	changed("another code", "tools.days_between")
	if err := g.cfg.Library.Remove(t.Context(), "days_between"); err != nil {
		t.Fatal(err)
	}
	changed("a tool that is gone", "tools.days_between")
	g.put("days_between", daysCode, daysArgs)
	if _, _, err := place.Recall(id, g.cfg.Library); err != nil {
		t.Errorf("the same tool again: got %v", err)
	}
	write(t, filepath.Join(filepath.Dir(path), "learned.json"), "{}")
	if _, _, err := place.Recall(id, g.cfg.Library); !fault.Is(err, fault.CodeToolsFileChanged) {
		t.Errorf("another note: got %v", err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), "learned.json")); err != nil {
		t.Fatal(err)
	}
}

// imprinted answers one request, as an imprint would.
type imprinted struct{ request string }

func (i imprinted) Try(_ context.Context, task string) (evolve.DirectAnswer, bool, error) {
	call := evolve.DirectCall{Name: "days_between", Arguments: json.RawMessage(daysArgs), Result: json.RawMessage(`{"days":10,"end":"2020-01-11","start":"2020-01-01"}`), MS: 1}
	return evolve.DirectAnswer{Answer: "10 days", Calls: []evolve.DirectCall{call}}, task == i.request, nil
}

// What the learned tools answer, no planner is asked about.
func TestDirect(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	g.cfg.Learned = imprinted{"known"}
	run, s := g.play("known", says("the planner's"))
	if len(s.asked) != 0 || !run.Direct || !run.Reused || run.Answer != "10 days" || run.Steps != 0 || strings.Join(run.Trajectory, " ") != "days_between" {
		t.Errorf("got %+v after %d requests", run, len(s.asked))
	}
	if r := g.record("days_between"); r.Uses != 1 || r.Successes != 1 {
		t.Errorf("got %+v", r)
	}
	if out := g.replay(run); out.Same != 1 || out.Different != 0 {
		t.Errorf("got %+v", out)
	}
	run, s = g.play("unknown", says("the planner's"))
	if len(s.asked) != 1 || run.Direct || run.Answer != "the planner's" {
		t.Errorf("got %+v", run)
	}
}
