package learn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/internal/fault"
	"edge/tools"
)

// EvaluationRequest asks how well an imprint does on requests that it wasn't learned from.
type EvaluationRequest struct {
	World    World
	Set      *tools.ActiveSet
	Imprint  *imprint.Verified // through the gate, as for a chat
	Holdout  []Example
	Baseline bool // also the same model with nothing learned
	Clock    func() time.Time
	Report   Reporter // may be nil
}

// Evaluate asks every request of the holdout of a verified imprint. Nothing is learned, and no tool is run.
//
// Errors: invalid_sample_file without a holdout; those of the engine.
func Evaluate(ctx context.Context, r EvaluationRequest) (*Evaluation, error) {
	if len(r.Holdout) == 0 || r.Set == nil {
		return nil, fault.New(fault.CodeInvalidSampleFile, "there is nothing to evaluate: the sample file has no holdout, or no tools are active")
	}
	if r.Report == nil {
		r.Report = func(string, int, int) {}
	}
	learned, err := DecodeLearned(r.Imprint.Learned())
	if err != nil {
		return nil, err
	}
	p := prober{world: r.World, restore: func(ctx context.Context, sink imprint.StateSink) error {
		_, err := r.Imprint.Restore(ctx, sink)
		return err
	}}
	for _, t := range r.Imprint.Tokens() {
		p.tokens = append(p.tokens, inference.Token(t))
	}
	if p.messages, err = Contract(r.Set, learned.Profile, Shown(learned.Examples)); err != nil {
		return nil, err
	}
	params := r.World.Params
	params.ContextTokens = min(len(p.tokens)+longestRequest(r.Holdout)+turnReserve, r.World.Model.Info().ContextLength)
	if p.session, err = r.World.Model.NewSession(ctx, params); err != nil {
		return nil, err
	}
	defer p.session.Close()
	e := &evaluator{prober: &p, set: r.Set, profile: learned.Profile, holdout: r.Holdout, clock: r.Clock, report: r.Report}
	out, mistakes, err := e.evaluate(ctx, learned, r.Baseline)
	if err != nil {
		return nil, err
	}
	out.TooAlike = tooAlike(learned.Head, mistakes, learned.Examples)
	return out, nil
}

// evaluate is the evaluation of a learning run.
func (r *run) evaluate(ctx context.Context) error {
	mistakes := r.leftOutMistakes()
	switch {
	case r.Set == nil:
		r.result.Evaluation = Evaluation{Method: "none", Failures: []Failure{}}
	case len(r.Sample.Holdout) == 0:
		r.result.Evaluation = Evaluation{Method: "none", Failures: []Failure{}}
		r.leaveOut(&r.result.Evaluation)
	default:
		e := &evaluator{prober: &r.prober, set: r.Set, profile: r.Sample.Profile, holdout: r.Sample.Holdout, clock: r.Clock, report: r.Report}
		out, more, err := e.evaluate(ctx, r.result.Learned, true)
		if err != nil {
			return err
		}
		r.result.Evaluation, mistakes = *out, append(mistakes, more...)
	}
	r.result.Evaluation.TooAlike = tooAlike(r.result.Learned.Head, mistakes, r.Sample.Examples)
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
		var arguments *Arguments
		if out.choice.Class != NoTool {
			rest := slices.Delete(slices.Clone(r.Sample.Examples), i, i+1)
			got = &CallValue{ToolName: out.choice.Class, Arguments: json.RawMessage("{}")}
			arguments = LearnArguments(r.Set, rest)
			text := forcedText(out.choice.Class, arguments.Ground(out.choice.Class, x.Prompt))
			if reply, err := tools.ParseReply(text); err == nil && reply.Call != nil {
				got.Arguments = reply.Call.Arguments
			}
		}
		if !t.add(r.Set, x, got) {
			e.Failures = append(e.Failures, failure(i, x, got, Plan{Choice: &out.choice}, arguments))
		}
	}
	e.Method, e.Learned, e.Confusion = "leave_one_out", t.shares(), t.confusion()
}

// leftOutMistakes are the examples that would get another tool if they weren't there.
func (r *run) leftOutMistakes() []mistake {
	t := tally{}
	for i, out := range r.leftOut {
		t.confuse(r.Sample.Examples[i], out.choice.Class, true)
	}
	return t.mistakes
}

// evaluator asks the requests of a holdout.
type evaluator struct {
	*prober
	set         *tools.ActiveSet
	profile     Profile
	holdout     []Example
	clock       func() time.Time
	report      Reporter
	done, total int
}

func (e *evaluator) evaluate(ctx context.Context, learned *Learned, baseline bool) (*Evaluation, []mistake, error) {
	out := &Evaluation{Method: "holdout", Holdout: len(e.holdout), Failures: []Failure{}}
	e.total = len(e.holdout)
	if baseline {
		e.total *= 2
	}
	e.report("evaluation", 0, e.total)
	replier := NewReplier(e.world, e.set, learned)
	t, err := e.askAll(ctx, replier, func(i int, got *CallValue, plan Plan) {
		out.Failures = append(out.Failures, failure(i, e.holdout[i], got, plan, replier.arguments))
	})
	if err != nil {
		return nil, nil, err
	}
	out.Learned, out.Confusion = t.shares(), t.confusion()
	if baseline {
		if out.Baseline, err = e.baseline(ctx); err != nil {
			return nil, nil, err
		}
	}
	return out, t.mistakes, nil
}

func (e *evaluator) askAll(ctx context.Context, replier *Replier, failed func(i int, got *CallValue, plan Plan)) (tally, error) {
	t := tally{}
	for i, x := range e.holdout {
		start := e.clock()
		got, plan, err := e.reply(ctx, replier, x.Prompt)
		if err != nil {
			return t, err
		}
		t.times = append(t.times, ms(e.clock().Sub(start)))
		if !t.add(e.set, x, got) {
			failed(i, got, plan)
		}
		e.done++
		e.report("evaluation", e.done, e.total)
	}
	return t, nil
}

// baseline asks the same requests of the same model, with the tools described and nothing learned: no examples, no
// head, no grounding; the grammar alone.
func (e *evaluator) baseline(ctx context.Context) (_ *Shares, err error) {
	plain := &evaluator{prober: &prober{world: e.world, session: e.session}, set: e.set, holdout: e.holdout, clock: e.clock, report: e.report, done: e.done, total: e.total}
	if plain.messages, err = Contract(e.set, e.profile, nil); err != nil {
		return nil, err
	}
	if plain.tokens, err = e.world.Renderer.Prefix(plain.messages); err != nil {
		return nil, err
	}
	if err := plain.session.Reset(ctx); err != nil {
		return nil, err
	}
	if err := plain.session.Decode(ctx, inference.Batch{Tokens: plain.tokens}); err != nil {
		return nil, err
	}
	state, err := plain.session.SaveState(ctx)
	if err != nil {
		return nil, err
	}
	plain.restore = restoring(state)
	t, err := plain.askAll(ctx, NewReplier(e.world, e.set, nil), func(int, *CallValue, Plan) {})
	return t.shares(), err
}

// callTokens bounds the tokens of one call.
const callTokens = 128

// reply gives the call that a request gets, nil for none, and the plan behind it.
func (p *prober) reply(ctx context.Context, replier *Replier, prompt string) (*CallValue, Plan, error) {
	if err := p.ask(ctx, prompt); err != nil {
		return nil, Plan{}, err
	}
	plan := replier.Plan(prompt, p.session.Hidden())
	if !plan.AllowsCall() {
		return nil, plan, nil
	}
	// Whether a reply is a call shows in its first character; the words of an answer aren't judged here.
	began, answers := false, false
	out, err := replier.Write(ctx, p.session, plan, Drawing{
		MaxTokens: callTokens,
		OnText: func(text string) {
			if !began {
				began, answers = true, !strings.HasPrefix(text, "{")
			}
		},
		Stop: func() bool { return answers },
	})
	if err != nil && !fault.Is(err, fault.CodeInvalidToolCall) {
		return nil, plan, err
	}
	reply, err := tools.ParseReply(out.Text)
	if err != nil || reply.Call == nil {
		return nil, plan, nil
	}
	return &CallValue{reply.Call.ToolName, reply.Call.Arguments}, plan, nil
}
