package evolve

import (
	"context"
	"encoding/json"
	"fmt"

	"edge/internal/canon"
	"edge/internal/fault"
)

// The self-test's tools: days between two dates, and one that can't work.
const (
	daysCode = "from datetime import date\n\n\ndef run(start, end):\n    days = (date.fromisoformat(end) - date.fromisoformat(start)).days\n" +
		"    return {\"start\": start, \"end\": end, \"days\": days}\n"
	daysParameters = `{"type":"object","properties":{"start":{"type":"string","description":"first date, YYYY-MM-DD"},` +
		`"end":{"type":"string","description":"second date, YYYY-MM-DD"}},"required":["start","end"]}`
	brokenCode = "def run(start, end):\n    return {\"days\": nobody_defined_this}\n"
)

// SelfTest is what the loop came to without a model and without the network.
type SelfTest struct {
	GateRejectedBadTool bool
	Runs                []SelfTestRun
	Reused              bool // the second task made no tool
}

// SelfTestRun is one task of the self-test.
type SelfTestRun struct {
	Run
	AnswerDays int `json:"answer_days"`
}

// Passed reports whether all that the self-test shows was shown.
func (t SelfTest) Passed() bool {
	return t.GateRejectedBadTool && t.Reused && len(t.Runs) == 2 && t.Runs[0].AnswerDays == 60 && t.Runs[1].AnswerDays == 364
}

// RunSelfTest offers a tool that can't run, which must be refused, and takes two tasks through the agent with a script in
// a planner's place: the first finds nothing and makes a tool, the second finds that one. The library of cfg must be
// empty.
func RunSelfTest(ctx context.Context, cfg Config) (SelfTest, error) {
	var out SelfTest
	bad, err := cfg.Library.Create(ctx, cfg.Workbench, Proposal{
		Name: "days_between_bad", Description: "a tool that can't run", Parameters: json.RawMessage(daysParameters), Code: brokenCode,
		TestArgs: map[string]json.RawMessage{"start": json.RawMessage(`"2020-01-01"`), "end": json.RawMessage(`"2020-03-01"`)},
	})
	if err != nil {
		return out, err
	}
	list, err := cfg.Library.List()
	if err != nil {
		return out, err
	}
	out.GateRejectedBadTool = !bad.Success && len(list) == 0
	cfg.Log(fmt.Sprintf("[gate] a tool that crashes: success=%t: %s", bad.Success, bad.Error))

	cfg.AllowCreate, cfg.AllowNetwork, cfg.Web = true, false, nil
	for _, dates := range [][2]string{{"2020-01-01", "2020-03-01"}, {"2021-01-01", "2021-12-31"}} {
		script := &selfTestPlanner{start: dates[0], end: dates[1]}
		cfg.Planner = script
		run, err := New(cfg).Run(ctx, fmt.Sprintf("How many days are there between %s and %s?", dates[0], dates[1]))
		if err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, SelfTestRun{Run: run, AnswerDays: script.days})
	}
	out.Reused = out.Runs[1].Reused && len(out.Runs[1].Created) == 0
	return out, nil
}

// selfTestPlanner does what a good planner would: it looks, and makes what is missing.
type selfTestPlanner struct {
	start, end string
	days       int
}

func (*selfTestPlanner) Name() string { return "self-test" }

func (p *selfTestPlanner) Next(_ context.Context, conversation []Message, offers []Offer) (Reply, error) {
	ask := func(name string, args any) (Reply, error) {
		raw, err := canon.Marshal(args)
		return Reply{Calls: []Call{{Name: name, Arguments: string(raw)}}}, err
	}
	last := conversation[len(conversation)-1]
	known := false
	for _, o := range offers {
		known = known || o.Name == "days_between"
	}
	switch {
	case last.Tool == "days_between":
		var result struct {
			Result struct{ Days int } `json:"result"`
		}
		if err := json.Unmarshal([]byte(last.Content), &result); err != nil {
			return Reply{}, fault.New(fault.CodePlannerFailed, "self-test: %w", err)
		}
		p.days = result.Result.Days
		return Reply{Content: fmt.Sprintf("There are %d days between %s and %s.", p.days, p.start, p.end)}, nil
	case last.Role == RoleUser:
		return ask(SearchTools, map[string]string{"query": "date days between"})
	case known:
		return ask("days_between", map[string]string{"start": p.start, "end": p.end})
	case last.Tool == SearchTools:
		return ask(CodeInterpreter, map[string]string{"code": daysCode + "\nprint(run(\"2020-01-01\", \"2020-01-11\"))\n"})
	default:
		return ask(CreateTool, map[string]any{
			"name": "days_between", "description": "Count the days between two ISO dates (YYYY-MM-DD).",
			"parameters": json.RawMessage(daysParameters), "code": daysCode, "test_args": map[string]string{"start": "2020-01-01", "end": "2020-01-11"},
		})
	}
}
