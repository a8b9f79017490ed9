package learn_test

import (
	"testing"

	"edge/imprint"
	"edge/inference/compare"
)

// TestASmallCacheSaysWhatItCosts, and a full one has nothing to say.
func TestASmallCacheSaysWhatItCosts(t *testing.T) {
	engine := newEngine()
	s := sample()
	s.Holdout = nil
	r := request(t, world(t, engine), s)
	if got := run(t, r).Content.Quality; got != (imprint.Quality{}) {
		t.Errorf("f16: got %+v", got)
	}
	r.World.Params.KVTypeK, r.World.Params.KVTypeV = "q8_0", "q8_0"
	first := run(t, r)
	if q := first.Content.Quality; q.Positions != compare.Behind || q.MeanKL <= 0 {
		t.Errorf("q8_0: got %+v", q)
	}
	if first.Content.State.Tokens() != len(first.Content.Tokens) || contentID(t, first.Content) != contentID(t, run(t, r).Content) {
		t.Error("the same again is another imprint")
	}
	if s := engine.Stats(); s.OpenSessions != 0 {
		t.Errorf("left open: %+v", s)
	}
}
