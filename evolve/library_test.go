package evolve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edge/evolve"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	betterCode = "from datetime import date\n\ndef run(start, end):\n    a, b = date.fromisoformat(start), date.fromisoformat(end)\n    return {'start': start, 'end': end, 'days': (b - a).days}\n"
	worseCode  = "def run(start, end):\n    return {'start': start, 'end': end, 'days': 7}\n"
)

// A tool of the same name must do what the old one did.
func TestReplacing(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	if out := g.put("days_between", daysCode, daysArgs); !out.Success || out.Replaced {
		t.Fatalf("got %+v", out)
	}
	first := g.record("days_between")
	if err := g.cfg.Library.Note(t.Context(), first, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, code, testArgs, want string }{
		{"it gives other results", worseCode, `{"start":"2020-01-01","end":"2020-01-08"}`, "fails one of its recorded tests"},
		{"it crashes on the old test", "def run(start, end):\n    return {'days': 1 // (len(start) - 10)}\n", `{"start":"a","end":"b"}`, "fails one of its recorded tests"},
		{"it was never tried", betterCode, "", "give test_args"},
	} {
		out := g.put("days_between", c.code, c.testArgs)
		wantContains(t, c.name, out.Error, c.want)
		if now := g.record("days_between"); out.Success || now.SourceSHA256 != first.SourceSHA256 {
			t.Errorf("%s: got %+v, and it was replaced", c.name, out)
		}
	}
	if out := g.put("days_between", daysCode, daysArgs); !out.Success || out.Replaced {
		t.Errorf("the same code: got %+v", out)
	}
	out := g.put("days_between", betterCode, `{"start":"2021-01-01","end":"2021-01-03"}`)
	if now := g.record("days_between"); !out.Replaced || now.SourceSHA256 == first.SourceSHA256 || len(now.Tests) != 2 || now.Uses != 1 {
		t.Errorf("got %+v: %+v", out, now)
	}
	for _, code := range []string{daysCode, betterCode} { // the same test again stays one test
		if out := g.put("days_between", code, daysArgs); !out.Replaced {
			t.Errorf("got %+v", out)
		}
	}
	if now := g.record("days_between"); len(now.Tests) != 2 {
		t.Errorf("got %d tests, want 2: %+v", len(now.Tests), now.Tests)
	}
	if out := g.put("Days_Between", daysCode, daysArgs); out.Success {
		t.Error("names that differ in case only were both kept")
	}
}

// A tool whose result changes from run to run is held to running, not to a result.
func TestChangingResults(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	out := g.put("random_days", "import random\n\ndef run(start, end):\n    return {'days': random.random()}\n", daysArgs)
	r := g.record("random_days")
	if !out.Validated || r.Tests[0].ResultSHA256 != nil {
		t.Fatalf("got %+v: %+v", out, r)
	}
	report, err := g.cfg.Library.Test(t.Context(), g.cfg.Workbench, r)
	if err != nil || report.Passed != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestQuarantine(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	bad := `{"start":"x","end":"y"}`
	run, s := g.play("a task", calls("search_tools", `{"query":"days"}`), calls("days_between", bad, "days_between", bad), calls("days_between", `{"start":5}`), calls("days_between", bad), calls("days_between", daysArgs), calls("search_tools", `{"query":"days"}`), says("done"))
	list := results(t, run)
	wantContains(t, "a failure", list[1], "ValueError", `"success":false`)
	wantContains(t, "a mistake of the caller", list[3], `"success":false`)
	wantContains(t, "after three failures in a row", list[5], "quarantined")
	wantContains(t, "the search", list[6], `"quarantined":["days_between"]`, `"count":0`)
	if got := s.asked[len(s.asked)-1].offered(); strings.Contains(got, "days_between") {
		t.Errorf("offered %s", got)
	}
	r := g.record("days_between")
	if !r.Quarantined || r.Failures != 3 || r.Uses != 3 || len(g.notified) != 1 || !strings.Contains(g.notified[0], "edge evolve tools test days_between") {
		t.Errorf("got %+v", r)
	}
	if len(evolve.Best([]evolve.Record{r})) != 0 {
		t.Error("a quarantined tool would be learned")
	}
	report, err := g.cfg.Library.Test(t.Context(), g.cfg.Workbench, r)
	if err != nil || !report.Lifted || g.record("days_between").Quarantined {
		t.Errorf("got %+v, %v", report, err)
	}
}

// A failure between successes is no reason.
func TestFailuresInARow(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	r := g.record("days_between")
	for _, success := range []bool{false, false, true, false, false} {
		if err := g.cfg.Library.Note(t.Context(), r, success); err != nil {
			t.Fatal(err)
		}
	}
	if r = g.record("days_between"); r.Quarantined || r.Failures != 4 || r.FailuresInARow != 2 {
		t.Errorf("got %+v", r)
	}
}

// Eight at once lose no count.
func TestConcurrentUse(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	r := g.record("days_between")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			other, err := evolve.NewLibrary(g.cfg.Library.Dir(), nil)
			for range 4 {
				if err == nil {
					err = other.Note(t.Context(), r, true)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r = g.record("days_between"); r.Uses != 32 {
		t.Errorf("got %d uses, want 32", r.Uses)
	}
}

func TestDamagedRecordsAreSetAside(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	good, err := os.ReadFile(filepath.Join(g.cfg.Library.Dir(), "days_between.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	damaged := map[string]string{
		"cut":       text[:len(text)/2],
		"empty":     "",
		"code":      strings.Replace(text, "return {'start'", "return {'stark'", 1),
		"schema":    strings.Replace(text, `"type": "string"`, `"type": "number"`, 1),
		"unknown":   strings.Replace(text, `"name"`, `"nane"`, 1),
		"twice":     strings.Replace(text, `"uses": 0`, `"uses": 0, "uses": 1`, 1),
		"seed_like": `{"name":"seed_like","description":"d","parameters":{"type":"object","properties":{}},"code":"def run(): return 1"}`,
		"negative":  strings.Replace(text, `"uses": 0`, `"uses": -1`, 1),
	}
	for name, content := range damaged {
		write(t, filepath.Join(g.cfg.Library.Dir(), name+".json"), strings.Replace(content, `"days_between"`, fmt.Sprintf("%q", name), 1))
	}
	write(t, filepath.Join(g.cfg.Library.Dir(), "other.json"), text) // a good record under another tool's name
	list, err := g.cfg.Library.List()
	if err != nil || len(list) != 1 || list[0].Name != "days_between" {
		t.Fatalf("got %+v, %v", list, err)
	}
	if len(g.notified) != len(damaged)+1 {
		t.Errorf("%d were named, want %d: %v", len(g.notified), len(damaged)+1, g.notified)
	}
	for name := range damaged {
		if _, err := os.Stat(filepath.Join(g.cfg.Library.Dir(), name+".json.damaged-1")); err != nil {
			t.Error(err)
		}
	}
	n, err := g.cfg.Library.Clear(t.Context())
	if err != nil || n != 1 || strings.Contains(g.files(), "days_between.json ") {
		t.Errorf("got %d, %v: %s", n, err, g.files())
	}
}

func TestFindAndRemove(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	if _, err := g.cfg.Library.Find("nobody"); !fault.Is(err, fault.CodeEvolvedToolNotFound) {
		t.Errorf("got %v", err)
	}
	if err := g.cfg.Library.Remove(t.Context(), "../library/days_between"); !fault.Is(err, fault.CodeEvolvedToolNotFound) {
		t.Errorf("got %v", err)
	}
	if err := g.cfg.Library.Attest(t.Context(), g.record("days_between"), "/r.json", digest.SHA256Of(nil)); err != nil || g.record("days_between").Provenance.ReceiptPath != "/r.json" {
		t.Errorf("got %v: %+v", err, g.record("days_between").Provenance)
	}
	if err := g.cfg.Library.Remove(t.Context(), "days_between"); err != nil || g.files() != "" {
		t.Errorf("got %v: %s", err, g.files())
	}
}
