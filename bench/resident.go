package bench

import (
	"context"
	"fmt"

	"edge/internal/fault"
)

// resident measures chats that an engine answers which keeps model and imprint loaded, alternating with the question
// alone where the prefix is in a session of this process.
func (b *bench) resident(ctx context.Context, s *subject) (_ *Resident, err error) {
	if b.Serve == nil || b.Edge == nil {
		b.leave("resident", "edge wasn't started as a process of its own")
		return nil, nil
	}
	if !b.fits(6 * s.lastCost["process_ttft_ms"]) {
		b.leave("resident", "no time was left")
		return nil, nil
	}
	b.Progress("resident engine: starting it")
	stop, err := b.Serve(ctx)
	if err != nil {
		return nil, fmt.Errorf("start edge serve: %w", err)
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	if _, err := b.Edge(ctx, s.chat(question, "1")...); err != nil { // loads the model there
		return nil, err
	}
	seen, alone := series{}, s.seen["suffix_only_ms"]
	s.seen["suffix_only_ms"] = &samples{}
	for round := range b.Runs {
		start := b.Clock()
		b.Progress(fmt.Sprintf("resident engine, run %d of %d", round+1, b.Runs))
		for i := range 2 {
			if (i+round)%2 == 0 {
				err = b.suffixOnly(ctx, s)
			} else {
				err = b.served(ctx, s, seen)
			}
			if err != nil {
				return nil, err
			}
		}
		if !b.fits(b.Clock().Sub(start)) {
			break
		}
	}
	seen["suffix_only_ms"] = s.seen["suffix_only_ms"]
	s.seen["suffix_only_ms"] = alone
	r := &Resident{
		PrefixTokens: len(s.prefix), Tools: s.tools, TTFT: seen["ttft_ms"].median(), Engine: seen["engine_ms"].median(), Wall: seen["wall_ms"].median(),
		Restore: seen["restore_ms"].median(), SuffixOnly: seen["suffix_only_ms"].median(), Spread: seen.spread(),
	}
	r.Ratio, r.EngineRatio = ratio(r.TTFT, r.SuffixOnly), ratio(r.Engine, r.SuffixOnly)
	return r, nil
}

func (b *bench) served(ctx context.Context, s *subject, seen series) error {
	c, err := b.Edge(ctx, s.chat(question, "1")...)
	if err != nil {
		return err
	}
	if !c.Served {
		return fault.New(fault.CodeInternal, "edge serve was started, and the chat computed by itself")
	}
	exec, restore := 0.0, 0.0
	if m := b.execMS.median(); m != nil {
		exec = *m
	}
	if i := c.Chat.Imprint; i != nil {
		restore = i.VerifyMS + i.RestoreMS
	}
	seen.add("ttft_ms", exec+c.Chat.Timings.TTFTMS)
	seen.add("engine_ms", restore+c.Chat.Timings.PrefillMS)
	seen.add("restore_ms", restore)
	seen.add("wall_ms", c.WallMS)
	return nil
}
