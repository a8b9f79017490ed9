package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"edge/inference"
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

// threads measures each number of threads, with the machine as it is and with one core taken.
func (b *bench) threads(ctx context.Context, s *subject) ([]ThreadSpeed, error) {
	list := []ThreadSpeed{}
	for _, busy := range []bool{false, true} {
		for _, n := range b.Threads {
			what := fmt.Sprintf("threads: %d%s", n, map[bool]string{true: ", one core taken"}[busy])
			if !b.fits(time.Duration(b.prefillTokens()+4*decodeTokens) * b.perTok) {
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

func (b *bench) speed(ctx context.Context, s *subject, n int, busy bool) (t ThreadSpeed, err error) {
	p, reading := s.world.Params, b.prefillTokens()
	p.Threads, p.ContextTokens = n, reading+decodeTokens+1
	session, err := s.world.Model.NewSession(ctx, p)
	if err != nil {
		return t, err
	}
	defer session.Close()
	if busy {
		defer takeCore()()
		time.Sleep(20 * time.Millisecond) // until the loop is on its core
	}
	t.Threads, t.Busy = n, busy
	if b.Idle != nil {
		t.Chosen = b.Idle() == n
	}
	tokens := make([]inference.Token, reading+1)
	for i := range tokens {
		tokens[i] = s.prefix[i%len(s.prefix)]
	}
	if err := session.Decode(ctx, batch(tokens[:1])); err != nil { // touches the weights
		return t, err
	}
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

// takeCore keeps one core busy until the function that it gives is called.
func takeCore() (release func()) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread()
		for {
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	return func() { close(stop); done.Wait() }
}

// ThreadCounts are those that are measured on so many cores: powers of two, and all.
func ThreadCounts(cores int) []int {
	var list []int
	for n := 1; n < cores; n *= 2 {
		list = append(list, n)
	}
	return append(list, cores)
}
