package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"edge/inference"
	"edge/internal/sealed"
)

// restoredEqualsLive bakes a prefix of every length and goes on from its state in every way that there is.
func restoredEqualsLive(ctx context.Context, s Subject) error {
	prefixes := s.Prefixes
	if len(prefixes) == 0 {
		prefixes = []int{1, shortPrefix, 40}
	}
	var problems all
	for _, n := range prefixes {
		problems.add(fmt.Sprintf("prefix of %d tokens", n), restoredEqualsLiveAt(ctx, s, n))
	}
	return problems.err()
}

func restoredEqualsLiveAt(ctx context.Context, s Subject, n int) error {
	room := n + suffixTokens + greedyTokens
	tokens, err := s.tokens(n+suffixTokens, 0)
	if err != nil {
		return err
	}
	prefix, suffix := tokens[:n], tokens[n:]

	live, err := s.session(ctx, room)
	if err != nil {
		return err
	}
	defer live.Close()
	if _, err := decode(ctx, live, prefix, false, s.Model.Info().VocabSize); err != nil {
		return err
	}
	want, err := s.follow(ctx, live, suffix, greedyTokens)
	if err != nil {
		return err
	}
	if err := live.Close(); err != nil {
		return err
	}

	state, err := s.bake(ctx, prefix, suffix, want)
	if err != nil {
		return err
	}
	again, err := s.bake(ctx, prefix, suffix, want)
	if err != nil {
		return err
	}
	if err := s.sameState("baked again", again, state); err != nil {
		return err
	}

	first, err := s.session(ctx, room)
	if err != nil {
		return err
	}
	defer first.Close()
	if err := s.restored(ctx, "first restore", first, state, suffix, greedyTokens, want); err != nil {
		return err
	}
	// The same session emptied and filled again, and once more.
	for _, what := range []string{"second restore, after a reset", "third restore, after a reset"} {
		if err := first.Reset(ctx); err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		if err := s.restored(ctx, what, first, state, suffix, 1, want); err != nil {
			return err
		}
	}
	if err := first.Close(); err != nil {
		return err
	}
	// New sessions in the same process, one of them with more room.
	for extra, what := range []string{"second restore, in a new session", "third restore, in a session with more room"} {
		more, err := s.session(ctx, room+extra)
		if err != nil {
			return err
		}
		err = s.restored(ctx, what, more, state, suffix, 1, want)
		if closing := more.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bake decodes prefix, saves the state, and makes sure that saving left the session as it was.
func (s Subject) bake(ctx context.Context, prefix, suffix []inference.Token, want trace) (sealed.State, error) {
	session, err := s.session(ctx, len(prefix)+len(suffix)+1)
	if err != nil {
		return sealed.State{}, err
	}
	defer session.Close()
	if _, err := decode(ctx, session, prefix, false, s.Model.Info().VocabSize); err != nil {
		return sealed.State{}, err
	}
	state, err := session.SaveState(ctx)
	if err != nil {
		return sealed.State{}, fmt.Errorf("save: %w", err)
	}
	if state.Tokens() != len(prefix) {
		return sealed.State{}, fmt.Errorf("state: got one of %d tokens, want %d", state.Tokens(), len(prefix))
	}
	kept := slices.Clone(state.Bytes())
	got, err := s.follow(ctx, session, suffix, 0)
	if err != nil {
		return sealed.State{}, err
	}
	if !bytes.Equal(kept, state.Bytes()) {
		return sealed.State{}, fmt.Errorf("the state's bytes changed while the session went on")
	}
	return state, s.same("session after save", got, want)
}

// restored puts state into an empty session and compares what follows.
func (s Subject) restored(ctx context.Context, what string, session inference.Session, state sealed.State, suffix []inference.Token, greedy int, want trace) error {
	if err := session.RestoreState(ctx, state); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if got := session.Decoded(); got != 0 {
		return fmt.Errorf("%s: decoded: got %d, want 0", what, got)
	}
	if got := session.Position(); got != state.Tokens() {
		return fmt.Errorf("%s: position: got %d, want %d", what, got, state.Tokens())
	}
	if session.Logits() != nil {
		return fmt.Errorf("%s: there are logits before anything was decoded", what)
	}
	saved, err := session.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("%s: save again: %w", what, err)
	}
	if err := s.sameState(what+": saved again", saved, state); err != nil {
		return err
	}
	got, err := s.follow(ctx, session, suffix, greedy)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if decoded := session.Decoded(); decoded != len(suffix)+greedy {
		return fmt.Errorf("%s: decoded: got %d, want the suffix's %d and %d chosen ones", what, decoded, len(suffix), greedy)
	}
	return s.same(what, got, want)
}

func (s Subject) sameState(what string, got, want sealed.State) error {
	if s.Exact && !bytes.Equal(got.Bytes(), want.Bytes()) {
		return fmt.Errorf("%s: the state's bytes differ (%d, want %d)", what, len(got.Bytes()), len(want.Bytes()))
	}
	return nil
}

// hiddenStates: they are there for every token when asked for, the same with and without a restore, and asking changes
// nothing else.
func hiddenStates(ctx context.Context, s Subject) error {
	tokens, err := s.tokens(shortPrefix+suffixTokens, 1)
	if err != nil {
		return err
	}
	prefix, suffix := tokens[:shortPrefix], tokens[shortPrefix:]
	vocabulary := s.Model.Info().VocabSize

	plain, err := s.session(ctx, len(tokens)+1)
	if err != nil {
		return err
	}
	defer plain.Close()
	if _, err := decode(ctx, plain, prefix, false, vocabulary); err != nil {
		return err
	}
	state, err := plain.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	logits, err := decode(ctx, plain, suffix, false, vocabulary)
	if err != nil {
		return err
	}
	next, err := decode(ctx, plain, suffix[:1], false, vocabulary)
	if err != nil {
		return err
	}
	if got := plain.Hidden(); len(got) != 0 {
		return fmt.Errorf("there are %d hidden states that nobody asked for", len(got))
	}

	var first [][]float32
	for _, restore := range []bool{false, true} {
		what := map[bool]string{false: "live", true: "restored"}[restore]
		session, err := s.session(ctx, len(tokens)+1)
		if err != nil {
			return err
		}
		defer session.Close()
		if restore {
			err = session.RestoreState(ctx, state)
		} else {
			_, err = decode(ctx, session, prefix, false, vocabulary)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		got, err := decode(ctx, session, suffix, true, vocabulary)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.sameLogits(what+": logits beside hidden states", got, logits); err != nil {
			return err
		}
		rows := session.Hidden()
		if err := s.checkRows(rows, len(suffix)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if first == nil {
			for _, row := range rows {
				first = append(first, slices.Clone(row))
			}
		}
		for i := range rows {
			if s.Exact {
				if err := sameBits(fmt.Sprintf("%s: hidden state %d", what, i), rows[i], first[i]); err != nil {
					return err
				}
			}
		}
		got, err = decode(ctx, session, suffix[:1], false, vocabulary)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.sameLogits(what+": logits after hidden states", got, next); err != nil {
			return err
		}
		if got := session.Hidden(); len(got) != 0 {
			return fmt.Errorf("%s: %d hidden states outlived their decode", what, len(got))
		}
		if err := session.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s Subject) checkRows(rows [][]float32, n int) error {
	if len(rows) != n {
		return fmt.Errorf("hidden states: got %d, want one for each of %d tokens", len(rows), n)
	}
	for i, row := range rows {
		if len(row) != s.Model.Info().EmbeddingSize {
			return fmt.Errorf("hidden state %d: got %d numbers, want %d", i, len(row), s.Model.Info().EmbeddingSize)
		}
		if slices.Min(row) == slices.Max(row) {
			return fmt.Errorf("hidden state %d: all numbers are %v", i, row[0])
		}
		if i > 0 && slices.Equal(row, rows[i-1]) {
			return fmt.Errorf("hidden states %d and %d are the same", i-1, i)
		}
	}
	return nil
}
