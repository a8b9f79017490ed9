// Package enginetest is the one conformance suite for adapters of package inference.
//
// What it proves of an adapter: what a session restores is what a live prefill with the same split points computes, bit
// for bit; damaged states, used sessions, closed sessions, full contexts, cancellation, foreign tokens and broken
// grammars are answered as the port says; and nothing of a refused call is left behind. Its checks give errors instead
// of failing a test by themselves, so that its own tests can show that each finds the adapter that deserves it.
package enginetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"edge/inference"
)

// Subject is the model to be examined, with the parameters to use it with.
type Subject struct {
	Model inference.Model
	// Params are what sessions are made with, except ContextTokens, which each check sets to what it needs.
	Params inference.Params
	// Exact says that restored and live state promise the same bits; otherwise only the tokens chosen are compared.
	Exact bool
	// Prefixes are the lengths of the prefixes to bake, in tokens. None means 1, 7 and 40.
	Prefixes []int
}

const (
	greedyTokens = 32 // how far a restored session is compared with a live one
	suffixTokens = 5  // what follows the prefix, in one call
	shortPrefix  = 7  // for the checks that aren't about length
)

// Run examines the subject that open gives; open may register its clean-up with t. Checks of text are left out for a
// model without a tokenizer.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	run(t, open(t), append(restoreChecks(), otherChecks()...))
}

// RunRestore is the part of Run that is about the equality of restored and live state, for many lengths or parameters.
func RunRestore(t *testing.T, open func(t *testing.T) Subject) {
	run(t, open(t), restoreChecks())
}

func run(t *testing.T, s Subject, checks []check) {
	for _, c := range checks {
		if !c.applies(s.Model.Info()) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// check is one promise of the port.
type check struct {
	name string
	text bool // needs a tokenizer
	// needs is what a backend must be able to do for the promise to be made; nil: every one makes it.
	needs func(inference.Capabilities) bool
	run   func(ctx context.Context, s Subject) error
}

// applies reports whether the model makes the promise at all: what a backend can't do is in inference.Backends.
func (c check) applies(m inference.ModelInfo) bool {
	return (!c.text || m.HasTokenizer) && (c.needs == nil || c.needs(m.Can))
}

func restoreChecks() []check {
	return []check{
		{name: "restored equals live", run: restoredEqualsLive},
		{name: "hidden states", needs: func(c inference.Capabilities) bool { return c.Hidden }, run: hiddenStates},
		{name: "layers", run: layers},
	}
}

func otherChecks() []check {
	return []check{
		{name: "used session refuses a state", run: usedSessionRefuses},
		{name: "damaged states are refused", run: damagedStates},
		{name: "nothing to save", run: nothingToSave},
		{name: "closed session", run: closedSession},
		{name: "failed session is closed", run: failedSession},
		{name: "cancel", needs: computes, run: cancel},
		{name: "context full", run: contextFull},
		{name: "reset", run: reset},
		{name: "sessions are apart", run: sessionsApart},
		{name: "parameters out of range", run: parameters},
		{name: "model in use isn't closed", run: modelInUse},
		{name: "text round trip", text: true, run: roundTrip},
		{name: "special text stays text", text: true, run: specialText},
		{name: "text that is refused", text: true, run: refusedText},
		{name: "grammar filters", text: true, needs: computes, run: grammarFilters},
		{name: "grammar of characters", text: true, needs: computes, run: grammarCharacters},
		{name: "broken grammars are refused", text: true, needs: computes, run: brokenGrammars},
		{name: "replies", needs: serves, run: replies},
		{name: "replies that are stopped or cancelled", needs: serves, run: endedReplies},
	}
}

// computes: tokens are decoded and scored here.
func computes(c inference.Capabilities) bool { return c.Logits }

// serves: a server draws whole replies.
func serves(c inference.Capabilities) bool { return !c.Logits }

// session makes a session with room for so many tokens.
func (s Subject) session(ctx context.Context, room int) (inference.Session, error) {
	p := s.Params
	p.ContextTokens = room
	session, err := s.Model.NewSession(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("make a session for %d tokens: %w", room, err)
	}
	return session, nil
}

// tokens gives n tokens, of a text where there is a tokenizer; another salt gives others.
func (s Subject) tokens(n, salt int) ([]inference.Token, error) {
	out := make([]inference.Token, 0, n)
	if !s.Model.Info().HasTokenizer {
		for i := range n {
			out = append(out, inference.Token((i*37+i/11+salt*53+11)%s.Model.Info().VocabSize))
		}
		return out, nil
	}
	for round := salt; len(out) < n; round++ {
		text := fmt.Sprintf("Chapter %d. The clerk of shop no. %d quotes a fee of 0.%d %% for every order, packs it, and writes the sum down. ", round, round*7+3, round+3)
		more, err := s.Model.Tokenize(text, false)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			return nil, fmt.Errorf("tokenize %q: got no tokens", text)
		}
		out = append(out, more...)
	}
	return out[:n], nil
}

// decode is Decode of tokens, checked to have left logits and to have counted right.
//
// A served session, which has no logits, gives nil where there are none to give: what it holds is compared by its state.
func decode(ctx context.Context, session inference.Session, tokens []inference.Token, hidden bool, vocabulary int) ([]float32, error) {
	decoded, position := session.Decoded(), session.Position()
	if err := session.Decode(ctx, inference.Batch{Tokens: tokens, Hidden: hidden}); err != nil {
		return nil, fmt.Errorf("decode %d tokens at %d: %w", len(tokens), position, err)
	}
	if got, want := session.Decoded(), decoded+len(tokens); got != want {
		return nil, fmt.Errorf("decoded after %d tokens: got %d, want %d", len(tokens), got, want)
	}
	if got, want := session.Position(), position+len(tokens); got != want {
		return nil, fmt.Errorf("position after %d tokens: got %d, want %d", len(tokens), got, want)
	}
	logits := slices.Clone(session.Logits())
	if _, served := session.(inference.Writer); served {
		if logits != nil {
			return nil, fmt.Errorf("a served session has %d logits", len(logits))
		}
		return nil, nil
	}
	if len(logits) != vocabulary {
		return nil, fmt.Errorf("logits: got %d, want one for each of %d tokens", len(logits), vocabulary)
	}
	lowest, highest := logits[0], logits[0]
	for _, x := range logits {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("logits hold %v", x)
		}
		lowest, highest = min(lowest, x), max(highest, x)
	}
	if lowest == highest {
		return nil, fmt.Errorf("logits are all %v", lowest)
	}
	return logits, nil
}

// trace is what a session computed, step by step.
type trace struct {
	logits [][]float32
	chosen []inference.Token
}

// servedToken stands in for the likeliest token where there are no scores.
const servedToken = inference.Token('e')

// follow decodes suffix in one call, then n tokens one by one, always the likeliest.
func (s Subject) follow(ctx context.Context, session inference.Session, suffix []inference.Token, n int) (trace, error) {
	var tr trace
	next := suffix
	for range n + 1 {
		logits, err := decode(ctx, session, next, false, s.Model.Info().VocabSize)
		if err != nil {
			return tr, err
		}
		best := likeliest(logits)
		tr.logits, tr.chosen = append(tr.logits, logits), append(tr.chosen, best)
		next = []inference.Token{best}
	}
	return tr, nil
}

func likeliest(logits []float32) inference.Token {
	if len(logits) == 0 {
		return servedToken
	}
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return inference.Token(best)
}

// same compares as many steps as got has.
func (s Subject) same(what string, got, want trace) error {
	for i := range got.chosen {
		if got.chosen[i] != want.chosen[i] {
			return fmt.Errorf("%s: step %d chose token %d, want %d", what, i, got.chosen[i], want.chosen[i])
		}
		if err := s.sameLogits(fmt.Sprintf("%s: step %d", what, i), got.logits[i], want.logits[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s Subject) sameLogits(what string, got, want []float32) error {
	if !s.Exact {
		if g, w := likeliest(got), likeliest(want); g != w {
			return fmt.Errorf("%s: the likeliest token is %d, want %d", what, g, w)
		}
		return nil
	}
	return sameBits(what, got, want)
}

// sameBits compares numbers as they lie in memory, so that no two different ones count as equal.
func sameBits(what string, got, want []float32) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return fmt.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
	return nil
}

// all joins the errors of named cases, nil where there are none.
type all []string

func (a *all) add(name string, err error) {
	if err != nil {
		*a = append(*a, name+": "+err.Error())
	}
}

func (a all) err() error {
	if len(a) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(a, "\n"))
}
