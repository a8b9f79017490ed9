// Package sealed has the one value that an engine restores from, so that unverified bytes can't reach an engine: a
// State is made either by Verify, which digests the very buffer it keeps, or by Fresh, from bytes that an engine of
// this process has just written. internal/archtest proves that only package imprint calls Verify and only engine
// adapters call Fresh.
package sealed

import (
	"fmt"

	"edge/internal/digest"
)

// State is an engine's state for the first Tokens() tokens of a sequence. The zero State restores nothing.
type State struct {
	bytes  []byte
	tokens int
}

// Verify digests payload and, only if the digest is want, gives it as a State. The State keeps payload itself: the
// caller must not write to it afterwards.
func Verify(payload []byte, tokens int, want digest.BLAKE3) (State, error) {
	if got := digest.BLAKE3Of(payload); got != want {
		return State{}, fmt.Errorf("sealed: got %s, want %s", got, want)
	}
	return State{bytes: payload, tokens: tokens}, nil
}

// Fresh is for engine adapters: payload was written by the engine of this process a moment ago.
func Fresh(payload []byte, tokens int) State { return State{bytes: payload, tokens: tokens} }

// Bytes is the state's content; it must not be changed.
func (s State) Bytes() []byte { return s.bytes }

// Tokens is how many tokens the state stands for.
func (s State) Tokens() int { return s.tokens }
