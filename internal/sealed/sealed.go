// Package sealed has the one value that an engine restores from, so that unverified bytes can't reach an engine: a
// State is made either by Verify, which digests the very buffer it keeps, or by Fresh, from bytes that an engine of
// this process has just written. internal/archtest proves that only package imprint calls Verify and only engine
// adapters call Fresh.
//
// Byte strings are digested in segments, each on its own, so that every core takes part; a Seal is that digest.
package sealed

import (
	"context"
	"io"
)

// State is an engine's state for the first Tokens() tokens of a sequence. The zero State restores nothing.
type State struct {
	bytes  []byte
	tokens int
}

// Verify reads the bytes that want describes from src at offset into a buffer of its own, digests that buffer, and only
// if every digest agrees gives it as a State for so many tokens. Nobody else ever holds the buffer, so what was
// digested is what an engine gets. Errors: a *MismatchError, io.ErrUnexpectedEOF where src ends early, ctx's, src's.
//
// The buffer is read, not mapped: the pages of a mapped file change under the reader when another process writes to
// that file, after the digest as well as before, and a file cut short kills the process with SIGBUS. The copy out of
// the page cache is done by all cores at once, piece by piece just ahead of the digest.
func Verify(ctx context.Context, src io.ReaderAt, offset int64, want Seal, tokens int) (State, error) {
	payload, err := Load(ctx, src, offset, want)
	if err != nil {
		return State{}, err
	}
	return State{bytes: payload, tokens: tokens}, nil
}

// Fresh is for engine adapters: payload was written by the engine of this process a moment ago.
func Fresh(payload []byte, tokens int) State { return State{bytes: payload, tokens: tokens} }

// Bytes is the state's content; it must not be changed.
func (s State) Bytes() []byte { return s.bytes }

// Tokens is how many tokens the state stands for.
func (s State) Tokens() int { return s.tokens }
