package learn

import (
	"bytes"
	"context"

	"edge/imprint"
	"edge/inference"
	"edge/internal/sealed"
)

// Layers of a prefix, in their order. Imprints with the same tools share the first, and with the same profile the
// second as well: each depends on what stands before it, and on nothing behind.
const (
	LayerContract = "contract" // system text and tools
	LayerProfile  = "profile"  // facts
	LayerExamples = "examples" // worked examples
)

// Layer is one layer of what was baked.
type Layer struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Bytes  int64  `json:"bytes"`
	// Reused says that its state was taken from an imprint of the store and not computed.
	Reused bool `json:"reused"`
}

// cut is where a layer ends, in tokens.
type cut struct {
	name string
	end  int
}

// cuts finds the layers of the prefix. Where a layer ends must not depend on what comes behind it, so it ends where
// prefixes with other facts, and with other examples, still have the same tokens.
func (r *run) cuts() ([]cut, error) {
	whole := []cut{{imprint.LayerPrefix, len(r.tokens)}}
	if !r.World.Model.Info().Layered() {
		return whole, nil
	}
	bare := Profile{System: r.Sample.Profile.System}
	probe := bare
	probe.Facts = []string{"0"}
	contract, err := r.common(bare, nil, probe, nil)
	if err != nil {
		return nil, err
	}
	answer := "0"
	profile, err := r.common(r.Sample.Profile, nil, r.Sample.Profile, []Example{{Prompt: "0", Answer: &answer}})
	if err != nil {
		return nil, err
	}
	if common(contract, r.tokens) < len(contract) || common(profile, r.tokens) < len(profile) {
		return whole, nil // a template that writes facts or examples before the tools
	}
	var list []cut
	end := 0
	for _, c := range []cut{{LayerContract, len(contract)}, {LayerProfile, len(profile)}, {LayerExamples, len(r.tokens)}} {
		if c.end > end {
			list = append(list, c)
			end = c.end
		}
	}
	return list, nil
}

// common gives the tokens with which the prefixes of two conversations begin.
func (r *run) common(a Profile, examplesA []Example, b Profile, examplesB []Example) ([]inference.Token, error) {
	tokens := func(p Profile, examples []Example) ([]inference.Token, error) {
		messages, err := Contract(r.Set, p, examples)
		if err != nil {
			return nil, err
		}
		return r.World.Renderer.Prefix(messages)
	}
	x, err := tokens(a, examplesA)
	if err != nil {
		return nil, err
	}
	y, err := tokens(b, examplesB)
	if err != nil {
		return nil, err
	}
	return x[:common(x, y)], nil
}

// common is how many tokens both begin with.
func common(x, y []inference.Token) int {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

// bake computes the prefix's state layer by layer, beginning behind the layers that the store has of it.
func (r *run) bake(ctx context.Context) error {
	cuts, err := r.cuts()
	if err != nil {
		return err
	}
	if r.Store != nil {
		ends := make([]int, len(cuts))
		for i, c := range cuts {
			ends[i] = c.end
		}
		r.state, err = r.Store.Layers(ctx, r.World.Identity(r.Set, r.tokens, LearnedVersion), r.World.Platform(), ids(r.tokens), ends)
		if err != nil {
			return err
		}
	}
	reused := len(r.state.Layers())
	if reused > 0 {
		if err := r.session.RestoreState(ctx, r.state); err != nil {
			return err
		}
	}
	start := r.session.Position()
	r.Report("prefix", start, len(r.tokens)) // the first tokens take a while
	for _, c := range cuts[reused:] {
		from := r.session.Position()
		progress := func(done, _ int) { r.Report("prefix", from+done, len(r.tokens)) }
		if err := r.session.Decode(ctx, inference.Batch{Tokens: r.tokens[from:c.end], Progress: progress}); err != nil {
			return err
		}
		if keeper, ok := r.session.(inference.Keeper); ok {
			if err := keeper.Keep(ctx); err != nil {
				return err
			}
		}
		layer, err := r.session.SaveLayer(ctx, from)
		if err != nil {
			return err
		}
		r.state = r.state.Then(layer)
	}
	if err := r.proveLayers(ctx); err != nil {
		return err
	}
	if len(r.state.Layers()) != len(cuts) {
		cuts, reused = []cut{{imprint.LayerPrefix, len(r.tokens)}}, 0
	}
	for i, layer := range r.state.Layers() {
		r.result.Layers = append(r.result.Layers, Layer{cuts[i].name, layer.Tokens(), int64(len(layer.Bytes())), i < reused})
		r.result.Content.Layers = append(r.result.Content.Layers, cuts[i].name)
	}
	return nil
}

// proveLayers makes sure that the layers, restored one behind the other, are the state that the engine gives as a whole;
// where they aren't, the whole is the state's only layer.
func (r *run) proveLayers(ctx context.Context) error {
	if len(r.state.Layers()) == 1 {
		return nil
	}
	whole, err := r.session.SaveState(ctx)
	if err != nil {
		return err
	}
	again, err := r.joined(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(whole.Bytes(), again.Bytes()) {
		r.state = whole
	}
	return nil
}

func (r *run) joined(ctx context.Context) (state sealed.State, err error) {
	if err := r.session.Reset(ctx); err != nil {
		return state, err
	}
	if err := r.session.RestoreState(ctx, r.state); err != nil {
		return state, err
	}
	return r.session.SaveState(ctx)
}
