package learn

import (
	"context"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
	"edge/tools"
)

// Request is one learning run.
type Request struct {
	World  World
	Set    *tools.ActiveSet // nil: a profile alone
	Sample *Sample
	Clock  func() time.Time
	Report Reporter // may be nil
}

// Reporter hears how a run goes on. Stage is "prefix", "examples" or "evaluation"; done and total count tokens in the
// first and requests in the others.
type Reporter func(stage string, done, total int)

// Result is a learning run's outcome: what to write, and what to say of it.
type Result struct {
	Content    imprint.Content
	Learned    *Learned
	Evaluation Evaluation
	Timings    Timings
}

// Timings of a learning run, in milliseconds.
type Timings struct {
	PrefillMS  float64 `json:"prefill_ms"`
	LearnMS    float64 `json:"learn_ms"`
	EvaluateMS float64 `json:"evaluate_ms"`
	TotalMS    float64 `json:"total_ms"`
}

// turnReserve is how many tokens of the context are kept free for a request and its reply.
const turnReserve = 512

// Run decodes the prefix, learns from the examples and evaluates on the holdout. It writes nothing.
//
// Errors: tool_contract_not_in_prefix; context_full where the prefix leaves no room for a request; unsupported_schema
// naming tool and parameter; those of the engine.
func Run(ctx context.Context, r Request) (*Result, error) {
	run := &run{Request: r, prober: prober{world: r.World}, began: r.Clock()}
	defer run.close()
	if r.Report == nil {
		run.Report = func(string, int, int) {}
	}
	if err := run.prefix(ctx); err != nil {
		return nil, err
	}
	if err := run.learn(ctx); err != nil {
		return nil, err
	}
	start := r.Clock()
	if err := run.evaluate(ctx); err != nil {
		return nil, err
	}
	run.result.Timings.EvaluateMS = ms(r.Clock().Sub(start))
	run.result.Timings.TotalMS = ms(r.Clock().Sub(run.began))
	return &run.result, nil
}

// run is a learning run in progress.
type run struct {
	Request
	prober
	began    time.Time
	state    sealed.State
	requests [][]Vector // of the lessons
	labels   []string
	leftOut  []leftOut // per example
	result   Result
}

func (r *run) close() {
	if r.session != nil {
		r.session.Close()
	}
}

// prefix renders and decodes what the imprint will stand for.
func (r *run) prefix(ctx context.Context) (err error) {
	start := r.Clock()
	if r.messages, err = Contract(r.Set, r.Sample.Profile, Shown(r.Sample.Examples)); err != nil {
		return err
	}
	if r.tokens, err = r.World.Renderer.Prefix(r.messages); err != nil {
		return err
	}
	if err := checkPrefix(r.World.Model, r.tokens, r.Set); err != nil {
		return err
	}
	if err := checkGrammar(r.World.Model, r.Set); err != nil {
		return err
	}
	p := r.World.Params
	p.ContextTokens = len(r.tokens) + longestRequest(r.Sample.Examples, r.Sample.Holdout) + turnReserve
	if limit := r.World.Model.Info().ContextLength; p.ContextTokens > limit {
		return fault.New(fault.CodeContextFull, "the prefix takes %d tokens, and the model's context of %d must also hold a request and its reply", len(r.tokens), limit).
			WithHint("learn with fewer tools (--tool, --tool-tag) or fewer examples")
	}
	if r.session, err = r.World.Model.NewSession(ctx, p); err != nil {
		return err
	}
	r.Report("prefix", 0, len(r.tokens)) // the first tokens take a while
	err = r.session.Decode(ctx, inference.Batch{Tokens: r.tokens, Progress: func(done, total int) { r.Report("prefix", done, total) }})
	if err != nil {
		return err
	}
	if r.state, err = r.session.SaveState(ctx); err != nil {
		return err
	}
	r.restore = restoring(r.state)
	r.result.Timings.PrefillMS = ms(r.Clock().Sub(start))
	return nil
}

// learn trains the head on the examples' hidden states, each after a restore, as a chat will see them.
func (r *run) learn(ctx context.Context) error {
	start := r.Clock()
	l := &Learned{Profile: r.Sample.Profile, Examples: r.Sample.Examples}
	if r.Set != nil {
		lessons := r.lessons()
		r.Report("examples", 0, len(lessons))
		for i, e := range lessons {
			if err := r.ask(ctx, e.Prompt); err != nil {
				return err
			}
			r.requests = append(r.requests, Look(r.session.Hidden()))
			r.labels = append(r.labels, e.label())
			r.Report("examples", i+1, len(lessons))
		}
		l.Head = TrainHead(r.requests, r.labels)
		r.leftOut = leaveOneOut(r.Set, r.requests, r.labels, r.Sample.Examples)
		l.Evidence = calibrate(r.leftOut)
	}
	raw, err := l.Encode()
	if err != nil {
		return err
	}
	r.result.Learned = l
	r.result.Content = imprint.Content{
		Identity: r.World.Identity(r.Set, r.tokens, LearnedVersion),
		BakedOn:  r.World.Platform(),
		Tokens:   ids(r.tokens),
		Learned:  raw,
		State:    r.state,
	}
	r.result.Timings.LearnMS = ms(r.Clock().Sub(start))
	return nil
}

// lessons are the examples, and two weaker kinds of teachers in place of requests: for each tool without an example its
// description, and for requests without a tool each fact of the profile, which is what questions about it look like.
func (r *run) lessons() []Example {
	lessons := append([]Example{}, r.Sample.Examples...)
	has := map[string]bool{}
	for _, e := range lessons {
		has[e.label()] = true
	}
	if len(has) == 0 {
		return nil // nothing to tell tools from talk: the model chooses by itself
	}
	for _, t := range r.Set.Tools() {
		if !has[t.Name] && t.Description != "" {
			lessons = append(lessons, Example{Prompt: t.Description, Call: &ExampleCall{ToolName: t.Name}})
		}
	}
	for _, f := range r.Sample.Profile.Facts {
		lessons = append(lessons, Example{Prompt: f})
	}
	return lessons
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
