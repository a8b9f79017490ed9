package imprint

import (
	"context"
	"slices"

	"edge/internal/sealed"
)

// Layers gives the state of the first layers of a prefix as far as the store has them: of an imprint whose model, engine,
// parameters and machine are those of want and on, and whose prefix begins with layers of the same tokens. ends are where
// the layers of tokens end. Each layer's digest is checked; a damaged one isn't used, and isn't touched. A zero State says
// that there is none. Errors: the folder's; ctx's.
func (s *Store) Layers(ctx context.Context, want Identity, on Platform, tokens []uint32, ends []int) (sealed.State, error) {
	list, err := s.List()
	if err != nil {
		return sealed.State{}, err
	}
	var best ID
	most := 0
	for _, e := range list.Entries {
		n, err := s.commonLayers(ctx, e.ID, want, on, tokens, ends)
		if ctx.Err() != nil {
			return sealed.State{}, ctx.Err()
		}
		if err == nil && n > most {
			best, most = e.ID, n
		}
	}
	if most == 0 {
		return sealed.State{}, nil
	}
	return s.firstLayers(ctx, best, most)
}

// commonLayers is how many layers of the prefix the imprint of that id has.
func (s *Store) commonLayers(ctx context.Context, id ID, want Identity, on Platform, tokens []uint32, ends []int) (int, error) {
	u, err := s.openID(id)
	if err != nil {
		return 0, err
	}
	defer u.Close()
	if u.header.BakedOn != on || len(compare(u.header.Identity.makers(), want.makers())) > 0 {
		return 0, nil
	}
	have, err := u.tokens(ctx)
	if err != nil {
		return 0, err
	}
	at := 0
	for i, layer := range u.header.Layers {
		end := at + layer.Tokens
		if i == len(ends) || end != ends[i] || !slices.Equal(have[at:end], tokens[at:end]) {
			return i, nil
		}
		at = end
	}
	return len(u.header.Layers), nil
}

// firstLayers gives the first n layers of an imprint, or as many as are intact.
func (s *Store) firstLayers(ctx context.Context, id ID, n int) (state sealed.State, err error) {
	u, err := s.openID(id)
	if err != nil {
		return state, err
	}
	defer u.Close()
	for i, section := range u.header.states()[:n] {
		layer, err := sealed.Verify(ctx, u.src, u.body+section.Offset, section.seal(), u.header.Layers[i].Tokens)
		if ctx.Err() != nil {
			return state, ctx.Err()
		}
		if err != nil {
			break
		}
		state = state.Then(layer)
	}
	return state, nil
}

// makers are the fields of what computes: with the tokens, all that a state's bytes depend on.
func (id Identity) makers() []Field {
	return slices.DeleteFunc(id.Fields(), func(f Field) bool { return f.group != groupModel && f.group != groupEngine && f.group != groupParams })
}
