package scale

import (
	"testing"

	"edge/internal/fault"
)

func TestSimulate(t *testing.T) {
	s := Simulation{Servers: 4, Prefixes: 64, Capacity: 16, Requests: 20000, Skew: 1, Policy: Hash, Seed: 1}
	hash := Simulate(s)
	if again := Simulate(s); again != hash {
		t.Errorf("the same simulation: %+v, %+v", again, hash)
	}
	s.Policy = RoundRobin
	turn := Simulate(s)
	if hash.HitRate < turn.HitRate+0.15 {
		t.Errorf("a cache of a quarter on each of 4 servers: hash %.2f, in turn %.2f", hash.HitRate, turn.HitRate)
	}
	if turn.Imbalance > 1.01 || hash.Imbalance < turn.Imbalance {
		t.Errorf("the price of it is balance: hash %.2f, in turn %.2f", hash.Imbalance, turn.Imbalance)
	}
	if hash.Moved < 0.05 || hash.Moved > 0.4 {
		t.Errorf("a fifth server should take about a fifth of the prefixes: %.2f", hash.Moved)
	}
}

func TestSimulateAtItsEnds(t *testing.T) {
	base := Simulation{Servers: 1, Prefixes: 10, Capacity: 10, Requests: 1000, Seed: 3}
	for _, policy := range []Policy{RoundRobin, Hash} {
		s := base
		s.Policy = policy
		if got := Simulate(s).HitRate; got != 0.99 {
			t.Errorf("%s: one server that holds all: %.3f, want all but the first of each", policy, got)
		}
		s.Capacity, s.Prefixes = 1, 1
		if got := Simulate(s).HitRate; got != 0.999 {
			t.Errorf("%s: one prefix: %.3f", policy, got)
		}
	}
	// With one place for two prefixes that are asked for alike, half of the requests find theirs.
	s := base
	s.Prefixes, s.Capacity, s.Requests, s.Policy = 2, 1, 20000, RoundRobin
	if got := Simulate(s).HitRate; got < 0.48 || got > 0.52 {
		t.Errorf("two prefixes in turn by chance: %.3f", got)
	}
}

func TestCacheDropsTheOldest(t *testing.T) {
	c := newCache(2)
	for i, want := range []struct {
		prefix int
		hit    bool
	}{{1, false}, {2, false}, {1, true}, {3, false}, {1, true}, {2, false}, {3, false}} {
		if got := c.use(want.prefix); got != want.hit {
			t.Errorf("step %d, prefix %d: hit %v", i, want.prefix, got)
		}
	}
}

func TestLoadIsBounded(t *testing.T) {
	for _, l := range []Load{{Clients: 0, Requests: 1}, {Clients: 65, Requests: 1}, {Clients: 1, Requests: 1001}, {Clients: 1, Requests: 1}} {
		if _, err := Run(t.Context(), l); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := spread([]float64{5, 1, 2, 4, 3}); got != (Spread{3, 5, 5}) {
		t.Errorf("got %+v", got)
	}
	if got := spread([]float64{7}); got != (Spread{7, 7, 7}) {
		t.Errorf("got %+v", got)
	}
}
