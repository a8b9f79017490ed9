package learn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"edge/inference"
	"edge/internal/canon"
	"edge/tools"
)

// Evaluation is how well the learned head, arguments and prefix do on requests that they weren't learned from, beside
// the same model with the same tools and nothing learned.
type Evaluation struct {
	// Method is "holdout"; or "leave_one_out" where the sample file has no holdout and each example was left out in turn;
	// or "none". Leaving one out is kinder than a holdout: the prefix still holds the example, and only calls that are
	// certain before the model writes count as exact.
	Method   string    `json:"method"`
	Holdout  int       `json:"holdout"` // requests of the holdout
	Baseline *Shares   `json:"baseline,omitempty"`
	Learned  *Shares   `json:"learned,omitempty"`
	Failures []Failure `json:"failures"`
}

// Shares are parts of 1 of the requests that they are about: ToolChoice of all, ExactCall and ValidCall of those that
// need a call, NoTool of those that need none.
type Shares struct {
	ToolChoice float64 `json:"tool_choice"`
	ExactCall  float64 `json:"exact_call"`
	ValidCall  float64 `json:"valid_call"`
	NoTool     float64 `json:"no_tool"`
}

// Failure is one request that the learned imprint gets wrong.
type Failure struct {
	Index  int        `json:"index"`
	Prompt string     `json:"prompt"`
	Want   *CallValue `json:"want"` // null: no call
	Got    *CallValue `json:"got"`
}

// CallValue is a call as the evaluation prints it.
type CallValue struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// callTokens bounds the tokens of one call.
const callTokens = 128

func (r *run) evaluate(ctx context.Context) error {
	start := r.Clock()
	e := &r.result.Evaluation
	e.Method, e.Holdout, e.Failures = "none", len(r.Sample.Holdout), []Failure{}
	if r.Set == nil || len(r.Sample.Holdout) == 0 {
		e.Holdout = 0
		r.leaveOut(e)
		return nil
	}
	e.Method = "holdout"
	total := 2 * len(r.Sample.Holdout)
	done := 0
	tick := func() { done++; r.Report("evaluation", done, total) }

	learned := tally{}
	replier := NewReplier(r.World, r.Set, r.result.Learned)
	for i, x := range r.Sample.Holdout {
		got, err := r.reply(ctx, replier, x.Prompt)
		if err != nil {
			return err
		}
		if !learned.add(r.Set, x, got) {
			e.Failures = append(e.Failures, Failure{Index: i, Prompt: x.Prompt, Want: wanted(x), Got: got})
		}
		tick()
	}
	e.Learned = learned.shares()

	baseline, err := r.baseline(ctx, tick)
	if err != nil {
		return err
	}
	e.Baseline = baseline
	r.result.Timings.EvaluateMS = ms(r.Clock().Sub(start))
	return nil
}

// leaveOut judges the choices that calibration has already made of each example without itself.
func (r *run) leaveOut(e *Evaluation) {
	if len(r.leftOut) == 0 {
		return
	}
	t := tally{}
	for i, x := range r.Sample.Examples {
		out := r.leftOut[i]
		var got *CallValue
		if out.choice.Class != NoTool {
			rest := slices.Delete(slices.Clone(r.Sample.Examples), i, i+1)
			got = &CallValue{ToolName: out.choice.Class, Arguments: json.RawMessage("{}")}
			if reply, err := tools.ParseReply(forcedText(out.choice.Class, LearnArguments(r.Set, rest).Ground(out.choice.Class, x.Prompt))); err == nil && reply.Call != nil {
				got.Arguments = reply.Call.Arguments
			}
		}
		if !t.add(r.Set, x, got) {
			e.Failures = append(e.Failures, Failure{Index: i, Prompt: x.Prompt, Want: wanted(x), Got: got})
		}
	}
	e.Method, e.Learned = "leave_one_out", t.shares()
}

// baseline asks the same requests of the same model, with the tools described and nothing learned: no examples, no
// head, no grounding; the grammar alone.
func (r *run) baseline(ctx context.Context, tick func()) (_ *Shares, err error) {
	plain := &run{Request: r.Request}
	plain.session = r.session // it has room for more
	if plain.messages, err = Contract(r.Set, r.Sample.Profile, nil); err != nil {
		return nil, err
	}
	if plain.tokens, err = r.World.Renderer.Prefix(plain.messages); err != nil {
		return nil, err
	}
	if err := plain.session.Reset(ctx); err != nil {
		return nil, err
	}
	if err := plain.session.Decode(ctx, inference.Batch{Tokens: plain.tokens}); err != nil {
		return nil, err
	}
	if plain.state, err = plain.session.SaveState(ctx); err != nil {
		return nil, err
	}
	t := tally{}
	replier := NewReplier(r.World, r.Set, nil)
	for _, x := range r.Sample.Holdout {
		got, err := plain.reply(ctx, replier, x.Prompt)
		if err != nil {
			return nil, err
		}
		t.add(r.Set, x, got)
		tick()
	}
	return t.shares(), nil
}

// reply gives the call that a request gets, nil for none.
func (r *run) reply(ctx context.Context, replier *Replier, prompt string) (*CallValue, error) {
	if err := r.ask(ctx, prompt); err != nil {
		return nil, err
	}
	plan := replier.Plan(prompt, r.session.Hidden())
	if !plan.AllowsCall() {
		return nil, nil
	}
	// Whether a reply is a call shows in its first character; the words of an answer aren't judged here.
	began, answers := false, false
	out, err := replier.Write(ctx, r.session, plan, Drawing{
		MaxTokens: callTokens,
		OnText: func(text string) {
			if !began {
				began, answers = true, !strings.HasPrefix(text, "{")
			}
		},
		Stop: func() bool { return answers },
	})
	if err != nil {
		return nil, err
	}
	reply, err := tools.ParseReply(out.Text)
	if err != nil || reply.Call == nil {
		return nil, nil
	}
	return &CallValue{reply.Call.ToolName, reply.Call.Arguments}, nil
}

func wanted(x Example) *CallValue {
	if x.Call == nil {
		return nil
	}
	return &CallValue{x.Call.ToolName, x.Call.Arguments}
}

// tally counts what an evaluation gets right.
type tally struct {
	calls, exact, valid, none, noTool, choice int
}

// add counts one request and reports whether all of it was right.
func (t *tally) add(set *tools.ActiveSet, x Example, got *CallValue) bool {
	want := wanted(x)
	if want == nil {
		t.none++
		if got == nil {
			t.noTool++
			t.choice++
		}
		return got == nil
	}
	t.calls++
	if got == nil {
		return false
	}
	if set.Validate(tools.Call{ToolName: got.ToolName, Arguments: got.Arguments}) == nil {
		t.valid++
	}
	if got.ToolName == want.ToolName {
		t.choice++
		if sameJSON(got.Arguments, want.Arguments) {
			t.exact++
			return true
		}
	}
	return false
}

func sameJSON(a, b []byte) bool {
	x, errX := canon.Transform(a)
	y, errY := canon.Transform(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func (t *tally) shares() *Shares {
	share := func(n, of int) float64 {
		if of == 0 {
			return 1
		}
		return float64(n) / float64(of)
	}
	return &Shares{
		ToolChoice: share(t.choice, t.calls+t.none), ExactCall: share(t.exact, t.calls),
		ValidCall: share(t.valid, t.calls), NoTool: share(t.noTool, t.none),
	}
}
