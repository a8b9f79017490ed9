package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"edge/imprint"
	"edge/internal/fault"
)

// kind is one way to come to the first token.
type kind struct {
	name string // of the figure that it makes
	run  func(context.Context, *subject) error
}

// manyTokens take so long to read, a minute or more, that two runs tell enough.
const manyTokens = 2048

// round runs each kind once, beginning with another one each time.
func (b *bench) round(ctx context.Context, s *subject, round int) error {
	kinds := []kind{{"restored_ttft_ms", b.restored}, {"suffix_only_ms", b.suffixOnly}, {"process_ttft_ms", b.process}, {"cold_ttft_ms", b.cold}}
	for i := range kinds {
		k := kinds[(i+round)%len(kinds)]
		if k.name == "cold_ttft_ms" && round == 0 || k.name == "process_ttft_ms" && b.Edge == nil {
			continue // it was baked just now
		}
		// What can be left out is; the spread says how many runs there were.
		if round > 0 && !b.fits(s.lastCost[k.name]) || k.name == "cold_ttft_ms" && round > 1 && len(s.prefix) > manyTokens {
			continue
		}
		b.Progress(fmt.Sprintf("prefix of %d tokens, run %d of %d: %s", len(s.prefix), round+1, b.Runs, k.name))
		start := b.Clock()
		if err := k.run(ctx, s); err != nil {
			return fmt.Errorf("%s with a prefix of %d tokens: %w", k.name, len(s.prefix), err)
		}
		s.lastCost[k.name] = b.Clock().Sub(start)
	}
	return nil
}

// cold decodes prefix and question.
func (b *bench) cold(ctx context.Context, s *subject) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	t, err := b.timed(func() error {
		if err := session.Decode(ctx, batch(s.prefix)); err != nil {
			return err
		}
		return s.first(ctx, session)
	})
	s.seen.add("cold_ttft_ms", t)
	return err
}

// restored opens, verifies and restores the imprint, and decodes the question.
func (b *bench) restored(ctx context.Context, s *subject) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	var verify, restore time.Duration
	t, err := b.timed(func() error {
		u, err := imprint.Open(s.path)
		if err != nil {
			return err
		}
		defer u.Close()
		start := b.Clock()
		v, err := u.Verify(ctx, s.identity())
		if err != nil {
			return err
		}
		verify = b.Clock().Sub(start)
		done, err := v.Restore(ctx, session)
		if err != nil {
			return err
		}
		restore, s.out.BytesRead = done.Duration, v.Trail().BytesRead
		return s.first(ctx, session)
	})
	if err != nil {
		return err
	}
	if s.out.WarmDecoded = session.Decoded(); s.out.WarmDecoded != len(s.suffix) {
		return fault.New(fault.CodeEngineRestoreFailed, "after a restore of %d tokens %d were decoded, and the question has %d", len(s.prefix), s.out.WarmDecoded, len(s.suffix))
	}
	s.seen.add("restored_ttft_ms", t)
	s.seen.add("verify_ms", ms(verify))
	s.seen.add("restore_ms", ms(restore))
	s.seen.add("verify_gb_per_s", rate(s.out.BytesRead, verify))
	s.seen.add("restore_gb_per_s", rate(s.out.StateBytes, restore))
	return nil
}

// rate is in 10⁹ bytes per second.
func rate(bytes int64, d time.Duration) float64 {
	return float64(bytes) / float64(max(d.Nanoseconds(), 1))
}

// suffixOnly decodes the question where the prefix is in the session already.
func (b *bench) suffixOnly(ctx context.Context, s *subject) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := s.stand(ctx, session); err != nil {
		return err
	}
	t, err := b.timed(func() error { return s.first(ctx, session) })
	s.seen.add("suffix_only_ms", t)
	return err
}

// process starts edge with the imprint and the question.
func (b *bench) process(ctx context.Context, s *subject) error {
	if err := b.measureExec(ctx); err != nil {
		return err
	}
	if !b.warm { // the first one digests the model, which later ones needn't
		if _, err := b.Edge(ctx, s.chat(question, "1")...); err != nil {
			return err
		}
		b.warm = true
	}
	c, err := b.Edge(ctx, s.chat(question, "1")...)
	if err != nil {
		return err
	}
	if c.Chat.Usage.Cached() != len(s.prefix) {
		return fault.New(fault.CodeEngineRestoreFailed, "the chat had %d tokens from the imprint, and the prefix has %d", c.Chat.Usage.Cached(), len(s.prefix))
	}
	if c.PeakMemory > 0 {
		s.out.PeakMemory = &c.PeakMemory
	}
	exec := *b.execMS.median()
	s.seen.add("process_exec_ms", exec)
	s.seen.add("process_ttft_ms", exec+c.Chat.Timings.TTFTMS)
	s.seen.add("process_load_ms", c.Chat.Timings.LoadMS)
	s.seen.add("process_wall_ms", c.WallMS)
	return nil
}

// chat is the command line of a chat with the imprint.
func (s *subject) chat(prompt, maxTokens string) []string {
	args := []string{
		"demo", "chat", "--json", "--model", s.world.File.Path, "--threads", strconv.Itoa(s.world.Params.Threads), "--kv", s.world.Params.KVTypeK,
		"--with-imprint", s.path, "--prompt", prompt, "--max-tokens", maxTokens,
	}
	if s.file != "" {
		args = append(args, "--tools", s.file)
	}
	return args
}

// result is what the runs came to.
func (s *subject) result() Case {
	c := s.out
	c.ColdTTFT, c.RestoredTTFT, c.SuffixOnly = s.seen["cold_ttft_ms"].median(), s.seen["restored_ttft_ms"].median(), s.seen["suffix_only_ms"].median()
	c.Verify, c.Restore = s.seen["verify_ms"].median(), s.seen["restore_ms"].median()
	c.VerifyRate, c.RestoreRate = s.seen["verify_gb_per_s"].median(), s.seen["restore_gb_per_s"].median()
	c.ProcessTTFT, c.ProcessExec = s.seen["process_ttft_ms"].median(), s.seen["process_exec_ms"].median()
	c.ProcessWall, c.ProcessLoad = s.seen["process_wall_ms"].median(), s.seen["process_load_ms"].median()
	c.ColdRatio, c.FloorRatio = ratio(c.ColdTTFT, c.RestoredTTFT), ratio(c.RestoredTTFT, c.SuffixOnly)
	c.Spread = s.seen.spread()
	return c
}

// measureExec adds what a process takes before its own clock starts: an edge that only says its version.
func (b *bench) measureExec(ctx context.Context) error {
	c, err := b.Edge(ctx, "version", "--json")
	if err != nil {
		return err
	}
	b.execMS.add(c.WallMS)
	return nil
}
