package learn_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/learn"
)

func newEngine() *fake.Engine { return fake.New(fake.Options{}) }

func tokensOf(ids ...inference.Token) []inference.Token { return ids }

func sample() *learn.Sample {
	return &learn.Sample{
		Schema: learn.SampleSchema, Profile: learn.Profile{System: "You bill.", Facts: []string{"The shop is in Porto."}}, Examples: shopExamples(),
		Holdout: []learn.Example{
			example("What is the fee for 80?", "calculate_fee", `{"amount":80}`),
			example("Status of order C-3", "order_status", `{"order_id":"C-3"}`),
			example("Thanks, goodbye then", "", "Bye."),
		},
	}
}

func request(t *testing.T, w learn.World, s *learn.Sample) learn.Request {
	return learn.Request{World: w, Set: shop(t), Sample: s, Clock: tick()}
}

func run(t *testing.T, r learn.Request) *learn.Result {
	t.Helper()
	out, err := learn.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func contentID(t *testing.T, c imprint.Content) string {
	t.Helper()
	id, err := imprint.ComputeID(c)
	if err != nil {
		t.Fatal(err)
	}
	return id.String()
}

func TestRun(t *testing.T) {
	engine := newEngine()
	w := world(t, engine)
	var stages []string
	last := map[string][2]int{}
	r := request(t, w, sample())
	r.Report = func(stage string, done, total int) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
		last[stage] = [2]int{done, total}
	}
	out := run(t, r)
	messages, err := learn.Contract(r.Set, r.Sample.Profile, learn.Shown(r.Sample.Examples))
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := w.Renderer.Prefix(messages)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Content.Tokens) != len(prefix) || out.Content.State.Tokens() != len(prefix) {
		t.Errorf("the imprint stands for %d tokens and its state for %d, the prefix has %d", len(out.Content.Tokens), out.Content.State.Tokens(), len(prefix))
	}
	text := fake.Text(prefix)
	for _, part := range []string{"You bill.", "The shop is in Porto.", `"calculate_fee"`, `"order_id"`, "What is the fee for 250?", "You're welcome."} {
		if !strings.Contains(text, part) {
			t.Errorf("the prefix lacks %q", part)
		}
	}
	for _, prompt := range []string{r.Sample.Holdout[0].Prompt, r.Sample.Holdout[1].Prompt, r.Sample.Holdout[2].Prompt, "Quote the fee for amount 100", "Fee of 75"} {
		if strings.Contains(text, prompt) {
			t.Errorf("the prefix holds %q, which is of the holdout or one example too many", prompt)
		}
	}
	if diff := cmp.Diff([]string{learn.NoTool, "calculate_fee", "order_status"}, out.Learned.Head.Classes); diff != "" {
		t.Error(diff)
	}
	want := map[string][2]int{"prefix": {len(prefix), len(prefix)}, "examples": {7, 7}, "evaluation": {6, 6}}
	if diff := cmp.Diff(want, last); diff != "" || !slices.Equal(stages, []string{"prefix", "examples", "evaluation"}) {
		t.Errorf("progress: %v\n%s", stages, diff)
	}
	if s := engine.Stats(); s.OpenSessions != 0 || s.OpenGrammars != 0 {
		t.Errorf("left open: %+v", s)
	}
	if tm := out.Timings; tm.PrefillMS <= 0 || tm.LearnMS <= 0 || tm.EvaluateMS <= 0 || tm.TotalMS <= tm.PrefillMS {
		t.Errorf("timings: %+v", tm)
	}
}

func TestShown(t *testing.T) {
	var prompts []string
	for _, e := range learn.Shown(shopExamples()) {
		prompts = append(prompts, e.Prompt)
	}
	want := []string{"What is the fee for 250?", "Where is order A-17?", "Thanks, goodbye"}
	if diff := cmp.Diff(want, prompts); diff != "" {
		t.Errorf("one of each class, in their order:\n%s", diff)
	}
}

// TestFactsTeachWhenNotToCall: questions about the profile need no tool.
func TestFactsTeachWhenNotToCall(t *testing.T) {
	s := &learn.Sample{Profile: learn.Profile{Facts: []string{"The cat is called Mia."}}, Examples: shopExamples()[:4]}
	out := run(t, request(t, world(t, newEngine()), s))
	if diff := cmp.Diff([]string{learn.NoTool, "calculate_fee", "order_status"}, out.Learned.Head.Classes); diff != "" {
		t.Error(diff)
	}
	if len(out.Learned.Examples) != 4 {
		t.Errorf("the fact became an example: %+v", out.Learned.Examples)
	}
}

// TestTheImprintIsWhatItIsTakenFor: it passes the gate of the same world, and what it restores goes on as if it had
// been decoded.
func TestTheImprintIsWhatItIsTakenFor(t *testing.T) {
	w := world(t, newEngine())
	r := request(t, w, sample())
	out := run(t, r)
	path := filepath.Join(t.TempDir(), "a.imprint")
	if _, err := imprint.Write(t.Context(), path, out.Content); err != nil {
		t.Fatal(err)
	}
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	messages, _ := learn.Contract(r.Set, r.Sample.Profile, learn.Shown(r.Sample.Examples))
	prefix, err := w.Renderer.Prefix(messages)
	if err != nil {
		t.Fatal(err)
	}
	v, err := u.Verify(t.Context(), w.Identity(r.Set, prefix, learn.LearnedVersion))
	if err != nil {
		t.Fatal(err)
	}
	p := w.Params
	p.ContextTokens = len(prefix) + 10
	live, err := w.Model.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for i, layer := range v.State().Layers() {
		from := live.Position()
		if err := live.Decode(t.Context(), inference.Batch{Tokens: prefix[from : from+layer.Tokens()]}); err != nil {
			t.Fatal(err)
		}
		state, err := live.SaveLayer(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(state.Bytes(), layer.Bytes()) {
			t.Errorf("layer %d isn't that of a live prefill", i)
		}
	}
	raw, err := u.Learned()
	if err != nil {
		t.Fatal(err)
	}
	back, err := learn.DecodeLearned(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.Learned, back); diff != "" {
		t.Error(diff)
	}
}

// TestTheSameRunGivesTheSameID whatever the clock, the threads and the name of the model say.
func TestTheSameRunGivesTheSameID(t *testing.T) {
	id := func(change func(*learn.Request)) string {
		r := request(t, world(t, newEngine()), sample())
		if change != nil {
			change(&r)
		}
		return contentID(t, run(t, r).Content)
	}
	want := id(nil)
	for name, change := range map[string]func(*learn.Request){
		"again":         nil,
		"another clock": func(r *learn.Request) { r.Clock = time.Now },
		"more threads":  func(r *learn.Request) { r.World.Params.Threads = 7 },
		"another name":  func(r *learn.Request) { r.World.File.Name, r.World.File.Path = "other", "/elsewhere" },
		"another report": func(r *learn.Request) {
			r.Report = func(string, int, int) {}
		},
		// What the holdout is can't be told from the imprint.
		"no holdout":      func(r *learn.Request) { r.Sample.Holdout = nil },
		"another holdout": func(r *learn.Request) { r.Sample.Holdout = r.Sample.Holdout[1:] },
		"a long holdout": func(r *learn.Request) {
			r.Sample.Holdout = append(r.Sample.Holdout, example(strings.Repeat("a long request ", 100), "", "no"))
		},
	} {
		if got := id(change); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, change := range map[string]func(*learn.Request){
		"an example less": func(r *learn.Request) { r.Sample.Examples = r.Sample.Examples[1:] },
		"other words":     func(r *learn.Request) { r.Sample.Examples[0].Prompt += "?" },
		"another profile": func(r *learn.Request) { r.Sample.Profile.System += "!" },
		"a fact more":     func(r *learn.Request) { r.Sample.Profile.Facts = append(r.Sample.Profile.Facts, "One.") },
		"one tool": func(r *learn.Request) {
			r.Set = freeze(t, r.Set.Tools()[:1]...)
			r.Sample = &learn.Sample{Examples: r.Sample.Examples[:3]}
		},
		"another ubatch": func(r *learn.Request) { r.World.Params.UBatchTokens = 16 },
	} {
		if got := id(change); got == want {
			t.Errorf("%s: the id is the same", name)
		}
	}
}

func TestAProfileAloneIsLearned(t *testing.T) {
	engine := newEngine()
	out := run(t, learn.Request{World: world(t, engine), Sample: &learn.Sample{
		Profile: learn.Profile{System: "You are Ada."}, Examples: []learn.Example{example("Who are you?", "", "Ada.")}, Holdout: []learn.Example{example("And you?", "", "Ada.")},
	}, Clock: tick()})
	if out.Learned.Head != nil || len(out.Content.Identity.Tools) != 0 || out.Evaluation.Method != "none" || out.Evaluation.Holdout != 0 {
		t.Errorf("got %+v, %+v", out.Learned.Head, out.Evaluation)
	}
	contentID(t, out.Content)
}

// TestWithoutExamplesTheDescriptionsTeach, and what words count isn't left to chance.
func TestWithoutExamplesTheDescriptionsTeach(t *testing.T) {
	out := run(t, request(t, world(t, newEngine()), &learn.Sample{Profile: learn.Profile{Facts: []string{"The cat is called Mia."}}}))
	if diff := cmp.Diff([]string{"calculate_fee", "order_status"}, out.Learned.Head.Classes); diff != "" {
		t.Error(diff)
	}
	if out.Learned.Words != 1 || out.Learned.Evidence != nil {
		t.Errorf("words count %g, evidence %v", out.Learned.Words, out.Learned.Evidence)
	}
}

// TestAToolWithoutExamplesIsLearnedFromItsDescription: it has a class of its own.
func TestAToolWithoutExamplesIsLearnedFromItsDescription(t *testing.T) {
	out := run(t, request(t, world(t, newEngine()), &learn.Sample{Examples: shopExamples()[:3]}))
	if diff := cmp.Diff([]string{"calculate_fee", "order_status"}, out.Learned.Head.Classes); diff != "" {
		t.Error(diff)
	}
	if len(out.Learned.Examples) != 3 {
		t.Errorf("the description became an example: %+v", out.Learned.Examples)
	}
}

func TestEvaluation(t *testing.T) {
	s := sample()
	s.Holdout = append(s.Holdout,
		example("Where is order D-9?", "order_status", `{"order_id":"other"}`), // can't be right
		learn.Example{Prompt: "Thanks, goodbye again"},
	)
	e := run(t, request(t, world(t, newEngine()), s)).Evaluation
	if e.Method != "holdout" || e.Holdout != 5 {
		t.Errorf("got %+v", e)
	}
	shares := *e.Learned
	if shares.CallMS == 0 {
		t.Error("the time per call wasn't measured")
	}
	shares.Intervals, shares.CallMS = nil, 0 // TestWilson has the intervals
	want := learn.Shares{ToolChoice: 1, ExactCall: 2.0 / 3, ValidCall: 1, NoTool: 1}
	if diff := cmp.Diff(want, shares); diff != "" {
		t.Errorf("learned:\n%s", diff)
	}
	failures := []learn.Failure{{Index: 3, Prompt: "Where is order D-9?",
		Want: &learn.CallValue{ToolName: "order_status", Arguments: json.RawMessage(`{"order_id":"other"}`)},
		Got:  &learn.CallValue{ToolName: "order_status", Arguments: json.RawMessage(`{"order_id":"D-9"}`)}, Reason: "arguments", Detail: `order_id is "D-9", want "other"`}}
	if diff := cmp.Diff(failures, e.Failures); diff != "" {
		t.Errorf("failures:\n%s", diff)
	}
	if e.Baseline == nil || e.Baseline.ExactCall != 0 {
		t.Errorf("a fake model can't know these calls: %+v", e.Baseline)
	}
}

// TestTheBaselineIsTheModelAlone: it is asked under the grammar, with nothing learned, and its shares are counted alike.
func TestTheBaselineIsTheModelAlone(t *testing.T) {
	knows := func(history []inference.Token) (string, bool) {
		_, content := fake.LastMessage(history)
		if strings.Contains(fake.Text(history), "What is the fee for 250?") { // it sees an example
			return "I see examples.", true
		}
		switch {
		case strings.Contains(content, "fee"):
			return `{"tool_name":"calculate_fee","arguments":{"amount":80}}`, true
		case strings.Contains(content, "order"):
			return `{"tool_name":"order_status","arguments":{"order_id":"wrong"}}`, true
		}
		return `{"tool_name":"order_status","arguments":{"order_id":"again"}}`, true
	}
	e := run(t, request(t, world(t, fake.New(fake.Options{Script: knows})), sample())).Evaluation
	got := *e.Baseline
	got.Intervals, got.CallMS = nil, 0 // TestWilson has the intervals
	want := learn.Shares{ToolChoice: 2.0 / 3, ExactCall: 0.5, ValidCall: 1, NoTool: 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("baseline:\n%s", diff)
	}
}

func TestThePrefixMustLeaveRoom(t *testing.T) {
	engine := fake.New(fake.Options{ContextLength: 900})
	_, err := learn.Run(t.Context(), request(t, world(t, engine), sample()))
	if !fault.Is(err, fault.CodeContextFull) || !strings.Contains(err.Error(), "900") {
		t.Errorf("got %v", err)
	}
	if s := engine.Stats(); s.DecodeCalls != 0 {
		t.Errorf("%d decode calls before the refusal", s.DecodeCalls)
	}
}

// TestASchemaWithoutAGrammarFailsTheBake also where there is no holdout to try it on.
func TestASchemaWithoutAGrammarFailsTheBake(t *testing.T) {
	engine := newEngine()
	r := request(t, world(t, engine), &learn.Sample{})
	r.Set = freeze(t, tool("find", "Find.", `{"type":"object","additionalProperties":false,"required":["code"],"properties":{"code":{"type":"string","pattern":"(?=[A-Z])"}}}`))
	_, err := learn.Run(t.Context(), r)
	if !fault.Is(err, fault.CodeUnsupportedSchema) || !strings.Contains(err.Error(), "find") || !strings.Contains(err.Error(), "code") {
		t.Errorf("got %v", err)
	}
	if s := engine.Stats(); s.DecodeCalls != 0 || s.OpenGrammars != 0 {
		t.Errorf("before the refusal: %+v", s)
	}
}

// mute is a model whose tokens have no text, as a template or a tokenizer that loses text would show.
type mute struct{ inference.Model }

func (mute) Piece(inference.Token) []byte { return nil }

// TestTheContractMustBeInThePrefix is A27: what the prefix really holds is looked at, not what was meant to be in it.
func TestTheContractMustBeInThePrefix(t *testing.T) {
	engine := newEngine()
	w := world(t, engine)
	w.Model = mute{w.Model}
	r, err := chattemplate.New(w.Model, w.Model.Info())
	if err != nil {
		t.Fatal(err)
	}
	w.Renderer = r
	_, err = learn.Run(t.Context(), request(t, w, sample()))
	if !fault.Is(err, fault.CodeToolContractNotInPrefix) || !strings.Contains(err.Error(), "calculate_fee") {
		t.Errorf("got %v", err)
	}
	if n := engine.Stats().DecodeCalls; n != 0 {
		t.Errorf("%d decode calls before the refusal", n)
	}
}

func TestFailuresEndTheRun(t *testing.T) {
	total := func() int { // decode calls of a whole run
		engine := newEngine()
		run(t, request(t, world(t, engine), sample()))
		return engine.Stats().DecodeCalls
	}()
	for call := 1; call <= total; call += 7 {
		t.Run("decode", func(t *testing.T) {
			engine := fake.New(fake.Options{Faults: fake.Faults{DecodeCall: call}})
			if _, err := learn.Run(t.Context(), request(t, world(t, engine), sample())); !fault.Is(err, fault.CodeEngineDecodeFailed) {
				t.Errorf("call %d: got %v", call, err)
			}
			if s := engine.Stats(); s.OpenSessions != 0 || s.OpenGrammars != 0 {
				t.Errorf("call %d: left open: %+v", call, s)
			}
		})
		t.Run("cancelled", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			engine := fake.New(fake.Options{Faults: fake.Faults{BeforeDecode: func(n int) {
				if n == call {
					cancel()
				}
			}}})
			if _, err := learn.Run(ctx, request(t, world(t, engine), sample())); !errors.Is(err, context.Canceled) {
				t.Errorf("call %d: got %v", call, err)
			}
			if s := engine.Stats(); s.OpenSessions != 0 || s.OpenGrammars != 0 {
				t.Errorf("call %d: left open: %+v", call, s)
			}
		})
	}
	for name, c := range map[string]struct {
		faults fake.Faults
		code   fault.Code
	}{
		"no session": {fake.Faults{NewSession: true}, fault.CodeEngineLoadFailed},
		"no state":   {fake.Faults{Save: true}, fault.CodeEngineDecodeFailed},
		"no restore": {fake.Faults{RestoreHalf: true}, fault.CodeEngineRestoreFailed},
	} {
		t.Run(name, func(t *testing.T) {
			engine := fake.New(fake.Options{Faults: c.faults})
			if _, err := learn.Run(t.Context(), request(t, world(t, engine), sample())); !fault.Is(err, c.code) {
				t.Errorf("got %v", err)
			}
			if n := engine.Stats().OpenSessions; n != 0 {
				t.Errorf("%d sessions are open", n)
			}
		})
	}
}
