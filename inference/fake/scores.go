package fake

import (
	"bytes"
	"unicode"

	"edge/inference"
)

// mix is one step of a rolling hash: SplitMix64's finalizer over the state and the next value.
func mix(state, next uint64) uint64 {
	x := state ^ (next+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps a hash to −1…1.
func unit(x uint64) float32 { return float32(int32(x>>32)) / (1 << 31) }

// Scores of an unscripted turn: printable ASCII is likely, special tokens and the rest aren't, and what closes things
// gets likelier with every token, so that babble under a grammar comes to an end.
const (
	scripted     = 50
	unlikely     = -20
	closingStart = -4
	closingStep  = 0.25
	// splitNoise is how much of a score depends on the split points, as n_ubatch moves a real model's.
	splitNoise = 1e-3
)

// scores gives the logits after the tokens of s.
func (s *session) scores() []float32 {
	t := s.model.engine.tokens
	out := make([]float32, len(t.pieces))
	closing := closingStart + closingStep*float32(s.turnLength())
	for id := range out {
		out[id] = unit(mix(s.hash, uint64(id))) + splitNoise*unit(mix(s.noise, uint64(id)))
		token, piece := inference.Token(id), t.pieces[id]
		switch {
		case isEnd(token):
			out[id] += closing
		case isSpecial(token), !printable(piece):
			out[id] += unlikely
		case len(piece) == 1 && bytes.Contains([]byte(`"}]`), piece):
			out[id] += closing
		}
	}
	if next, ok := s.scriptedToken(); ok {
		out[next] += scripted
	}
	return out
}

func printable(piece []byte) bool {
	for _, b := range piece {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

// turnLength counts the tokens since the last special one.
func (s *session) turnLength() int {
	for i := len(s.tokens) - 1; i >= 0; i-- {
		if isSpecial(s.tokens[i]) {
			return len(s.tokens) - 1 - i
		}
	}
	return len(s.tokens)
}

// scriptedToken is the token with which the turn being written goes on, if a script says so.
func (s *session) scriptedToken() (inference.Token, bool) {
	script := s.model.engine.options.Script
	if script == nil {
		return 0, false
	}
	history, said, ok := s.openTurn()
	if !ok {
		return 0, false
	}
	reply, ok := script(history)
	rest, starts := bytes.CutPrefix([]byte(reply), said)
	if !ok || !starts {
		return 0, false
	}
	if len(rest) == 0 {
		return tokenTurnEnd, true
	}
	return s.model.engine.tokens.plain(nil, string(rest))[0], true
}

// openTurn takes the tokens apart at the end of the last turn's header; ok is false where no turn is open or its header
// isn't complete.
func (s *session) openTurn() (history []inference.Token, said []byte, ok bool) {
	start := len(s.tokens) - 1
	for start >= 0 && !isSpecial(s.tokens[start]) {
		start--
	}
	if start < 0 || s.tokens[start] != tokenTurnStart {
		return nil, nil, false
	}
	for i := start + 1; i < len(s.tokens); i++ {
		piece := s.model.engine.tokens.pieces[s.tokens[i]]
		if !ok {
			_, piece, ok = bytes.Cut(piece, []byte("\n"))
			history = s.tokens[: i+1 : i+1]
		}
		if ok {
			said = append(said, piece...)
		}
	}
	return history, said, ok
}

// word is the word that the text ends in so far.
type word struct {
	hash   uint64
	length int
}

// wordWeightFull is from how many letters on a word counts fully in a hidden state.
const wordWeightFull = 6

// extend moves on by a token's text; inside says whether the token has a part in a word.
func (w *word) extend(piece []byte) (last word, inside bool) {
	for _, b := range piece {
		if r := unicode.ToLower(rune(b)); b >= 0x80 || unicode.IsLetter(r) || unicode.IsDigit(r) {
			w.hash, w.length = mix(w.hash, uint64(r)), w.length+1
			last, inside = *w, true
			continue
		}
		*w = word{}
	}
	return last, inside
}

// hiddenState is the state of the last token of s: mostly a function of the word that it belongs to, so that requests
// with the same words have like means, and a little of everything before.
func (s *session) hiddenState() []float32 {
	out := make([]float32, s.model.engine.options.EmbeddingSize)
	weight := float32(min(s.lastWord.length, wordWeightFull)) / wordWeightFull
	for d := range out {
		out[d] = 0.01 * unit(mix(s.noise, uint64(d)))
		if s.inWord {
			out[d] += weight * unit(mix(mix(s.model.seed, s.lastWord.hash), uint64(d)))
		}
	}
	return out
}
