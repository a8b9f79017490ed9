package evolve_test

import (
	"fmt"
	"strings"
	"testing"

	"edge/evolve"
)

func TestSelfTest(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	cfg := g.cfg
	cfg.Log = func(string) {}
	test, err := evolve.RunSelfTest(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !test.Passed() {
		t.Errorf("got %+v", test)
	}
	for i, want := range []string{"search_tools code_interpreter create_tool days_between", "search_tools days_between"} {
		if got := strings.Join(test.Runs[i].Trajectory, " "); got != want {
			t.Errorf("task %d: got %s, want %s", i+1, got, want)
		}
	}
}

// The whole way over HTTP: nothing is found, the code is tried, the tool is made, called, and called again by the next
// task in fewer steps.
func TestMakesAToolAndUsesItAgain(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	first, s := g.play("How many days from 2020-01-01 to 2020-03-01?",
		calls("search_tools", `{"query":"days between dates"}`), calls("code_interpreter", proven), create("days_between", daysSchema, daysCode, daysArgs),
		calls("days_between", `{"start":"2020-01-01","end":"2020-03-01"}`), says("60 days."))
	if first.Answer != "60 days." || first.Finish != evolve.FinishAnswer || first.Reused || strings.Join(first.Created, " ") != "days_between" {
		t.Errorf("got %+v", first)
	}
	const basic = "search_tools web_search read_webpage code_interpreter create_tool"
	for i, want := range []string{basic, basic, basic, basic + " days_between", basic + " days_between"} {
		if got := s.asked[i].offered(); got != want {
			t.Errorf("request %d offered %s, want %s", i+1, got, want)
		}
	}
	wantContains(t, "the tool's result", s.asked[4].last(), `"days":60`, `"success":true`)
	r := g.record("days_between")
	if !r.Validated || r.Uses != 1 || r.Successes != 1 || len(r.Tests) != 1 || r.Tests[0].ResultSHA256 == nil || r.Provenance.Model != "script" || r.Provenance.Trajectory != first.ID {
		t.Errorf("got %+v", r)
	}

	second, s := g.play("How many days from 2021-01-01 to 2021-12-31?",
		calls("search_tools", `{"query":"days"}`), calls("days_between", `{"start":"2021-01-01","end":"2021-12-31"}`), says("364 days."))
	if !second.Reused || len(second.Created) != 0 || second.Steps >= first.Steps {
		t.Errorf("got %+v after %+v", second, first)
	}
	wantContains(t, "the tool's result", s.asked[2].last(), `"days":364`)
	if r := g.record("days_between"); r.Uses != 2 || len(r.Examples) != 2 || r.Examples[1].Request != "How many days from 2021-01-01 to 2021-12-31?" {
		t.Errorf("got %+v", r)
	}
	for _, call := range []turn{calls("hours_between", "{}"), calls("days_between", `{"start":"x","end":"y"}`)} {
		if failed, _ := g.play("How many hours?", calls("search_tools", "{}"), call, says("24.")); failed.Reused {
			t.Errorf("a tool that gave no result counts as reused: %+v", failed)
		}
	}
}

func TestGuards(t *testing.T) {
	good := create("days_between", daysSchema, daysCode, daysArgs)
	invented := func(code string) turn {
		return create("days_between", daysSchema, daysCode+"# "+code+"\n", daysArgs)
	}
	for _, c := range []struct {
		name  string
		turns []turn
		want  string // in the last call's result
		kept  bool
	}{
		{"nothing was tried", []turn{good}, "nothing was verified yet", false},
		{"nothing was printed", []turn{calls("code_interpreter", `{"code":"x = 1"}`), good}, "nothing was verified yet", false},
		{"only blanks were printed", []turn{calls("code_interpreter", `{"code":"print('  ')"}`), good}, "nothing was verified yet", false},
		{"it printed and then failed", []turn{calls("code_interpreter", `{"code":"print(1); 1/0"}`), good}, "nothing was verified yet", false},
		{"it was tried", []turn{calls("code_interpreter", proven), good}, `"validated":true`, true},
		{"without test_args", []turn{calls("code_interpreter", proven), create("days_between", daysSchema, daysCode, "")}, `"validated":false`, true},
		{"mock", []turn{calls("code_interpreter", proven), invented("Mock prices")}, "invented", false},
		{"sample data", []turn{calls("code_interpreter", proven), invented("SAMPLE DATA")}, "invented", false},
		{"fake", []turn{calls("code_interpreter", proven), invented("faked")}, "invented", false},
		{"dummy", []turn{calls("code_interpreter", proven), invented("dummy")}, "invented", false},
		{"模拟", []turn{calls("code_interpreter", proven), invented("返回模拟数据")}, "invented", false},
		{"示例数据", []turn{calls("code_interpreter", proven), invented("示例数据")}, "invented", false},
		{"full-width letters", []turn{calls("code_interpreter", proven), invented("ｍｏｃｋ")}, "invented", false},
		{"a tool that wasn't searched for", []turn{calls("nobody", "{}")}, "unknown tool: nobody", false},
		{"arguments that aren't JSON", []turn{calls("code_interpreter", `{"code":`)}, `"success":true`, false},
		{"arguments that aren't an object", []turn{calls("search_tools", `["x"]`)}, `"query":""`, false},
		{"test_args that aren't an object", []turn{calls("code_interpreter", proven), create("days_between", daysSchema, daysCode, `[1]`)}, "test_args must be an object", false},
		{"JSON inside of a text", []turn{calls("code_interpreter", proven), create("days_between", `"{\"start\":{\"type\":\"string\"},\"end\":{\"type\":\"string\"}}"`, daysCode, `"{\"start\":\"2020-01-01\",\"end\":\"2020-01-02\"}"`)}, `"validated":true`, true},
		{"the web is off", []turn{calls("web_search", `{"query":"x"}`)}, "--allow-network", false},
		{"the web is off for pages", []turn{calls("read_webpage", `{"url":"https://example.org"}`)}, "--allow-network", false},
		{"an empty search", []turn{calls("web_search", `{"query":" "}`)}, "search query is empty", false},
		{"an address of another kind", []turn{calls("read_webpage", `{"url":"file:///etc/passwd"}`)}, "invalid url", false},
		{"packages without the network", []turn{calls("code_interpreter", `{"code":"print(1)","pip_install":["requests"]}`)}, "[pip install requests] refused", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t, evolve.ToolTimeout)
			run, _ := g.play("a task", append(c.turns, says("done"), says("done"), says("done"))...)
			list := results(t, run)
			wantContains(t, "the last result", list[len(list)-1], c.want)
			if kept := g.files() != ""; kept != c.kept {
				t.Errorf("the library holds %q", g.files())
			}
		})
	}
}

func TestCreationSwitchedOff(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.cfg.AllowCreate = false
	run, s := g.play("a task", calls("code_interpreter", proven), create("days_between", daysSchema, daysCode, daysArgs), says("done"))
	if got := s.asked[0].offered(); strings.Contains(got, "create_tool") {
		t.Errorf("offered %s", got)
	}
	wantContains(t, "create_tool", results(t, run)[1], "--no-create")
	if run.Steps != 3 || g.files() != "" {
		t.Errorf("got %d steps and %q: nobody may be reminded of what is switched off", run.Steps, g.files())
	}
}

func TestNudges(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	run, s := g.play("a task", calls("code_interpreter", proven), says("42"))
	if run.Steps != 2+evolve.MaxNudges || run.Answer != "42" {
		t.Errorf("got %+v, want %d reminders and then the answer", run, evolve.MaxNudges)
	}
	wantContains(t, "the reminder", s.asked[2].last(), "call create_tool")
	run, _ = g.play("a task", says("I know"))
	if run.Steps != 1 {
		t.Errorf("got %d steps: nothing was verified, so nobody may be reminded", run.Steps)
	}
	g.put("days_between", daysCode, daysArgs)
	run, _ = g.play("a task", calls("search_tools", `{"query":""}`), calls("code_interpreter", proven, "days_between", daysArgs), says("10"))
	if run.Steps != 3 {
		t.Errorf("got %d steps: a tool of the library was used, so nobody may be reminded", run.Steps)
	}
}

// What one task has found isn't found for the next.
func TestUnlocking(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	g.put("days_between", daysCode, daysArgs)
	run, _ := g.play("a task", calls("days_between", daysArgs), calls("search_tools", `{"query":"unrelated"}`), calls("days_between", daysArgs), calls("search_tools", `{"query":"TOOL, days"}`), calls("days_between", daysArgs), says("10"))
	list := results(t, run)
	for i, want := range []string{"first find it with search_tools", `"count":0`, "first find it with search_tools", `"count":1`, `"days":10`} {
		wantContains(t, fmt.Sprintf("call %d", i+1), list[i], want)
	}
	run, _ = g.play("another task", calls("days_between", daysArgs), says("?"))
	wantContains(t, "the next task", results(t, run)[0], "first find it with search_tools")
	if r := g.record("days_between"); r.Uses != 1 {
		t.Errorf("got %d uses, want 1: a refused call is none", r.Uses)
	}
}

func TestLimits(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	run, s := g.play("a task", calls("search_tools", `{"query":"x"}`))
	if run.Finish != evolve.FinishSteps || run.Steps != evolve.MaxSteps || len(s.asked) != evolve.MaxSteps {
		t.Errorf("got %+v after %d requests", run, len(s.asked))
	}
	_, s = g.play("a task", calls("code_interpreter", `{"code":"print('x' * 100000)"}`), says("done"), says("done"), says("done"))
	if n := len([]rune(s.asked[1].last())); n > evolve.MaxResultChars {
		t.Errorf("the planner got %d characters, want at most %d", n, evolve.MaxResultChars)
	}
	created := g.put("crashes", "import sys\ndef run(start, end):\n    sys.stderr.write('y' * 20000)\n    raise ValueError('no')\n", daysArgs)
	if n := len([]rune(created.Validation.Stderr)); created.Success || n > evolve.MaxStderrChars || n < 1000 {
		t.Errorf("got %d characters of stderr, want up to %d", n, evolve.MaxStderrChars)
	}
}

// A thousand calls in one reply: eight run, the others are answered or forgotten.
func TestManyCallsInOneReply(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	var pairs []string
	for range 1000 {
		pairs = append(pairs, "search_tools", `{"query":"x"}`)
	}
	run, s := g.play("a task", calls(pairs...), says("done"))
	if len(run.Trajectory) != evolve.MaxCallsInReply {
		t.Errorf("%d calls ran", len(run.Trajectory))
	}
	if n := len(s.asked[1].Messages); n > 80 {
		t.Errorf("the conversation has %d turns", n)
	}
	wantContains(t, "the last result", s.asked[1].last(), "too many calls")
}
