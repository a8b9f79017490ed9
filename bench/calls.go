package bench

import (
	"context"
	"fmt"
	"time"

	"edge/inference"
	"edge/inference/generate"
	"edge/internal/canon"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// callTokens bounds the tokens of one call.
const callTokens = 128

// calls measures the way from a request to a validated call.
type calls struct {
	*bench
	s       *subject // nil: no prefix with tools
	session inference.Session
	replier *learn.Replier
	asked   []learn.Example
	seen    series
	out     Calls
	cost    time.Duration // of the last round
}

// callsOn takes the longest prefix with tools of up to about 1,000 tokens, or the shortest with tools.
func (b *bench) callsOn(subjects []*subject) *calls {
	c := &calls{bench: b, seen: series{}}
	for _, s := range subjects {
		if s.set != nil && (c.s == nil || len(s.prefix) <= 1100) {
			c.s = s
		}
	}
	if c.s == nil {
		b.leave("calls", "no prefix has tools")
		return c
	}
	for _, t := range corpus()[:c.s.tools] {
		c.asked = append(c.asked, learn.Example{Prompt: t.asked.prompt, Call: &learn.ExampleCall{ToolName: t.name, Arguments: []byte(t.asked.arguments)}})
	}
	c.replier = learn.NewReplier(c.s.world, c.s.set, c.s.learned)
	c.out = Calls{PrefixTokens: len(c.s.prefix), Tools: c.s.tools}
	return c
}

// on is the prefix that calls are measured with; the longest where none has tools.
func (c *calls) on(subjects []*subject) *subject {
	if c.s == nil {
		return subjects[len(subjects)-1]
	}
	return c.s
}

// round asks every request in both ways, the other one first each time.
func (c *calls) round(ctx context.Context, round int) (err error) {
	if c.s == nil || round > 0 && !c.fits(c.cost) {
		return nil
	}
	start := c.Clock()
	c.Progress(fmt.Sprintf("calls, run %d of %d: %d requests in both ways", round+1, c.Runs, len(c.asked)))
	if c.session, err = c.s.session(ctx); err != nil {
		return err
	}
	defer c.session.Close()
	for i, e := range c.asked {
		if i > 0 && !c.fits(c.Clock().Sub(start)/time.Duration(i)) {
			c.leave("calls", "%d of %d requests were asked, no time was left", i, len(c.asked))
			c.asked = c.asked[:i]
			break
		}
		ways := []func(context.Context, learn.Example, bool) error{c.validated, c.plain}
		for j := range ways {
			if err := ways[(i+j+round)%2](ctx, e, round == 0); err != nil {
				return fmt.Errorf("the call for %q: %w", e.Prompt, err)
			}
		}
	}
	if c.fits(c.s.lastCost["process_ttft_ms"]) {
		if err := c.process(ctx, round); err != nil {
			return err
		}
	}
	c.cost = c.Clock().Sub(start)
	return nil
}

// validated is edge's way: the head chooses the tool in the very pass that reads the request, and what is certain of the
// call is given in batches.
func (c *calls) validated(ctx context.Context, e learn.Example, count bool) error {
	if err := c.s.stand(ctx, c.session); err != nil {
		return err
	}
	var written generate.Result
	var call *tools.Call
	t, err := c.timed(func() error {
		tokens, err := c.s.ask(e.Prompt)
		if err != nil {
			return err
		}
		if err := c.session.Decode(ctx, inference.Batch{Tokens: tokens, Hidden: true}); err != nil {
			return err
		}
		plan := c.replier.Plan(e.Prompt, c.session.Hidden())
		written, err = c.replier.Write(ctx, c.session, plan, learn.Drawing{MaxTokens: callTokens})
		if err == nil && plan.AllowsCall() {
			call = c.check(written.Text)
		}
		return err
	})
	if err != nil && !fault.Is(err, fault.CodeInvalidToolCall) {
		return err
	}
	c.seen.add("validated_call_ms", t)
	if count {
		one := OneCall{Prompt: e.Prompt, MS: rounded(t), Drawn: written.Drawn, Forced: written.Forced}
		one.Valid, one.Right = judge(call, e)
		c.out.Each = append(c.out.Each, one)
		c.out.TokensDecoded += written.Drawn
		c.out.TokensForced += written.Forced
		tally(one.Valid, one.Right, &c.out.Valid, &c.out.Right)
	}
	return nil
}

// plain draws every token of the call under the grammar of all tools.
func (c *calls) plain(ctx context.Context, e learn.Example, count bool) error {
	if err := c.s.stand(ctx, c.session); err != nil {
		return err
	}
	var written generate.Result
	var call *tools.Call
	t, err := c.timed(func() error {
		tokens, err := c.s.ask(e.Prompt)
		if err != nil {
			return err
		}
		if err := c.session.Decode(ctx, inference.Batch{Tokens: tokens}); err != nil {
			return err
		}
		text, err := c.s.set.Grammar(tools.GrammarOptions{AllowCall: true})
		if err != nil {
			return err
		}
		grammar, err := c.s.world.Model.NewGrammar(text)
		if err != nil {
			return err
		}
		defer grammar.Close()
		written, err = generate.Text(ctx, c.s.world.Model, c.session, generate.Options{Grammar: grammar, MaxTokens: callTokens})
		call = c.check(written.Text)
		return err
	})
	if err != nil && !fault.Is(err, fault.CodeInvalidToolCall) {
		return err
	}
	c.seen.add("plain_ms", t)
	if count {
		c.out.PlainDecoded += written.Drawn
		valid, right := judge(call, e)
		tally(valid, right, &c.out.PlainValid, &c.out.PlainRight)
	}
	return nil
}

// check parses and validates a reply as a chat does; nil where it is no valid call.
func (c *calls) check(text string) *tools.Call {
	reply, err := tools.ParseReply(text)
	if err != nil || reply.Call == nil || c.s.set.Validate(*reply.Call) != nil {
		return nil
	}
	return reply.Call
}

// judge says whether there is a valid call, and whether it is exactly the one that was meant.
func judge(got *tools.Call, want learn.Example) (valid, right bool) {
	if got == nil {
		return false, false
	}
	arguments, err := canon.Transform(want.Call.Arguments)
	return true, err == nil && got.ToolName == want.Call.ToolName && string(got.Arguments) == string(arguments)
}

func tally(valid, right bool, valids, rights *int) {
	if valid {
		*valids++
	}
	if right {
		*rights++
	}
}

// process starts edge with the imprint and a request for a tool, which really runs.
func (c *calls) process(ctx context.Context, round int) error {
	if c.Edge == nil || c.s.file == "" {
		return nil
	}
	child, err := c.Edge(ctx, c.s.chat(c.asked[round%len(c.asked)].Prompt, "24")...)
	if err != nil {
		return err
	}
	exec := 0.0
	if m := c.execMS.median(); m != nil {
		exec = *m
	}
	if child.Chat.Timings.CallMS > 0 {
		c.seen.add("process_call_ms", exec+child.Chat.Timings.CallMS)
	}
	c.seen.add("process_answer_ms", exec+child.Chat.Timings.TotalMS)
	return nil
}

// result is nil where nothing could be called.
func (c *calls) result() *Calls {
	if c.s == nil {
		return nil
	}
	r := c.out
	r.Requests = len(c.asked)
	r.ValidatedCall, r.Plain = c.seen["validated_call_ms"].median(), c.seen["plain_ms"].median()
	r.ProcessCall, r.ProcessAnswer = c.seen["process_call_ms"].median(), c.seen["process_answer_ms"].median()
	r.Ratio, r.Spread = ratio(r.Plain, r.ValidatedCall), c.seen.spread()
	return &r
}
