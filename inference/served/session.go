package served

import (
	"context"
	"errors"
	"strings"
	"sync"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// session collects tokens; a reply is asked for with the messages that they spell.
type session struct {
	model *Model
	room  int

	mu      sync.Mutex
	closed  bool
	tokens  []inference.Token
	decoded int
	hidden  [][]float32
	slot    *Slot
	begins  int // how many tokens slot stands for
	prefix  string
}

var _ inference.Writer = (*session)(nil)

// do is the frame of every method: one at a time, refused once closed, and closed by an error where poison is set.
func (s *session) do(poison bool, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.CodeSessionClosed, "the session was closed")
	}
	err := f()
	if err != nil && poison {
		s.free()
	}
	return err
}

func (s *session) free() {
	s.closed, s.hidden = true, nil
	s.model.release()
}

// Close implements inference.Session.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.free()
	}
	return nil
}

// Decode implements inference.Session: the tokens are kept, and nothing is sent.
func (s *session) Decode(ctx context.Context, b inference.Batch) error {
	full := error(nil)
	err := s.do(true, func() error {
		if len(b.Tokens) == 0 {
			return fault.New(fault.CodeInternal, "decode: no tokens")
		}
		if need := len(s.tokens) + len(b.Tokens); need > s.room {
			full = fault.New(fault.CodeContextFull, "%d tokens are needed, and this context holds %d", need, s.room)
			return nil
		}
		s.hidden = nil
		for _, t := range b.Tokens {
			if !known(t) {
				return fault.New(fault.CodeEngineDecodeFailed, "token %d is no part of a text", t)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.Hidden {
			v, err := s.model.look(ctx, b.Tokens)
			if err != nil {
				return err
			}
			s.hidden = [][]float32{v}
		}
		s.tokens = append(s.tokens, b.Tokens...)
		s.decoded += len(b.Tokens)
		if b.Progress != nil {
			b.Progress(len(b.Tokens), len(b.Tokens))
		}
		return nil
	})
	if err == nil {
		err = full
	}
	return err
}

// Logits implements inference.Session: a server gives none.
func (s *session) Logits() []float32 { return nil }

// Hidden implements inference.Session: one row, which stands for all that was said.
func (s *session) Hidden() [][]float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden
}

// Decoded implements inference.Session.
func (s *session) Decoded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decoded
}

// Position implements inference.Session.
func (s *session) Position() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tokens)
}

// Keep implements inference.Keeper.
func (s *session) Keep(ctx context.Context) error {
	return s.do(true, func() error {
		if s.model.keeper == nil {
			return nil
		}
		messages, _, _, err := spell(s.tokens)
		if err != nil {
			return err
		}
		s.slot, err = s.model.keeper.Keep(ctx, messages)
		s.begins = len(s.tokens)
		return err
	})
}

// SaveState implements inference.Session: the text, and where the server keeps states, its file for it.
func (s *session) SaveState(ctx context.Context) (state sealed.State, err error) {
	err = s.do(false, func() error {
		if len(s.tokens) == 0 {
			return fault.New(fault.CodeInternal, "save state: nothing was decoded")
		}
		slot := s.slot
		if slot != nil && s.begins != len(s.tokens) {
			slot = nil // it stands for less
		}
		raw, err := encodeState(s.tokens, slot)
		if err == nil {
			state = sealed.Fresh(raw, len(s.tokens))
		}
		return err
	})
	return state, err
}

// SaveLayer implements inference.Session.
func (s *session) SaveLayer(ctx context.Context, from int) (sealed.State, error) {
	if from == 0 {
		return s.SaveState(ctx)
	}
	return sealed.State{}, s.do(false, func() error {
		return fault.New(fault.CodeArchitectureUnsupported, "a text that is replayed has no layers")
	})
}

// RestoreState implements inference.Session.
func (s *session) RestoreState(ctx context.Context, state sealed.State) error {
	return s.do(true, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(s.tokens) != 0 {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the session already holds %d tokens", len(s.tokens))
		}
		tokens, slot, err := decodeState(state)
		switch {
		case err != nil:
			return fault.New(fault.CodeEngineRestoreFailed, "restore: %w", err)
		case len(tokens) >= s.room:
			return fault.New(fault.CodeContextFull, "the imprint's %d tokens leave no room in a context of %d", len(tokens), s.room)
		}
		s.tokens, s.slot, s.begins, s.prefix = tokens, slot, len(tokens), prefixDigest(tokens)
		return nil
	})
}

// Reset implements inference.Session.
func (s *session) Reset(context.Context) error {
	return s.do(true, func() error {
		s.tokens, s.hidden, s.decoded, s.slot, s.begins, s.prefix = nil, nil, 0, nil, 0, ""
		return nil
	})
}

// Served implements inference.Writer.
func (s *session) Served() inference.Exchange { return s.model.about }

// errStop ends a reply because Ask.Stop said so.
var errStop = errors.New("stopped")

// Write implements inference.Writer. After an error the session is closed, as after one of Decode.
func (s *session) Write(ctx context.Context, a inference.Ask) (w inference.Written, err error) {
	err = s.do(true, func() error {
		messages, err := conversation(s.tokens)
		if err != nil {
			return err
		}
		var text strings.Builder
		var first bool
		hear := func(piece string) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if a.Stop != nil && a.Stop() {
				return errStop
			}
			if piece == "" {
				return nil
			}
			if !first && a.First != nil {
				a.First()
			}
			first = true
			text.WriteString(piece)
			if a.OnText != nil {
				a.OnText(piece)
			}
			return nil
		}
		w.Ended, w.Exchange, err = s.model.server.Chat(ctx, Request{Messages: messages, Ask: a, Slot: s.slot, Prefix: s.prefix}, hear)
		if w.Stopped = errors.Is(err, errStop); w.Stopped {
			w.Ended, err = false, nil
			if w.Exchange.PromptTokens == 0 {
				w.Exchange.Unfinished = 1
			}
		}
		w.Text = text.String()
		w.Exchange.Backend, w.Exchange.Requests = s.model.about.Backend, 1
		w.Exchange.ModelProven = s.model.about.ModelProven
		if err != nil {
			return err
		}
		tokens, err := s.model.Tokenize(strings.ReplaceAll(w.Text, "\x00", "\uFFFD"), false)
		if err != nil {
			return fault.New(fault.CodeServedReply, "the reply: %w", err)
		}
		if len(s.tokens)+len(tokens) > s.room { // what was written is there; the caller made room for it
			s.room = len(s.tokens) + len(tokens)
		}
		s.tokens = append(s.tokens, tokens...)
		s.decoded += len(tokens)
		return nil
	})
	return w, err
}

// Stopped reports whether a reply ended because Ask.Stop said so.
func Stopped(err error) bool { return errors.Is(err, errStop) }
