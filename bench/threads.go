package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"edge/inference"
	"edge/internal/cores"
)

const (
	decodeTokens = 24
	longest      = 3 * time.Second // of writing: threads that wait for each other can take minutes
)

// prefillTokens are read at once.
func (b *bench) prefillTokens() int {
	if b.Brief {
		return 64
	}
	return 256
}

// threads measures each number of threads and what edge does by itself, with the machine as it is and with one core taken.
func (b *bench) threads(ctx context.Context, s *subject) ([]ThreadSpeed, error) {
	list := []ThreadSpeed{}
	for _, busy := range []bool{false, true} {
		for _, n := range append(slices.Clone(b.Threads), chosen) {
			what := fmt.Sprintf("threads: %d", n)
			if n == chosen {
				what = "threads: as edge chooses"
			}
			if busy {
				what += ", one core taken"
			}
			if busy && b.Busy == nil {
				b.leave(what, "edge wasn't started as a process of its own")
				continue
			}
			if !b.fits(time.Duration(b.prefillTokens()+4*decodeTokens)*b.perTok + b.Settle) {
				b.leave(what, "no time was left")
				continue
			}
			b.Progress(what)
			t, err := b.speed(ctx, s, n, busy)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// chosen stands for the number of threads that edge chooses and adapts.
const chosen = 0

func (b *bench) speed(ctx context.Context, s *subject, n int, busy bool) (t ThreadSpeed, err error) {
	p, reading := s.world.Params, b.prefillTokens()
	p.Threads, p.Adapt, p.ContextTokens = n, n == chosen, reading+decodeTokens+1
	if n == chosen {
		p.Threads = cores.Physical()
	}
	t = ThreadSpeed{Threads: p.Threads, Chosen: p.Adapt, Busy: busy}
	session, err := s.world.Model.NewSession(ctx, p)
	if err != nil {
		return t, err
	}
	defer session.Close()
	if busy {
		release, err := b.Busy(ctx)
		if err != nil {
			return t, err
		}
		defer release()
	}
	tokens := make([]inference.Token, reading+1)
	for i := range tokens {
		tokens[i] = s.prefix[i%len(s.prefix)]
	}
	if err := session.Decode(ctx, batch(tokens[:1])); err != nil { // touches the weights
		return t, err
	}
	time.Sleep(b.Settle)
	took, err := b.timed(func() error { return session.Decode(ctx, batch(tokens[1:])) })
	if err != nil {
		return t, err
	}
	t.Prefill = rounded(float64(reading) / took * 1000)
	start, done := b.Clock(), 0
	for done < decodeTokens && b.Clock().Sub(start) < longest {
		if err := session.Decode(ctx, batch(tokens[done:done+1])); err != nil {
			return t, err
		}
		done++
	}
	t.Decode = rounded(float64(done) / ms(b.Clock().Sub(start)) * 1000)
	return t, nil
}

func batch(tokens []inference.Token) inference.Batch { return inference.Batch{Tokens: tokens} }

// Spin keeps one core busy until in ends.
func Spin(in io.Reader) {
	var over atomic.Bool
	go func() {
		io.Copy(io.Discard, in) // whatever ends it
		over.Store(true)
	}()
	for !over.Load() {
	}
}

// ThreadCounts are those that are measured on so many cores: powers of two, and all.
func ThreadCounts(cores int) []int {
	var list []int
	for n := 1; n < cores; n *= 2 {
		list = append(list, n)
	}
	return append(list, cores)
}
