package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/sealed"
	"edge/learn"
	"edge/tools"
)

// subject is one prefix with its imprint, ready to be measured.
type subject struct {
	world    learn.World
	tools    int
	file     string // the tools file; empty without tools
	set      *tools.ActiveSet
	learned  *learn.Learned
	messages []chattemplate.Message
	prefix   []inference.Token
	suffix   []inference.Token
	state    sealed.State
	path     string // the imprint

	seen     series
	out      Case
	lastCost map[string]time.Duration // of each kind's last run
}

// room is how many positions a request and its reply get.
const room = 256

// prepareAll makes the subjects, by the length of their prefixes. Those that don't fit the model's context are left out,
// and so are those that don't fit the budget, but for one that has tools.
func (b *bench) prepareAll(ctx context.Context, prefixes []int) ([]*subject, error) {
	if err := b.probe(ctx); err != nil {
		return nil, err
	}
	targets := slices.Sorted(slices.Values(prefixes))
	if i := slices.IndexFunc(targets, func(n int) bool { return b.toolsFor(n) > 0 }); b.Budget > 0 && i > 0 {
		targets = slices.Concat(targets[i:i+1], targets[:i], targets[i+1:]) // while there is time
	}
	var list []*subject
	for _, target := range targets {
		what := fmt.Sprintf("cases: prefix of %d tokens", target)
		limit := b.World.Model.Info().ContextLength - room
		if target > limit {
			if last := slices.Max(append(lengths(list), 0)); last < limit-limit/8 {
				b.leave(what, "%d tokens instead: the model's context holds %d", limit, b.World.Model.Info().ContextLength)
				target = limit
			} else {
				b.leave(what, "the model's context holds %d", b.World.Model.Info().ContextLength)
				continue
			}
		}
		// A share of the time is for the prefix, so that there is some to measure it.
		make, cost := b.fitting, time.Duration(target+20*2*(b.toolsFor(target)+1))*b.perTok
		if left := b.Budget - b.elapsed(); b.Budget > 0 && cost > left/4+left/12*time.Duration(min(len(list), 1)) {
			b.leave(what, "reading it would take %.0f of the %.0f s that were left", cost.Seconds(), left.Seconds())
			if len(list) > 0 {
				continue
			}
			make = func(ctx context.Context, _ int) (*subject, error) { return b.subject(ctx, 1, 0) }
		}
		s, err := make(ctx, target)
		if err != nil {
			return nil, err
		}
		b.Progress(fmt.Sprintf("prefix of %d tokens, %d tools: reading it once", len(s.prefix), s.tools))
		if err := b.bake(ctx, s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y *subject) int { return len(x.prefix) - len(y.prefix) })
	return list, nil
}

func lengths(list []*subject) (n []int) {
	for _, s := range list {
		n = append(n, len(s.prefix))
	}
	return n
}

// probe finds out roughly how fast this machine reads right now, and touches the weights.
func (b *bench) probe(ctx context.Context) error {
	p := b.World.Params
	p.ContextTokens = room
	session, err := b.World.Model.NewSession(ctx, p)
	if err != nil {
		return err
	}
	defer session.Close()
	some := make([]inference.Token, 32)
	if err := session.Decode(ctx, batch(some)); err != nil {
		return err
	}
	took, err := b.timed(func() error { return session.Decode(ctx, batch(some)) })
	b.perTok = time.Duration(took * float64(time.Millisecond) / float64(len(some)))
	return err
}

// toolsFor is how many tools a prefix of that length has; few where there is little time, since learning them takes most.
func (b *bench) toolsFor(target int) int {
	most := maxTools
	if b.Budget > 0 {
		most = 2
	}
	for _, step := range [][2]int{{192, 0}, {384, 1}, {768, 2}, {1536, 4}} {
		if target <= step[0] {
			return min(step[1], most)
		}
	}
	return most
}

// fitting makes a subject whose prefix is as long as the target, or a little shorter; with fewer tools where these alone
// are longer.
func (b *bench) fitting(ctx context.Context, target int) (*subject, error) {
	for count := b.toolsFor(target); ; count-- {
		s, err := b.subject(ctx, count, 0)
		if err != nil || count == 0 && len(s.prefix) >= target {
			return s, err
		}
		if len(s.prefix) > target {
			continue
		}
		bare, words := len(s.prefix), target-len(s.prefix)
		for range 8 {
			if s, err = b.subject(ctx, count, words); err != nil || len(s.prefix) <= target && len(s.prefix) >= target-2 {
				return s, err
			}
			if len(s.prefix) == bare {
				return s, nil
			}
			next := words * (target - bare) / (len(s.prefix) - bare)
			if next == words {
				next += (target - len(s.prefix)) / 2
			}
			words = max(next, 0)
		}
		for len(s.prefix) > target && words > 0 {
			words--
			if s, err = b.subject(ctx, count, words); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
}

// subject renders a prefix; nothing is decoded yet.
func (b *bench) subject(ctx context.Context, count, words int) (s *subject, err error) {
	s = &subject{world: b.World, tools: count, seen: series{}, lastCost: map[string]time.Duration{}}
	if count > 0 {
		if s.file, s.set, err = b.frozen(ctx, count); err != nil {
			return nil, err
		}
	}
	smp := sample(count, words)
	s.learned = &learn.Learned{Profile: smp.Profile, Examples: smp.Examples}
	if s.messages, err = learn.Contract(s.set, smp.Profile, learn.Shown(smp.Examples)); err != nil {
		return nil, err
	}
	if s.prefix, err = s.world.Renderer.Prefix(s.messages); err != nil {
		return nil, err
	}
	s.suffix, err = s.ask(question)
	s.out = Case{PrefixTokens: len(s.prefix), SuffixTokens: len(s.suffix), Tools: count}
	return s, err
}

// frozen writes and freezes the tools file of so many tools.
func (b *bench) frozen(ctx context.Context, count int) (string, *tools.ActiveSet, error) {
	path := filepath.Join(b.Dir, fmt.Sprintf("tools-%d.py", count))
	if err := os.WriteFile(path, []byte(toolsFile(count)), 0o600); err != nil {
		return "", nil, err
	}
	if b.sets[count] == nil {
		set, err := b.Freeze(ctx, path)
		if err != nil {
			return "", nil, err
		}
		b.sets[count] = set
	}
	return path, b.sets[count], nil
}

// ask gives the tokens of a request behind the prefix.
func (s *subject) ask(request string) ([]inference.Token, error) {
	return s.world.Suffix(append(s.messages[:len(s.messages):len(s.messages)], chattemplate.Message{Role: chattemplate.User, Content: request}), s.prefix)
}

// session makes one with room for the prefix and a turn.
func (s *subject) session(ctx context.Context) (inference.Session, error) {
	p := s.world.Params
	p.ContextTokens = min(len(s.prefix)+room, s.world.Model.Info().ContextLength)
	return s.world.Model.NewSession(ctx, p)
}

// bake decodes the prefix, which is the first of the cold runs, learns, and writes the imprint.
func (b *bench) bake(ctx context.Context, s *subject) error {
	session, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	cut, names, err := s.layers()
	if err != nil {
		return err
	}
	// The state is saved between prefix and question, and at the layers' border; that isn't counted.
	var took float64
	for _, part := range [][]inference.Token{s.prefix[:cut], s.prefix[cut:]} {
		if len(part) == 0 {
			continue
		}
		from := session.Position()
		t, err := b.timed(func() error { return session.Decode(ctx, inference.Batch{Tokens: part}) })
		if err != nil {
			return err
		}
		took += t
		layer, err := session.SaveLayer(ctx, from)
		if err != nil {
			return err
		}
		s.state = s.state.Then(layer)
	}
	b.perTok = time.Duration(took * float64(time.Millisecond) / float64(len(s.prefix)))
	t, err := b.timed(func() error { return s.first(ctx, session) })
	if err != nil {
		return err
	}
	s.seen.add("cold_ttft_ms", took+t)
	s.lastCost["cold_ttft_ms"] = time.Duration((took + t) * float64(time.Millisecond))
	s.out.ColdDecoded, s.out.StateBytes = session.Decoded(), s.state.Size()
	return b.write(ctx, s, session, names)
}

// layers says where the contract's layer ends and the examples' begins, as learning does.
func (s *subject) layers() (cut int, names []string, err error) {
	contract, err := learn.Contract(s.set, s.learned.Profile, nil)
	if err != nil {
		return 0, nil, err
	}
	bare, err := s.world.Renderer.Prefix(contract)
	if err != nil {
		return 0, nil, err
	}
	for cut < min(len(bare), len(s.prefix)) && bare[cut] == s.prefix[cut] {
		cut++
	}
	if !s.world.Model.Info().Layered() || cut == len(s.prefix) || cut == 0 {
		return len(s.prefix), []string{imprint.LayerPrefix}, nil
	}
	return cut, []string{learn.LayerContract, learn.LayerExamples}, nil
}

// write learns from the examples, each behind the restored prefix, and writes the imprint.
func (b *bench) write(ctx context.Context, s *subject, session inference.Session, names []string) error {
	if s.set != nil {
		var err error
		s.learned, err = learn.Teach(s.set, &learn.Sample{Profile: s.learned.Profile, Examples: s.learned.Examples}, func(text string) ([]learn.Vector, error) {
			tokens, err := s.ask(text)
			if err != nil {
				return nil, err
			}
			if err := s.stand(ctx, session); err != nil {
				return nil, err
			}
			if err := session.Decode(ctx, inference.Batch{Tokens: tokens, Hidden: true}); err != nil {
				return nil, err
			}
			return learn.Look(session.Hidden()), nil
		})
		if err != nil {
			return err
		}
	}
	raw, err := s.learned.Encode()
	if err != nil {
		return err
	}
	ids := make([]uint32, len(s.prefix))
	for i, t := range s.prefix {
		ids[i] = uint32(t)
	}
	s.path = filepath.Join(b.Dir, fmt.Sprintf("%d-%d-%s.imprint", s.tools, len(ids), s.world.Params.KVTypeK))
	_, err = imprint.Write(ctx, s.path, imprint.Content{
		Identity: s.identity(), BakedOn: s.world.Platform(), Tokens: ids, Learned: raw, State: s.state, Layers: names,
	})
	return err
}

func (s *subject) identity() imprint.Identity {
	return s.world.Identity(s.set, s.prefix, learn.LearnedVersion)
}

// stand brings a session to the end of the prefix without decoding.
func (s *subject) stand(ctx context.Context, session inference.Session) error {
	if err := session.Reset(ctx); err != nil {
		return err
	}
	return session.RestoreState(ctx, s.state)
}

// first decodes the question and draws the first token of the reply.
func (s *subject) first(ctx context.Context, session inference.Session) error {
	if err := session.Decode(ctx, inference.Batch{Tokens: s.suffix, Hidden: s.set != nil}); err != nil {
		return err
	}
	if most(session.Logits()) < 0 {
		return fmt.Errorf("bench: no logits after %d tokens", session.Position())
	}
	return nil
}

// most is the likeliest token; −1 without any.
func most(logits []float32) int {
	best := -1
	for i, l := range logits {
		if best < 0 || l > logits[best] {
			best = i
		}
	}
	return best
}
