package learn

import (
	"context"
	"time"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
	"edge/tools"
)

// Request is one learning run.
type Request struct {
	World  World
	Set    *tools.ActiveSet // nil: a profile alone
	Sample *Sample
	Store  *imprint.Store // where layers may be that needn't be computed again; nil: nowhere
	Clock  func() time.Time
	Report Reporter // may be nil
}

// Reporter hears how a run goes on. Stage is "prefix", "quality" (only where the cache has less than 16 bits), "examples"
// or "evaluation"; done and total count tokens in the first two and requests in the others.
type Reporter func(stage string, done, total int)

// Result is a learning run's outcome: what to write, and what to say of it.
type Result struct {
	Content    imprint.Content
	Layers     []Layer
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
	began   time.Time
	state   sealed.State
	leftOut []leftOut // per example
	result  Result
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
	if err := r.bake(ctx); err != nil {
		return err
	}
	r.restore = restoring(r.state)
	r.result.Timings.PrefillMS = ms(r.Clock().Sub(start))
	return r.quality(ctx)
}

// learn trains the head on the examples' hidden states, each after a restore, as a chat will see them.
func (r *run) learn(ctx context.Context) error {
	start := r.Clock()
	l := &Learned{Profile: r.Sample.Profile, Examples: r.Sample.Examples}
	if r.Set != nil {
		looked, total := 0, len(teachersFrom(r.Set, r.Sample))
		r.Report("examples", 0, total)
		var err error
		l, r.leftOut, err = teach(r.Set, r.Sample, func(text string) ([]Vector, error) {
			if err := r.ask(ctx, text); err != nil {
				return nil, err
			}
			looked++
			r.Report("examples", looked, total)
			return Look(r.session.Hidden()), nil
		})
		if err != nil {
			return err
		}
	}
	raw, err := l.Encode()
	if err != nil {
		return err
	}
	r.result.Learned = l
	c := &r.result.Content
	c.Identity, c.BakedOn = r.World.Identity(r.Set, r.tokens, LearnedVersion), r.World.Platform()
	c.Tokens, c.Learned, c.State = ids(r.tokens), raw, r.state
	r.result.Timings.LearnMS = ms(r.Clock().Sub(start))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
