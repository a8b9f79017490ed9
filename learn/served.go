package learn

import (
	"context"
	"encoding/json"
	"strings"

	"edge/inference"
	"edge/inference/generate"
	"edge/internal/sealed"
	"edge/tools"
)

// served has a server write a reply by the plan. A call that is certain is not asked for; what isn't certain is held to a
// schema, or to the grammar where the server takes one. Words come freely. Whatever comes is validated as ever.
func (r *Replier) served(ctx context.Context, w inference.Writer, p Plan, d Drawing) (generate.Result, error) {
	if json.Valid([]byte(p.forced)) {
		return r.certain(ctx, w, p.forced, d)
	}
	a := inference.Ask{MaxTokens: d.MaxTokens, Temperature: d.Temperature, OnText: d.OnText, First: d.First, Stop: d.Stop}
	if d.Temperature > 0 && d.Random != nil {
		a.Seed = d.Random.Uint64()
	}
	can := r.world.Model.Info().Can
	switch {
	case !p.AllowsCall() && (r.set == nil || can.Grammar):
		return r.words(ctx, w, a, can)
	case !p.AllowsCall():
		return r.unwrapped(ctx, w, a)
	case !p.grammar.AllowAnswer || can.Grammar:
		return r.held(ctx, w, *p.grammar, a, can)
	}
	return r.either(ctx, w, *p.grammar, a, can)
}

// certain gives a reply that leaves nothing to choose.
func (r *Replier) certain(ctx context.Context, w inference.Writer, text string, d Drawing) (generate.Result, error) {
	tokens, err := r.world.Model.Tokenize(text, false)
	if err != nil {
		return generate.Result{}, err
	}
	if d.First != nil {
		d.First()
	}
	if d.OnText != nil {
		d.OnText(text)
	}
	x := w.Served()
	return generate.Result{Text: text, Ended: true, Exchange: &x}, w.Decode(ctx, inference.Batch{Tokens: tokens})
}

// words asks for an answer. Without tools there is nothing that it could be taken for.
func (r *Replier) words(ctx context.Context, w inference.Writer, a inference.Ask, can inference.Capabilities) (_ generate.Result, err error) {
	if r.set != nil && can.Grammar {
		if a.Grammar, err = r.set.Grammar(tools.GrammarOptions{AllowAnswer: true}); err != nil {
			return generate.Result{}, err
		}
	}
	return write(ctx, w, a)
}

// unwrapped asks for an answer where no grammar keeps the model from writing a call: one that begins like a call is asked
// for again as a text within an object, and taken out of it.
func (r *Replier) unwrapped(ctx context.Context, w inference.Writer, a inference.Ask) (generate.Result, error) {
	out, state, again, err := begin(ctx, w, a)
	if err != nil || !again {
		return out, err
	}
	passed := a.OnText
	a.Schema, a.First, a.OnText = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`), nil, nil
	wrapped, err := write(ctx, w, a)
	if err != nil {
		return wrapped, err
	}
	x := out.Exchange.Add(*wrapped.Exchange)
	wrapped.Exchange, wrapped.Drawn = &x, wrapped.Drawn+out.Drawn
	var said struct {
		Answer string `json:"answer"`
	}
	if json.Unmarshal([]byte(wrapped.Text), &said) != nil { // it was cut off
		said.Answer = ""
	}
	wrapped.Text = strings.TrimLeft(strings.ReplaceAll(said.Answer, "\x00", ""), "{ \t\r\n")
	if passed != nil {
		passed(wrapped.Text)
	}
	return wrapped, r.replace(ctx, w, state, wrapped.Text)
}

// replace puts words in the place of what the model wrote.
func (r *Replier) replace(ctx context.Context, w inference.Writer, before sealed.State, text string) error {
	if err := w.Reset(ctx); err != nil {
		return err
	}
	if err := w.RestoreState(ctx, before); err != nil || text == "" {
		return err
	}
	tokens, err := r.world.Model.Tokenize(text, false)
	if err != nil {
		return err
	}
	return w.Decode(ctx, inference.Batch{Tokens: tokens})
}

// begin lets the model begin freely. again says that it began a call: then what it wrote is taken back, and the caller asks
// another way.
func begin(ctx context.Context, w inference.Writer, a inference.Ask) (out generate.Result, before sealed.State, again bool, err error) {
	if before, err = w.SaveState(ctx); err != nil {
		return out, before, false, err
	}
	var began strings.Builder
	calls := func() bool { return strings.HasPrefix(strings.TrimSpace(began.String()), "{") }
	free, stopped := a, false
	free.OnText = func(text string) {
		began.WriteString(text)
		if !calls() && a.OnText != nil {
			a.OnText(text)
		}
	}
	free.Stop = func() bool {
		stopped = stopped || a.Stop != nil && a.Stop()
		return stopped || calls()
	}
	if out, err = write(ctx, w, free); err != nil || stopped || !calls() {
		return out, before, false, err
	}
	if err = w.Reset(ctx); err == nil {
		err = w.RestoreState(ctx, before)
	}
	return out, before, true, err
}

// held asks for a reply that the options admit, and nothing else.
func (r *Replier) held(ctx context.Context, w inference.Writer, o tools.GrammarOptions, a inference.Ask, can inference.Capabilities) (_ generate.Result, err error) {
	if can.Grammar {
		a.Grammar, err = r.set.Grammar(o)
	} else {
		a.Schema, err = r.set.CallSchema(o)
	}
	if err != nil {
		return generate.Result{}, err
	}
	return write(ctx, w, a)
}

// either lets the model begin freely, since no schema admits both words and a call; where it begins a call, that is asked
// for again, held to the schema.
func (r *Replier) either(ctx context.Context, w inference.Writer, o tools.GrammarOptions, a inference.Ask, can inference.Capabilities) (generate.Result, error) {
	out, _, again, err := begin(ctx, w, a)
	if err != nil || !again {
		return out, err
	}
	o.AllowAnswer = false
	a.First = nil // it was there
	call, err := r.held(ctx, w, o, a, can)
	if err != nil {
		return call, err
	}
	x := out.Exchange.Add(*call.Exchange)
	call.Exchange, call.Drawn = &x, call.Drawn+out.Drawn
	return call, nil
}

func write(ctx context.Context, w inference.Writer, a inference.Ask) (generate.Result, error) {
	out, err := w.Write(ctx, a)
	return generate.Result{Text: out.Text, Drawn: out.Exchange.GeneratedTokens, Ended: out.Ended, Stopped: out.Stopped, Exchange: &out.Exchange}, err
}
