package enginetest

import (
	"context"
	"fmt"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// layerGreedy is how far a session is followed here: that a restored one goes on right is another check's.
const layerGreedy = 2

// layerCuts are where layers end.
func layerCuts() []int { return []int{shortPrefix, shortPrefix + 1, 40} }

// layers: a state that is saved layer by layer and restored is the state that was saved whole, and a layer that was
// decoded behind restored ones is the layer that was decoded live.
func layers(ctx context.Context, s Subject) error {
	cuts := layerCuts()
	end := cuts[len(cuts)-1]
	tokens, err := s.tokens(end+suffixTokens, 2)
	if err != nil {
		return err
	}
	room := len(tokens) + layerGreedy
	live, err := s.session(ctx, room)
	if err != nil {
		return err
	}
	defer live.Close()
	if !s.Model.Info().Layered() {
		return s.oneLayer(ctx, live, tokens)
	}
	chain, err := s.bakeLayers(ctx, live, sealed.State{}, tokens)
	if err != nil {
		return err
	}
	whole, err := live.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save whole: %w", err)
	}
	want, err := s.follow(ctx, live, tokens[end:], layerGreedy)
	if err != nil {
		return err
	}
	if err := live.Close(); err != nil {
		return err
	}
	for n := range cuts {
		what := fmt.Sprintf("%d layers restored", n+1)
		session, err := s.session(ctx, room)
		if err != nil {
			return err
		}
		defer session.Close()
		if err := session.RestoreState(ctx, chain.First(n+1)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if got := session.Position(); got != cuts[n] || session.Decoded() != 0 {
			return fmt.Errorf("%s: position %d and %d decoded, want %d and 0", what, got, session.Decoded(), cuts[n])
		}
		again, err := s.bakeLayers(ctx, session, chain.First(n+1), tokens)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.sameState(what+", the rest decoded: the layers", again, chain); err != nil {
			return err
		}
		saved, err := session.SaveState(ctx)
		if err != nil {
			return fmt.Errorf("%s: save whole: %w", what, err)
		}
		if err := s.sameState(what+", the rest decoded: the whole", saved, whole); err != nil {
			return err
		}
		got, err := s.follow(ctx, session, tokens[end:], layerGreedy)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.same(what, got, want); err != nil {
			return err
		}
		if err := session.Close(); err != nil {
			return err
		}
	}
	return nil
}

// bakeLayers decodes the layers that chain lacks, saving each.
func (s Subject) bakeLayers(ctx context.Context, session inference.Session, chain sealed.State, tokens []inference.Token) (sealed.State, error) {
	for _, cut := range layerCuts()[len(chain.Layers()):] {
		from := session.Position()
		if _, err := decode(ctx, session, tokens[from:cut], false, s.Model.Info().VocabSize); err != nil {
			return chain, err
		}
		layer, err := session.SaveLayer(ctx, from)
		if err != nil {
			return chain, fmt.Errorf("save layer %d to %d: %w", from, cut, err)
		}
		if layer.Tokens() != cut-from || len(layer.Layers()) != 1 {
			return chain, fmt.Errorf("layer %d to %d: got %d layers of %d tokens", from, cut, len(layer.Layers()), layer.Tokens())
		}
		chain = chain.Then(layer)
	}
	return chain, nil
}

// oneLayer: a state that can't be cut says so, goes on, and is restored whole only.
func (s Subject) oneLayer(ctx context.Context, session inference.Session, tokens []inference.Token) error {
	if _, err := decode(ctx, session, tokens[:shortPrefix], false, s.Model.Info().VocabSize); err != nil {
		return err
	}
	_, err := session.SaveLayer(ctx, 1)
	if err := wantCode("save a layer", err, fault.CodeArchitectureUnsupported); err != nil {
		return err
	}
	state, err := session.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save whole after that: %w", err)
	}
	other, err := s.session(ctx, len(tokens)+shortPrefix)
	if err != nil {
		return err
	}
	defer other.Close()
	return wantCode("restore two layers", other.RestoreState(ctx, state.Then(state)), fault.CodeEngineRestoreFailed)
}
