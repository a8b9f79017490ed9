package enginetest

import (
	"context"
	"fmt"
	"slices"

	"edge/internal/fault"
	"edge/internal/sealed"
)

func usedSessionRefuses(ctx context.Context, s Subject) error {
	used, _, err := s.prefilled(ctx, shortPrefix, 4*shortPrefix)
	if err != nil {
		return err
	}
	defer used.Close()
	state, err := used.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	if err := wantCode("restore into a session that decoded", used.RestoreState(ctx, state), fault.CodeEngineRestoreFailed); err != nil {
		return err
	}
	if err := s.wantClosed(ctx, "after the refusal", used); err != nil {
		return err
	}

	twice, err := s.session(ctx, 4*shortPrefix)
	if err != nil {
		return err
	}
	defer twice.Close()
	if err := twice.RestoreState(ctx, state); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := wantCode("restore into a session that restored", twice.RestoreState(ctx, state), fault.CodeEngineRestoreFailed); err != nil {
		return err
	}
	return s.wantClosed(ctx, "after the second refusal", twice)
}

func damagedStates(ctx context.Context, s Subject) error {
	baker, fresh, err := s.prefilled(ctx, shortPrefix, 2*shortPrefix)
	if err != nil {
		return err
	}
	defer baker.Close()
	good, err := baker.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	b, n := good.Bytes(), good.Tokens()
	longer := func(by int) sealed.State { return sealed.Fresh(append(slices.Clone(b), make([]byte, by)...), n) }
	shorter := func(to int) sealed.State { return sealed.Fresh(slices.Clone(b[:to]), n) }
	var problems all
	for _, c := range []struct {
		name  string
		state sealed.State
	}{
		{"zero state", sealed.State{}},
		{"empty state", sealed.Fresh(nil, n)},
		{"1 byte", shorter(1)},
		{"half of it", shorter(len(b) / 2)},
		{"64 bytes short", shorter(len(b) - 64)},
		{"1 byte short", shorter(len(b) - 1)},
		{"1 byte long", longer(1)},
		{"64 bytes long", longer(64)},
		{"said to be of one token more", sealed.Fresh(b, n+1)},
		{"said to be of one token less", sealed.Fresh(b, n-1)},
		{"said to be of no tokens", sealed.Fresh(b, 0)},
	} {
		problems.add(c.name, s.damagedState(ctx, c.state, fresh))
	}
	return problems.err()
}

func (s Subject) damagedState(ctx context.Context, state sealed.State, fresh []float32) error {
	session, err := s.session(ctx, 2*shortPrefix)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := wantCode("restore", session.RestoreState(ctx, state), fault.CodeEngineRestoreFailed); err != nil {
		return err
	}
	if err := s.wantClosed(ctx, "after the refusal", session); err != nil {
		return err
	}
	return s.likeFresh(ctx, "the refusal", fresh)
}

func nothingToSave(ctx context.Context, s Subject) error {
	session, err := s.session(ctx, shortPrefix)
	if err != nil {
		return err
	}
	defer session.Close()
	if session.Logits() != nil || session.Decoded() != 0 || session.Position() != 0 {
		return fmt.Errorf("a new session isn't empty: decoded %d, position %d", session.Decoded(), session.Position())
	}
	if state, err := session.SaveState(ctx); err == nil {
		return fmt.Errorf("an empty session gave a state of %d bytes", len(state.Bytes()))
	}
	tokens, err := s.tokens(1, 0)
	if err != nil {
		return err
	}
	_, err = decode(ctx, session, tokens, false, s.Model.Info().VocabSize)
	return err
}
