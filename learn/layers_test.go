package learn_test

import (
	"slices"
	"testing"

	"edge/imprint"
	"edge/inference/fake"
	"edge/learn"
)

func layerNames(list []learn.Layer) (all, reused []string) {
	for _, l := range list {
		all = append(all, l.Name)
		if l.Reused {
			reused = append(reused, l.Name)
		}
	}
	return all, reused
}

// bakeInto learns and keeps, and gives what came out and how many tokens the engine had to decode for the prefix.
func bakeInto(t *testing.T, store *imprint.Store, change func(*learn.Sample)) (*learn.Result, imprint.ID, int) {
	t.Helper()
	s := sample()
	s.Holdout = nil
	change(s)
	engine := newEngine()
	r := request(t, world(t, engine), s)
	r.Store = store
	before := 0
	r.Report = func(stage string, done, total int) {
		if stage == "prefix" && done == total {
			before = engine.Stats().DecodedTokens
		}
	}
	out := run(t, r)
	if store == nil {
		id, err := imprint.ComputeID(out.Content)
		if err != nil {
			t.Fatal(err)
		}
		return out, id, before
	}
	e, err := store.Put(t.Context(), out.Content)
	if err != nil {
		t.Fatal(err)
	}
	return out, e.ID, before
}

func TestWhatStaysIsNotBakedAgain(t *testing.T) {
	store, err := imprint.NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	same := func(*learn.Sample) {}
	first, id, decoded := bakeInto(t, store, same)
	all, reused := layerNames(first.Layers)
	if !slices.Equal(all, []string{learn.LayerContract, learn.LayerProfile, learn.LayerExamples}) || reused != nil || decoded != len(first.Content.Tokens) {
		t.Errorf("first: layers %v, reused %v, %d tokens decoded of %d", all, reused, decoded, len(first.Content.Tokens))
	}
	total := int64(0)
	for _, l := range first.Layers {
		total += l.Bytes
	}
	if total != first.Content.State.Size() {
		t.Errorf("the layers have %d bytes, the state %d", total, first.Content.State.Size())
	}

	for _, test := range []struct {
		name   string
		change func(*learn.Sample)
		reused []string
	}{
		{"nothing", same, []string{learn.LayerContract, learn.LayerProfile, learn.LayerExamples}},
		{"an example", func(s *learn.Sample) { s.Examples[0].Prompt = "What would the fee be for 251?" }, []string{learn.LayerContract, learn.LayerProfile}},
		{"a fact", func(s *learn.Sample) { s.Profile.Facts = []string{"The shop is in Faro."} }, []string{learn.LayerContract}},
		{"no fact is left", func(s *learn.Sample) { s.Profile.Facts = nil }, []string{learn.LayerContract}},
		{"no example is left", func(s *learn.Sample) { s.Examples = nil }, []string{learn.LayerContract, learn.LayerProfile}},
		{"the system text", func(s *learn.Sample) { s.Profile.System = "You sell." }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, got, decoded := bakeInto(t, store, test.change)
			_, reused := layerNames(out.Layers)
			if !slices.Equal(reused, test.reused) {
				t.Errorf("reused %v, want %v", reused, test.reused)
			}
			fresh := 0
			for _, l := range out.Layers {
				if !l.Reused {
					fresh += l.Tokens
				}
			}
			if decoded != fresh {
				t.Errorf("%d tokens were decoded, want the %d of the layers that are new", decoded, fresh)
			}
			// What was reused makes no difference to what comes out.
			if _, alone, _ := bakeInto(t, nil, test.change); got != alone {
				t.Errorf("with the store it is %s, without %s", got, alone)
			}
			if test.name == "nothing" && got != id {
				t.Errorf("learned twice: %s and %s", id, got)
			}
			if err := store.Touch(id, tick()()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestATemplateThatAllowsNoLayers: one that begins with how many turns there are.
func TestATemplateThatAllowsNoLayers(t *testing.T) {
	w := world(t, fake.New(fake.Options{ChatTemplate: "{{ messages|length > 3 }}" + fake.Template}))
	out := run(t, request(t, w, sample()))
	if all, _ := layerNames(out.Layers); !slices.Equal(all, []string{imprint.LayerPrefix}) || out.Content.State.Tokens() != len(out.Content.Tokens) {
		t.Errorf("layers %v", all)
	}
}
