package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/agent"
	"edge/chat"
	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
	"edge/tools"
)

// stage is a team's surroundings around a fake model.
type stage struct {
	t      *testing.T
	engine *fake.Engine
	cfg    agent.Config
	calls  []string // of the file's tools
	kept   []*agent.Run
	now    time.Time
}

// script is what a model says; see fake.Options.
type script = func(history []inference.Token) (reply string, ok bool)

// set makes a stage for a file whose model follows a script.
func set(t *testing.T, in tools.Inspection, agents []string, says script) *stage {
	t.Helper()
	s := &stage{t: t, engine: fake.New(fake.Options{Script: says}), now: time.Unix(1_800_000_000, 0)}
	m, err := s.engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err) // a session or a grammar was left open
		}
	})
	pending, err := tools.NewPendingStore(t.TempDir(), func() time.Time { return s.now }, bytes.NewReader(bytes.Repeat([]byte{7}, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	s.cfg = agent.Config{
		File: load(t, in, agents...), World: worldOf(t, s.engine, m), Runner: s, Pending: pending, Clock: s.clock,
		Record: func(r *agent.Run) (digest.SHA256, error) {
			s.kept = append(s.kept, r)
			return digest.SHA256Of([]byte(r.FinalOutput)), nil
		},
	}
	return s
}

func worldOf(t *testing.T, engine *fake.Engine, m inference.Model) learn.World {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	p := inference.DefaultParams()
	p.BatchTokens, p.UBatchTokens = 64, 32
	return learn.World{Engine: engine.Info(), Model: m, Params: p, Renderer: r, File: learn.ModelFile{
		Name: "fake", SHA256: digest.SHA256Of([]byte("model")), TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte(m.Info().ChatTemplate)),
	}}
}

func (s *stage) clock() time.Time {
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

// Call runs the file's tools.
func (s *stage) Call(_ context.Context, req runner.CallRequest) (runner.Result, error) {
	s.calls = append(s.calls, req.Call.ToolName+string(req.Call.Arguments))
	var args struct {
		City string `json:"city"`
	}
	if err := json.Unmarshal(req.Call.Arguments, &args); err != nil || args.City == "" {
		return runner.Result{}, fault.New(fault.CodeToolRaised, "tool %s raised KeyError", req.Call.ToolName)
	}
	return runner.Result{Canonical: []byte(`{"weather":"sunny"}`), Sandbox: json.RawMessage(`{"mechanism":"test"}`), SecretVerified: true}, nil
}

func (s *stage) try(name, prompt string) (*agent.Run, error) {
	s.t.Helper()
	a, err := s.cfg.File.Agent(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return agent.New(s.cfg).Run(s.t.Context(), a, prompt)
}

func (s *stage) run(name, prompt string) *agent.Run {
	s.t.Helper()
	r, err := s.try(name, prompt)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// trail is a run in short: who did what, runs within it in brackets.
func trail(r *agent.Run) string {
	var parts []string
	for _, s := range r.Steps {
		part := s.Agent
		for _, c := range s.ToolCalls {
			part += " " + c.ToolName + ":" + c.Status
			if c.Run != nil {
				part += "[" + trail(c.Run) + "]"
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " → ") + " (" + r.FinishReason + ")"
}

// call is what a model writes to call a tool.
func call(tool, arguments string) string {
	return fmt.Sprintf(`{"tool_name":%q,"arguments":%s}`, tool, arguments)
}

func weather() string {
	return described("weather", `"instructions":"You know the weather.","tools":["get_weather"]`)
}

func TestAnAgentIsAnothersTool(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", asTool("weather")))},
		fake.Replies(fake.Reply{When: "Plan my day", Say: call("ask_weather", `{"input":"Weather in Rome?"}`)},
			fake.Reply{When: "Weather in Rome?", Say: call("get_weather", `{"city":"Rome"}`)},
			fake.Reply{When: "result of get_weather", Say: "It is sunny."},
			fake.Reply{When: "result of ask_weather", Say: "Take a walk: It is sunny."}))
	r := s.run("boss", "Plan my day")
	if got, want := trail(r), "boss ask_weather:ok[weather get_weather:ok (answer)] (answer)"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if r.FinalOutput != "Take a walk: It is sunny." || r.LastAgent != "boss" || r.AnswerSource != chat.FromModel {
		t.Errorf("got %+v", r)
	}
	c := r.Steps[0].ToolCalls[0]
	if string(c.Result) != `{"output":"It is sunny."}` || c.DurationMS <= 0 {
		t.Errorf("the call is %+v", c.ToolCall)
	}
	if len(s.kept) != 1 || s.kept[0] != c.Run || *c.RunSHA256 != digest.SHA256Of([]byte("It is sunny.")) {
		t.Errorf("the inner run's record isn't in the outer one: %d kept, %v", len(s.kept), c.RunSHA256)
	}
	if !slices.Equal(s.calls, []string{`get_weather{"city":"Rome"}`}) {
		t.Errorf("calls of the file's tools: %q", s.calls)
	}
}

func TestARequestIsHandedOver(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather(), described("triage", `"instructions":"You are the front desk.",`+has("handoffs", handover("weather")))}, func(history []inference.Token) (string, bool) {
		switch _, last := fake.LastMessage(history); {
		case strings.Contains(last, "result of get_weather"):
			return "It is sunny.", true
		case strings.Contains(fake.Text(history), "You know the weather."):
			return call("get_weather", `{"city":"Rome"}`), true
		}
		return call("transfer_to_weather", `{}`), true
	})
	r := s.run("", "Weather in Rome?")
	if got, want := trail(r), "triage transfer_to_weather:ok → weather get_weather:ok (answer)"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if r.Agent != "triage" || r.LastAgent != "weather" || r.FinalOutput != "It is sunny." || r.Steps[0].HandoffTo != "weather" || r.Steps[1].HandoffTo != "" || r.Steps[0].FinishReason != agent.FinishHandoff {
		t.Errorf("got %+v", r)
	}
}

func TestHandoffsInACircleEnd(t *testing.T) {
	s := set(t, inspection(), []string{described("a", has("handoffs", handover("b"))), described("b", has("handoffs", handover("a")))}, func(history []inference.Token) (string, bool) {
		if strings.Contains(fake.Text(history), "transfer_to_b") {
			return call("transfer_to_b", `{}`), true
		}
		return call("transfer_to_a", `{}`), true
	})
	r := s.run("a", "Who is there?")
	if r.FinishReason != agent.FinishHandoffLimit || len(r.Steps) != agent.MaxHandoffs+1 || r.AnswerSource != chat.FromEdge {
		t.Errorf("got %s with %d steps", trail(r), len(r.Steps))
	}
}

// Handoffs can close a circle of tools that the file doesn't show.
func TestRunsNestOnlySoDeep(t *testing.T) {
	s := set(t, inspection(), []string{described("a", has("agent_tools", asTool("b"))), described("b", has("handoffs", handover("a")))}, func(history []inference.Token) (string, bool) {
		switch _, last := fake.LastMessage(history); {
		case strings.Contains(last, "result of"):
			return "No.", true
		case strings.Contains(fake.Text(history), "ask_b"):
			return call("ask_b", `{"input":"deeper"}`), true
		}
		return call("transfer_to_a", `{}`), true
	})
	r := s.run("a", "Go deep")
	got := trail(r)
	if strings.Count(got, "[") != agent.MaxDepth-1 {
		t.Errorf("runs nest %d times in %s", strings.Count(got, "["), got)
	}
	inner := r
	for inner.Steps[len(inner.Steps)-1].ToolCalls[0].Run != nil {
		inner = inner.Steps[len(inner.Steps)-1].ToolCalls[0].Run
	}
	last := inner.Steps[len(inner.Steps)-1].ToolCalls[0] // told to its model, which made nothing of it
	if !strings.Contains(string(last.Result), "4 runs within each other are the most") {
		t.Errorf("the deepest call got %s", last.Result)
	}
}

func TestACommitCallOfASubAgentEndsTheRun(t *testing.T) {
	order := weatherTool()
	order.Name, order.ExecutionLevel, order.ReturnDirect = "order_umbrella", tools.Commit, true
	order.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"ok":{"type":"boolean"}}}`)
	s := set(t, inspection(order, weatherTool()), []string{described("shop", `"tools":["order_umbrella"]`), described("middle", has("agent_tools", asTool("shop"))), described("boss", has("agent_tools", asTool("middle")))},
		fake.Replies(fake.Reply{When: "I need an umbrella", Say: call("ask_middle", `{"input":"umbrella please"}`)},
			fake.Reply{When: "umbrella please", Say: call("ask_shop", `{"input":"one for Rome"}`)},
			fake.Reply{When: "one for Rome", Say: call("order_umbrella", `{"city":"Rome"}`)}))
	s.cfg.Context = json.RawMessage(`{"user":12345678901234567890}`)
	r := s.run("boss", "I need an umbrella")
	if got, want := trail(r), "boss ask_middle:pending[middle ask_shop:pending[shop order_umbrella:pending (pending_confirmation)] (pending_confirmation)] (pending_confirmation)"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	p := r.PendingAction
	if p == nil || p.ToolName != "order_umbrella" || string(p.Arguments) != `{"city":"Rome"}` || !strings.Contains(r.FinalOutput, "needs your confirmation") || len(s.calls) != 0 {
		t.Fatalf("got %+v, %q, calls %q", p, r.FinalOutput, s.calls)
	}
	// Whoever confirms freezes the file without its agents.
	pending := s.cfg.Pending.(*tools.PendingStore)
	action, err := pending.Load(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := pending.Check(action, p.ConfirmationToken)
	if err != nil {
		t.Fatal(err)
	}
	again, err := tools.Freeze(inspection(order, weatherTool()), checked.Binding().Selection)
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Binding().Against(again); err != nil {
		t.Error(err)
	}
	if got := checked.Binding().Context; got != string(s.cfg.Context) {
		t.Errorf("the context that waits is %q", got)
	}
}

// picky is a runner that judges calls beyond their schema.
type picky struct{ *stage }

func (p picky) Check(call tools.Call) error {
	if strings.Contains(string(call.Arguments), "Rоme") { // with a Cyrillic о
		return fault.New(fault.CodeInvalidToolArgs, "tool %s: that isn't Rome", call.ToolName)
	}
	return nil
}

func TestACommitCallIsJudgedBeforeItWaits(t *testing.T) {
	order := weatherTool()
	order.Name, order.ExecutionLevel, order.ReturnDirect = "order_umbrella", tools.Commit, true
	order.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"ok":{"type":"boolean"}}}`)
	s := set(t, inspection(order), []string{described("shop", `"tools":["order_umbrella"]`)},
		fake.Replies(fake.Reply{When: "umbrella", Say: call("order_umbrella", `{"city":"Rоme"}`)}))
	s.cfg.Runner = picky{s}
	if r := s.run("shop", "an umbrella"); r.PendingAction != nil || len(s.calls) != 0 || r.FinishReason != chat.FinishToolFailed {
		t.Errorf("got %s, pending %+v", trail(r), r.PendingAction)
	}
}

func TestAFailedSubAgent(t *testing.T) {
	closes := strings.Replace(asTool("weather"), `"tells_failures":true`, `"tells_failures":false`, 1)
	for name, c := range map[string]struct{ link, trail, says string }{
		"tells the calling model": {asTool("weather"), "boss ask_weather:told[weather get_weather:failed (tool_failed)] (answer)", "Sorry, that failed."},
		"or ends its run":         {closes, "boss ask_weather:failed[weather get_weather:failed (tool_failed)] (tool_failed)", "I couldn't do that: ask_weather failed (tool_raised), so I have no result to answer from."},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", c.link))},
				fake.Replies(fake.Reply{When: "Plan", Say: call("ask_weather", `{"input":"nowhere"}`)}, fake.Reply{When: "nowhere", Say: call("get_weather", `{"city":""}`)}, fake.Reply{When: "An error occurred", Say: "Sorry, that failed."}))
			r := s.run("boss", "Plan")
			if trail(r) != c.trail || r.FinalOutput != c.says {
				t.Errorf("got %s: %q, want %s: %q", trail(r), r.FinalOutput, c.trail, c.says)
			}
		})
	}
}

func TestAnEngineThatFailsEndsAllRuns(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", asTool("weather")))},
		fake.Replies(fake.Reply{When: "Plan", Say: call("ask_weather", `{"input":"Rome?"}`)}))
	s.cfg.Record = func(*agent.Run) (digest.SHA256, error) { return digest.SHA256{}, errors.New("no receipt") }
	if _, err := s.try("boss", "Plan"); err == nil || !strings.Contains(err.Error(), "no receipt") {
		t.Errorf("got %v", err)
	}
}

// learned bakes an agent's imprint into a file and opens it.
func (s *stage) learned(name, system string) {
	s.t.Helper()
	a, err := s.cfg.File.Agent(name)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := learn.Run(s.t.Context(), learn.Request{World: s.cfg.World, Set: a.Set, Sample: &learn.Sample{Profile: learn.Profile{System: system}}, Clock: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), name+".imprint")
	if _, err := imprint.Write(s.t.Context(), path, out.Content); err != nil {
		s.t.Fatal(err)
	}
	u, err := imprint.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { u.Close() })
	if s.cfg.Imprints == nil {
		s.cfg.Imprints = map[string]*imprint.Unverified{}
	}
	s.cfg.Imprints[name] = u
}

func TestAnAgentBeginsWithItsImprint(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather(), described("talker", "")}, fake.Replies(fake.Reply{When: "Rome", Say: call("get_weather", `{"city":"Rome"}`)}, fake.Reply{When: "result of", Say: "It is sunny."}))
	s.learned("weather", "You know the weather.")
	before := s.engine.Stats().DecodedTokens
	step := s.run("weather", "Rome?").Steps[0]
	if u := step.Usage; step.Mode != chat.ModeImprint || step.Imprint == nil || u.Cached() == 0 || s.engine.Stats().DecodedTokens-before != u.PrefilledTokens+u.GeneratedTokens+u.ForcedTokens {
		t.Errorf("mode %s, imprint %v, usage %+v", step.Mode, step.Imprint, u)
	}
}

// An imprint that doesn't belong to the file is refused by name, and only when its agent is called.
func TestDriftNamesTheAgent(t *testing.T) {
	agents := []string{weather(), described("boss", has("agent_tools", asTool("weather")))}
	for name, c := range map[string]struct {
		other string // the file when the imprint was learned
		code  fault.Code
	}{
		"other instructions": {described("weather", `"instructions":"You were a poet.","tools":["get_weather"]`), fault.CodeImprintPrefixMismatch},
		"other tools":        {described("weather", `"instructions":"You know the weather.","tools":["get_weather","get_wind"]`), fault.CodeImprintToolActiveSetMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			wind := weatherTool()
			wind.Name = "get_wind"
			s := set(t, inspection(weatherTool(), wind), []string{c.other},
				fake.Replies(fake.Reply{When: "Hello", Say: "Hello!"}, fake.Reply{When: "Plan", Say: call("ask_weather", `{"input":"Rome?"}`)}))
			system := "You know the weather."
			if strings.Contains(c.other, "poet") {
				system = "You were a poet."
			}
			s.learned("weather", system)
			s.cfg.File = load(t, inspection(weatherTool(), wind), agents...)
			if r := s.run("boss", "Hello"); r.FinalOutput != "Hello!" {
				t.Errorf("an imprint that nobody asked for was in the way: %s", trail(r))
			}
			if _, err := s.try("boss", "Plan"); !fault.Is(err, c.code) || !strings.HasPrefix(err.Error(), "agent weather: ") {
				t.Errorf("got %v, want %s of agent weather", err, c.code)
			}
		})
	}
}

func TestRepliesOfAllRunsAreCounted(t *testing.T) {
	round := []fake.Reply{
		{When: "Plan", Say: call("ask_weather", `{"input":"Rome?"}`)}, {When: "Rome?", Say: call("get_weather", `{"city":"Rome"}`)},
		{When: "result of get_weather", Say: "It is sunny."}, {When: "result of ask_weather", Say: "It is sunny."},
	}
	three := strings.Replace(asTool("weather"), `"tells_failures"`, `"max_turns":1,"tells_failures"`, 1)
	for name, c := range map[string]struct {
		turns int
		link  string
		trail string
		used  int
	}{
		"enough":              {4, asTool("weather"), "boss ask_weather:ok[weather get_weather:ok (answer)] (answer)", 4},
		"none for the last":   {3, asTool("weather"), "boss ask_weather:ok[weather get_weather:ok (answer)] (turn_limit)", 3},
		"the inner run's end": {2, asTool("weather"), "boss ask_weather:told[weather get_weather:ok (turn_limit)] (turn_limit)", 2},
		"the inner run's own": {20, three, "boss ask_weather:told[weather get_weather:ok (turn_limit)] (answer)", 3},
		"one for all of them": {1, asTool("weather"), "boss ask_weather:told[weather (turn_limit)] (turn_limit)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", c.link))}, fake.Replies(round...))
			s.cfg.MaxTurns = c.turns
			a, err := s.cfg.File.Agent("boss")
			if err != nil {
				t.Fatal(err)
			}
			team := agent.New(s.cfg)
			r, err := team.Run(t.Context(), a, "Plan")
			if err != nil {
				t.Fatal(err)
			}
			if got := trail(r); got != c.trail || team.Replies() != c.used {
				t.Errorf("got %s with %d replies, want %s with %d", got, team.Replies(), c.trail, c.used)
			}
		})
	}
}

func TestWhatTheFileSaysOfCalls(t *testing.T) {
	chosen := "none"
	for name, c := range map[string]struct {
		more   string
		choice *string
		trail  string
		says   string
	}{
		"stops at the first":     {`"tool_use_behavior":{"kind":"stop_on_first_tool","names":[]}`, nil, "a get_weather:ok (return_direct)", `{"weather":"sunny"}`},
		"stops at a name":        {`"tool_use_behavior":{"kind":"stop_at_tools","names":["get_weather"]}`, nil, "a get_weather:ok (return_direct)", `{"weather":"sunny"}`},
		"a function decides":     {`"tool_use_behavior":{"kind":"function","names":[]}`, nil, "a get_weather:ok (return_direct)", `a got {"weather":"sunny"} with {"unit":"C"}`},
		"the choice is none":     {`"settings":{"tool_choice":"none","temperature":null,"max_tokens":null}`, nil, "a (answer)", "Who knows."},
		"the command's choice":   {`"settings":{"tool_choice":"required","temperature":null,"max_tokens":null}`, &chosen, "a (answer)", "Who knows."},
		"instructions on demand": {`"dynamic":true`, nil, "a get_weather:ok (answer)", "It is sunny."},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, inspection(weatherTool()), []string{described("a", `"tools":["get_weather"],`+c.more)}, func(history []inference.Token) (string, bool) {
				text := fake.Text(history)
				switch _, last := fake.LastMessage(history); {
				case strings.Contains(last, "result of"):
					return "It is sunny.", true
				case strings.Contains(c.more, "dynamic") && !strings.Contains(text, "Serve a with {"):
					return "I have no instructions.", true
				case strings.Contains(c.more, `"none"`), c.choice != nil:
					return "Who knows.", true
				}
				return call("get_weather", `{"city":"Rome"}`), true
			})
			s.cfg.Context, s.cfg.Choice = json.RawMessage(`{"unit":"C"}`), c.choice
			s.cfg.Decide = func(_ context.Context, name string, results []runner.Output, given json.RawMessage) (runner.Decision, error) {
				said := fmt.Sprintf("Serve %s with %s", name, given)
				if len(results) > 0 {
					said = fmt.Sprintf("%s got %s with %s", name, results[0].Output, given)
				}
				return runner.Decision{IsFinalOutput: true, FinalOutput: &said}, nil
			}
			r := s.run("a", "Weather?")
			if trail(r) != c.trail || r.FinalOutput != c.says {
				t.Errorf("got %s: %q, want %s: %q", trail(r), r.FinalOutput, c.trail, c.says)
			}
		})
	}
}

func TestTheCommandsChoiceIsChecked(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather()}, fake.Replies())
	other := "get_wind"
	s.cfg.Choice = &other
	if _, err := s.try("weather", "Rome?"); !fault.Is(err, fault.CodeInvalidArguments) || !strings.HasPrefix(err.Error(), "agent weather: ") {
		t.Errorf("got %v", err)
	}
}

// A limit of the inner run is the call's error where failures aren't told.
func TestALimitOfTheInnerRunEndsTheOuter(t *testing.T) {
	link := strings.Replace(asTool("weather"), `"tells_failures":true`, `"max_turns":1`, 1)
	s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", link))},
		fake.Replies(fake.Reply{When: "Plan", Say: call("ask_weather", `{"input":"Rome?"}`)}, fake.Reply{When: "Rome?", Say: call("get_weather", `{"city":"Rome"}`)}))
	c := s.run("boss", "Plan").Steps[0].ToolCalls[0]
	if c.ErrorCode == nil || *c.ErrorCode != fault.CodeAgentLimitExceeded || c.Status != chat.StatusFailed {
		t.Errorf("the call is %+v", c.ToolCall)
	}
}

func TestAnEmptyInputIsTheModelsMistake(t *testing.T) {
	s := set(t, inspection(weatherTool()), []string{weather(), described("boss", has("agent_tools", asTool("weather")))},
		fake.Replies(fake.Reply{When: "Plan", Say: call("ask_weather", `{"input":" "}`)}, fake.Reply{When: "the prompt is empty", Say: "I asked with an empty prompt."}))
	if r := s.run("boss", "Plan"); trail(r) != "boss ask_weather:told (answer)" || r.FinalOutput != "I asked with an empty prompt." {
		t.Errorf("got %s: %q", trail(r), r.FinalOutput)
	}
}
