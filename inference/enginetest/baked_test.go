package enginetest

import (
	"context"
	"slices"
	"testing"

	"edge/inference"
	"edge/inference/fake"
	"edge/internal/sealed"
)

// continueEverywhere bakes one prefix and goes on from it as the matrix of package llamacpp does.
func continueEverywhere(ctx context.Context, s Subject) error {
	b, err := Bake(ctx, s, 20)
	if err != nil {
		return err
	}
	for _, restores := range []int{1, 2, 3} {
		for _, turns := range [][]int{{1}, {5}, {18, 1, 5}} {
			if err := b.Continue(ctx, restores, turns); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestContinueSound(t *testing.T) {
	if err := continueEverywhere(t.Context(), subject(t, adapter{}, fake.Options{})); err != nil {
		t.Error(err)
	}
}

// TestContinueFinds: each way of being wrong is an error, also those that only a later restore or turn shows.
func TestContinueFinds(t *testing.T) {
	bentAfter := func(restores int) adapter {
		done := 0
		return twist(func(tw *twisted) {
			restored := false
			tw.restore = func(ctx context.Context, s sealed.State) error {
				done, restored = done+1, true
				return tw.Session.RestoreState(ctx, s)
			}
			tw.logits = func() []float32 {
				if restored && done >= restores {
					return bent(tw.Session.Logits())
				}
				return tw.Session.Logits()
			}
		})
	}
	prefix, err := subject(t, adapter{}, fake.Options{}).tokens(60, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		adapter adapter
		options fake.Options
	}{
		{name: "one bit of the logits after a restore", adapter: bentAfter(1)},
		{name: "one bit of the logits after the last turn's restore", adapter: bentAfter(24)},
		{name: "the prefix is decoded again", adapter: twist(func(tw *twisted) {
			tw.restore = func(ctx context.Context, s sealed.State) error {
				return tw.Session.Decode(ctx, inference.Batch{Tokens: prefix[:s.Tokens()]})
			}
		})},
		{name: "more is decoded than was asked for", adapter: twist(func(tw *twisted) {
			extra := 0
			tw.restore = func(ctx context.Context, s sealed.State) error {
				extra = s.Tokens()
				return tw.Session.RestoreState(ctx, s)
			}
			tw.decoded = func() int {
				if n := tw.Session.Decoded(); n > 0 {
					return n + extra
				}
				return 0
			}
		})},
		{name: "one bit of the state that is saved again", adapter: twist(func(tw *twisted) {
			tw.save = func(ctx context.Context) (sealed.State, error) {
				s, err := tw.Session.SaveState(ctx)
				if err != nil || tw.Session.Decoded() > 0 {
					return s, err
				}
				b := slices.Clone(s.Layers()[0].Bytes())
				b[len(b)/2] ^= 1
				return sealed.Fresh(b, s.Tokens()), nil
			}
		})},
		{name: "restore forgets", options: fake.Options{Faults: fake.Faults{RestoreForget: true}}},
		{name: "restore fails", options: fake.Options{Faults: fake.Faults{RestoreHalf: true}}},
		{name: "save fails", options: fake.Options{Faults: fake.Faults{Save: true}}},
		{name: "save loses a byte", options: fake.Options{Faults: fake.Faults{SaveShort: true}}},
		{name: "a decode fails", options: fake.Options{Faults: fake.Faults{DecodeCall: 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := continueEverywhere(t.Context(), subject(t, tt.adapter, tt.options))
			if err == nil {
				t.Fatal("nothing was found")
			}
			t.Log(err)
		})
	}
}
