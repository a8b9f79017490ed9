package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// wantCode says what is wrong with err where it doesn't carry code.
func wantCode(what string, err error, code fault.Code) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s: got no error, want %s", what, code)
	case !fault.Is(err, code):
		return fmt.Errorf("%s: got %q (%s), want %s", what, err, fault.From(err).Code, code)
	}
	return nil
}

// wantClosed: every method refuses, and closing again is no error.
func (s Subject) wantClosed(ctx context.Context, what string, session inference.Session) error {
	var problems all
	tokens, err := s.tokens(1, 0)
	if err != nil {
		return err
	}
	problems.add(what, wantCode("decode", session.Decode(ctx, inference.Batch{Tokens: tokens}), fault.CodeSessionClosed))
	_, err = session.SaveState(ctx)
	problems.add(what, wantCode("save", err, fault.CodeSessionClosed))
	problems.add(what, wantCode("restore", session.RestoreState(ctx, sealed.Fresh([]byte{1}, 1)), fault.CodeSessionClosed))
	problems.add(what, wantCode("reset", session.Reset(ctx), fault.CodeSessionClosed))
	if session.Logits() != nil {
		problems.add(what, errors.New("a closed session has logits"))
	}
	if len(session.Hidden()) != 0 {
		problems.add(what, errors.New("a closed session has hidden states"))
	}
	for range 2 {
		if err := session.Close(); err != nil {
			problems.add(what, fmt.Errorf("close again: %w", err))
		}
	}
	return problems.err()
}

// prefilled gives a session that has decoded n tokens, with its logits.
func (s Subject) prefilled(ctx context.Context, n, room int) (inference.Session, []float32, error) {
	tokens, err := s.tokens(n, 0)
	if err != nil {
		return nil, nil, err
	}
	session, err := s.session(ctx, room)
	if err != nil {
		return nil, nil, err
	}
	logits, err := decode(ctx, session, tokens, false, s.Model.Info().VocabSize)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return session, logits, nil
}

// likeFresh: a session made now computes what one computed before anything went wrong.
func (s Subject) likeFresh(ctx context.Context, what string, want []float32) error {
	session, got, err := s.prefilled(ctx, shortPrefix, shortPrefix+1)
	if err != nil {
		return fmt.Errorf("new session after %s: %w", what, err)
	}
	defer session.Close()
	return s.sameLogits("new session after "+what, got, want)
}

func closedSession(ctx context.Context, s Subject) error {
	session, logits, err := s.prefilled(ctx, shortPrefix, 2*shortPrefix)
	if err != nil {
		return err
	}
	kept := session.Logits()
	if err := session.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := s.wantClosed(ctx, "after close", session); err != nil {
		return err
	}
	// What a caller still holds is memory of its own, not of the engine's next session.
	if err := s.likeFresh(ctx, "close", logits); err != nil {
		return err
	}
	return sameBits("logits that were kept over close", kept, logits)
}

// failedSession: tokens that the vocabulary lacks are refused before anything of their call is decoded.
func failedSession(ctx context.Context, s Subject) error {
	s.Params.BatchTokens, s.Params.UBatchTokens = 2, 2
	fresh, want, err := s.prefilled(ctx, shortPrefix, 2*shortPrefix)
	if err != nil {
		return err
	}
	fresh.Close()
	var problems all
	for _, token := range []inference.Token{-1, inference.Token(s.Model.Info().VocabSize), 1 << 30} {
		what := fmt.Sprintf("token %d", token)
		session, _, err := s.prefilled(ctx, shortPrefix, 4*shortPrefix)
		if err != nil {
			return err
		}
		tokens, err := s.tokens(2, 0)
		if err != nil {
			return err
		}
		reported := false
		err = session.Decode(ctx, inference.Batch{Tokens: append(tokens, token), Progress: func(int, int) { reported = true }})
		problems.add(what, wantCode("decode", err, fault.CodeEngineDecodeFailed))
		if got := session.Position(); reported || got > shortPrefix {
			problems.add(what, fmt.Errorf("%d tokens were decoded before it was found", got-shortPrefix))
		}
		problems.add(what, s.wantClosed(ctx, "after the failure", session))
		session.Close()
		problems.add(what, s.likeFresh(ctx, "the failure", want))
	}
	return problems.err()
}

func cancel(ctx context.Context, s Subject) error {
	const part = 8
	s.Params.BatchTokens, s.Params.UBatchTokens = part, part
	tokens, err := s.tokens(6*part, 0)
	if err != nil {
		return err
	}
	fresh, want, err := s.prefilled(ctx, shortPrefix, shortPrefix)
	if err != nil {
		return err
	}
	fresh.Close()

	session, err := s.session(ctx, len(tokens))
	if err != nil {
		return err
	}
	defer session.Close()
	soon, stop := context.WithCancel(ctx)
	defer stop()
	var heard []int
	err = session.Decode(soon, inference.Batch{Tokens: tokens, Progress: func(done, total int) {
		heard = append(heard, done)
		if total != len(tokens) {
			heard = append(heard, -total)
		}
		stop()
	}})
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled in mid-decode: got %v, want context.Canceled", err)
	}
	if !slices.Equal(heard, []int{part}) {
		return fmt.Errorf("cancelled after the first %d tokens: progress went on to say %v", part, heard)
	}
	if err := s.wantClosed(ctx, "after cancelling", session); err != nil {
		return err
	}
	if err := s.likeFresh(ctx, "cancelling", want); err != nil {
		return err
	}

	late, err := s.session(ctx, len(tokens))
	if err != nil {
		return err
	}
	defer late.Close()
	if err := late.Decode(soon, inference.Batch{Tokens: tokens[:1]}); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled before: got %v, want context.Canceled", err)
	}
	if err := s.wantClosed(ctx, "after a call that was cancelled before", late); err != nil {
		return err
	}

	// A cancellation that comes once Decode is done belongs to nobody.
	session, err = s.session(ctx, len(tokens))
	if err != nil {
		return err
	}
	defer session.Close()
	for i := range 5 {
		call, stop := context.WithCancel(ctx)
		if err := session.Decode(call, inference.Batch{Tokens: tokens[i : i+1]}); err != nil {
			stop()
			return fmt.Errorf("decode after an earlier call's context ended: %w", err)
		}
		stop()
	}
	// One that comes while Decode is finishing stops that call or none.
	for i := range 5 {
		call, stop := context.WithCancel(ctx)
		err := session.Decode(call, inference.Batch{Tokens: tokens[i : i+1], Progress: func(int, int) {
			stop()
			time.Sleep(time.Millisecond) // lets a watcher of the context get to work
		}})
		stop()
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return fmt.Errorf("decode after a call that was cancelled while it finished: %w", err)
		}
	}
	if _, err := s.Model.NewSession(soon, s.Params); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("new session with a cancelled context: got %v, want context.Canceled", err)
	}
	return nil
}

func contextFull(ctx context.Context, s Subject) error {
	vocabulary := s.Model.Info().VocabSize
	tokens, err := s.tokens(2*shortPrefix, 0)
	if err != nil {
		return err
	}
	fresh, want, err := s.prefilled(ctx, shortPrefix, shortPrefix)
	if err != nil {
		return err
	}
	defer fresh.Close()
	state, err := fresh.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}

	session, err := s.session(ctx, shortPrefix)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, n := range []int{shortPrefix + 1, len(tokens)} {
		err := session.Decode(ctx, inference.Batch{Tokens: tokens[:n]})
		if err := wantCode(fmt.Sprintf("%d tokens into room for %d", n, shortPrefix), err, fault.CodeContextFull); err != nil {
			return err
		}
		if session.Decoded() != 0 || session.Position() != 0 {
			return fmt.Errorf("%d tokens were decoded before the context was found to be full", session.Decoded())
		}
	}
	got, err := decode(ctx, session, tokens[:shortPrefix], false, vocabulary)
	if err != nil {
		return fmt.Errorf("exactly as many tokens as there is room: %w", err)
	}
	if err := s.sameLogits("after context_full", got, want); err != nil {
		return err
	}
	if err := wantCode("one token more", session.Decode(ctx, inference.Batch{Tokens: tokens[:1]}), fault.CodeContextFull); err != nil {
		return err
	}
	saved, err := session.SaveState(ctx)
	if err != nil {
		return fmt.Errorf("save after context_full: %w", err)
	}
	if err := s.sameState("saved after context_full", saved, state); err != nil {
		return err
	}

	small, err := s.session(ctx, shortPrefix)
	if err != nil {
		return err
	}
	defer small.Close()
	return wantCode("restore that leaves no room", small.RestoreState(ctx, state), fault.CodeContextFull)
}

func reset(ctx context.Context, s Subject) error {
	session, want, err := s.prefilled(ctx, shortPrefix, 3*shortPrefix)
	if err != nil {
		return err
	}
	defer session.Close()
	other, err := s.tokens(2*shortPrefix, 3)
	if err != nil {
		return err
	}
	if _, err := decode(ctx, session, other, false, s.Model.Info().VocabSize); err != nil {
		return err
	}
	if err := session.Reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	if session.Decoded() != 0 || session.Position() != 0 || session.Logits() != nil || len(session.Hidden()) != 0 {
		return fmt.Errorf("after reset: decoded %d, position %d, %d logits, %d hidden states", session.Decoded(), session.Position(), len(session.Logits()), len(session.Hidden()))
	}
	tokens, err := s.tokens(shortPrefix, 0)
	if err != nil {
		return err
	}
	got, err := decode(ctx, session, tokens, false, s.Model.Info().VocabSize)
	if err != nil {
		return err
	}
	return s.sameLogits("after reset", got, want)
}

// sessionsApart: sessions of one model, used in turn and at once, know nothing of each other.
func sessionsApart(ctx context.Context, s Subject) error {
	const n = 3
	alone := make([][]float32, n)
	tokens := make([][]inference.Token, n)
	sessions := make([]inference.Session, n)
	for i := range n {
		var err error
		if tokens[i], err = s.tokens(2*shortPrefix, i); err != nil {
			return err
		}
		session, err := s.session(ctx, 2*shortPrefix)
		if err != nil {
			return err
		}
		defer session.Close()
		for _, part := range [][]inference.Token{tokens[i][:shortPrefix], tokens[i][shortPrefix:]} {
			if alone[i], err = decode(ctx, session, part, false, s.Model.Info().VocabSize); err != nil {
				return err
			}
		}
		if sessions[i], err = s.session(ctx, 2*shortPrefix); err != nil {
			return err
		}
		defer sessions[i].Close()
	}
	for i, session := range sessions {
		if _, err := decode(ctx, session, tokens[i][:shortPrefix], false, s.Model.Info().VocabSize); err != nil {
			return err
		}
	}
	problems := make([]error, n)
	var working sync.WaitGroup
	for i, session := range sessions {
		working.Go(func() {
			got, err := decode(ctx, session, tokens[i][shortPrefix:], false, s.Model.Info().VocabSize)
			if err == nil {
				err = s.sameLogits(fmt.Sprintf("session %d beside others", i), got, alone[i])
			}
			problems[i] = err
		})
	}
	working.Wait()
	return errors.Join(problems...)
}

func parameters(ctx context.Context, s Subject) error {
	var problems all
	for _, c := range []struct {
		name   string
		change func(*inference.Params)
		code   fault.Code
	}{
		{"no room", func(p *inference.Params) { p.ContextTokens = 0 }, fault.CodeInvalidArguments},
		{"no threads", func(p *inference.Params) { p.Threads = 0 }, fault.CodeInvalidArguments},
		{"no batch", func(p *inference.Params) { p.BatchTokens = 0 }, fault.CodeInvalidArguments},
		{"no steps in the batch", func(p *inference.Params) { p.UBatchTokens = 0 }, fault.CodeInvalidArguments},
		{"step larger than the batch", func(p *inference.Params) { p.UBatchTokens = p.BatchTokens + 1 }, fault.CodeInvalidArguments},
		{"unknown type of keys", func(p *inference.Params) { p.KVTypeK = "f17" }, fault.CodeInvalidArguments},
		{"unknown type of values", func(p *inference.Params) { p.KVTypeV = "" }, fault.CodeInvalidArguments},
		{"quantised values without flash attention", func(p *inference.Params) { p.KVTypeV, p.FlashAttention = "q8_0", false }, fault.CodeInvalidArguments},
		{"more than the model's context", func(p *inference.Params) { p.ContextTokens = s.Model.Info().ContextLength + 1 }, fault.CodeContextFull},
	} {
		p := s.Params
		p.ContextTokens = shortPrefix
		c.change(&p)
		session, err := s.Model.NewSession(ctx, p)
		if err == nil {
			session.Close()
		}
		problems.add(c.name, wantCode("new session", err, c.code))
	}
	return problems.err()
}

// modelInUse: closing the model under a session is refused and does no harm.
func modelInUse(ctx context.Context, s Subject) error {
	session, err := s.session(ctx, shortPrefix)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := s.Model.Close(); err == nil {
		return fmt.Errorf("the model was closed while a session was open")
	}
	tokens, err := s.tokens(1, 0)
	if err != nil {
		return err
	}
	_, err = decode(ctx, session, tokens, false, s.Model.Info().VocabSize)
	return err
}
