package enginetest

import (
	"context"
	"fmt"

	"edge/inference"
	"edge/internal/sealed"
)

// Baked is the state of a prefix, to be restored and gone on from in many ways.
type Baked struct {
	subject Subject
	prefix  []inference.Token
	state   sealed.State
	live    map[string][][]float32 // by turns: the logits that a session gave which restored nothing
}

// Bake decodes a prefix of n tokens and saves its state. The sessions that restored ones are compared with save nothing.
func Bake(ctx context.Context, s Subject, n int) (*Baked, error) {
	prefix, err := s.tokens(n, 0)
	if err != nil {
		return nil, err
	}
	b := &Baked{subject: s, prefix: prefix, live: map[string][][]float32{}}
	return b, b.session(ctx, n+1, func(session inference.Session) error {
		if _, err := b.decode(ctx, session, prefix); err != nil {
			return err
		}
		b.state, err = session.SaveState(ctx)
		return err
	})
}

// Continue restores the prefix's state so many times in a row, each time in a new session and from what the session
// before it saved, and goes on with turns, given as lengths in tokens, each decoded in one call. Between two turns the
// state moves to a new session. It holds the sessions to this: what is saved right after a restore are the same bytes;
// the logits after a turn are those of a session that decoded the same tokens with the same split points and restored
// nothing; and what was decoded is the turn's own tokens.
func (b *Baked) Continue(ctx context.Context, restores int, lengths []int) error {
	turns, err := b.turns(lengths)
	if err != nil {
		return err
	}
	want, err := b.wanted(ctx, turns)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	room := len(b.prefix) + 1
	for _, turn := range turns {
		room += len(turn)
	}
	state := b.state
	for i := 1; i < restores; i++ {
		if err := b.session(ctx, room, func(s inference.Session) (err error) {
			state, err = b.restore(ctx, s, state)
			return err
		}); err != nil {
			return fmt.Errorf("restore %d of %d: %w", i, restores, err)
		}
	}
	for i, turn := range turns {
		if err := b.session(ctx, room, func(s inference.Session) (err error) {
			state, err = b.turn(ctx, s, state, turn, want[i])
			return err
		}); err != nil {
			return fmt.Errorf("turn %d of %d: %w", i+1, len(turns), err)
		}
	}
	return nil
}

// turn restores state into s, decodes one turn, and gives the state after it.
func (b *Baked) turn(ctx context.Context, s inference.Session, state sealed.State, turn []inference.Token, want []float32) (sealed.State, error) {
	if _, err := b.restore(ctx, s, state); err != nil {
		return sealed.State{}, err
	}
	got, err := b.decode(ctx, s, turn)
	if err != nil {
		return sealed.State{}, err
	}
	if s.Decoded() != len(turn) {
		return sealed.State{}, fmt.Errorf("decoded: got %d, want the turn's %d", s.Decoded(), len(turn))
	}
	if err := b.subject.sameLogits("logits", got, want); err != nil {
		return sealed.State{}, err
	}
	return s.SaveState(ctx)
}

// restore puts state into s, which holds nothing, and gives what s saves then.
func (b *Baked) restore(ctx context.Context, s inference.Session, state sealed.State) (sealed.State, error) {
	if err := s.RestoreState(ctx, state); err != nil {
		return sealed.State{}, fmt.Errorf("restore: %w", err)
	}
	if s.Decoded() != 0 || s.Position() != state.Tokens() {
		return sealed.State{}, fmt.Errorf("after the restore of %d tokens: decoded %d, position %d", state.Tokens(), s.Decoded(), s.Position())
	}
	again, err := s.SaveState(ctx)
	if err != nil {
		return sealed.State{}, fmt.Errorf("save again: %w", err)
	}
	return again, b.subject.sameState("saved again", again, state)
}

// turns cuts the text behind the prefix into turns.
func (b *Baked) turns(lengths []int) ([][]inference.Token, error) {
	end := len(b.prefix)
	for _, n := range lengths {
		end += n
	}
	tokens, err := b.subject.tokens(end, 0)
	if err != nil {
		return nil, err
	}
	tokens = tokens[len(b.prefix):]
	var out [][]inference.Token
	for _, n := range lengths {
		out, tokens = append(out, tokens[:n]), tokens[n:]
	}
	return out, nil
}

// wanted decodes prefix and turns in a session that restores and saves nothing, and gives the logits after each turn.
func (b *Baked) wanted(ctx context.Context, turns [][]inference.Token) ([][]float32, error) {
	key := fmt.Sprint(turns)
	if logits, ok := b.live[key]; ok {
		return logits, nil
	}
	room := len(b.prefix)
	for _, turn := range turns {
		room += len(turn)
	}
	err := b.session(ctx, room, func(s inference.Session) error {
		if _, err := b.decode(ctx, s, b.prefix); err != nil {
			return err
		}
		for _, turn := range turns {
			logits, err := b.decode(ctx, s, turn)
			if err != nil {
				return err
			}
			b.live[key] = append(b.live[key], logits)
		}
		return nil
	})
	return b.live[key], err
}

func (b *Baked) decode(ctx context.Context, s inference.Session, tokens []inference.Token) ([]float32, error) {
	return decode(ctx, s, tokens, false, b.subject.Model.Info().VocabSize)
}

// session runs f with a new session, and closes it.
func (b *Baked) session(ctx context.Context, room int, f func(inference.Session) error) error {
	s, err := b.subject.session(ctx, room)
	if err != nil {
		return err
	}
	err = f(s)
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}
