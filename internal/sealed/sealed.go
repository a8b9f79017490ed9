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
	"slices"
)

// State is an engine's state for the first Tokens() tokens of a sequence, in one layer or in several that stand behind
// each other. The zero State restores nothing.
type State struct {
	layers []Layer
}

// Layer is what the engine computed for Tokens tokens that stand behind those of the layers before it.
type Layer struct {
	bytes  []byte
	tokens int
}

// Verify reads the bytes that want describes from src at offset into a buffer of its own, digests that buffer, and only
// if every digest agrees gives it as a State of one layer for so many tokens. Nobody else ever holds the buffer, so what
// was digested is what an engine gets. Errors: a *MismatchError, io.ErrUnexpectedEOF where src ends early, ctx's, src's.
//
// The buffer is read, not mapped: the pages of a mapped file change under the reader when another process writes to
// that file, after the digest as well as before, and a file cut short kills the process with SIGBUS. The copy out of
// the page cache is done by all cores at once, piece by piece just ahead of the digest.
func Verify(ctx context.Context, src io.ReaderAt, offset int64, want Seal, tokens int) (State, error) {
	payload, err := Load(ctx, src, offset, want)
	if err != nil {
		return State{}, err
	}
	return Fresh(payload, tokens), nil
}

// Fresh is for engine adapters: payload was written by the engine of this process a moment ago.
func Fresh(payload []byte, tokens int) State { return State{[]Layer{{payload, tokens}}} }

// Then gives the state of s's tokens and, behind them, of next's: next was saved as what stands behind so many tokens.
func (s State) Then(next State) State { return State{slices.Concat(s.layers, next.layers)} }

// First gives the state of the first n layers.
func (s State) First(n int) State { return State{s.layers[:n:n]} }

// Layers are the state's layers, in their order; they must not be changed.
func (s State) Layers() []Layer { return s.layers }

// Tokens is how many tokens the state stands for.
func (s State) Tokens() int {
	n := 0
	for _, l := range s.layers {
		n += l.tokens
	}
	return n
}

// Size is how many bytes all layers have.
func (s State) Size() int64 {
	n := int64(0)
	for _, l := range s.layers {
		n += int64(len(l.bytes))
	}
	return n
}

// Bytes is the content of all layers, one after the other; it must not be changed.
func (s State) Bytes() []byte {
	if len(s.layers) == 1 {
		return s.layers[0].bytes
	}
	var all []byte
	for _, l := range s.layers {
		all = append(all, l.bytes...)
	}
	return all
}

// Bytes is the layer's content; it must not be changed.
func (l Layer) Bytes() []byte { return l.bytes }

// Tokens is how many tokens the layer stands for.
func (l Layer) Tokens() int { return l.tokens }
