// Package generate draws tokens from a session: greedy or by temperature, freely or under a grammar, and never one that
// the grammar forbids. The same session, options and seed give the same text.
package generate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"unicode/utf8"

	"edge/inference"
	"edge/internal/fault"
)

// Options of one generation.
type Options struct {
	Grammar     inference.Grammar // nil: any text
	MaxTokens   int               // of the whole reply, forced ones too; at least 1
	Temperature float64           // 0: the most likely token
	Random      *rand.Rand        // needed where Temperature > 0
	OnText      func(string)      // hears the text as it comes, whole characters at a time; may be nil
	First       func()            // called when the first token is there, drawn or forced; may be nil
	Stop        func() bool       // asked before every token; true ends the generation; may be nil
	// Forced is text that the reply starts with. It is decoded in one batch instead of being drawn token by token; its
	// last token is left to be drawn, since the model may join it with what follows.
	Forced string
}

// first tells that there is a token, once.
func (o *Options) first() {
	if o.First != nil {
		o.First()
		o.First = nil
	}
}

// Result of one generation.
type Result struct {
	Text    string
	Drawn   int  // tokens that were drawn
	Forced  int  // tokens that were given by Options.Forced
	Ended   bool // the model ended its turn; false: MaxTokens was reached first, or
	Stopped bool // Options.Stop said so
	// Exchange is what a server said of a reply that it drew; nil where the tokens were drawn here.
	Exchange *inference.Exchange
}

// Text generates until the model ends its turn or the reply has MaxTokens. What was generated is decoded into the session,
// but for the token that ends the turn.
//
// Errors: invalid_tool_call where the grammar lets nothing through, and those of Session.Decode.
func Text(ctx context.Context, tok inference.Tokenizer, s inference.Session, o Options) (Result, error) {
	var r Result
	out := writer{on: o.OnText}
	if o.Forced != "" {
		if err := force(ctx, tok, s, &o, &r, &out); err != nil {
			return r, err
		}
	}
	for range o.MaxTokens - r.Forced {
		if o.Stop != nil && o.Stop() {
			r.Stopped = true
			break
		}
		t, err := draw(s.Logits(), o)
		if err != nil {
			r.Text = out.all()
			return r, err
		}
		o.first()
		if tok.IsEnd(t) {
			r.Ended = true
			break
		}
		if o.Grammar != nil {
			o.Grammar.Accept(t)
		}
		r.Drawn++
		out.add(tok.Piece(t))
		if err := s.Decode(ctx, inference.Batch{Tokens: []inference.Token{t}}); err != nil {
			r.Text = out.all()
			return r, err
		}
	}
	r.Text = out.all()
	return r, nil
}

func force(ctx context.Context, tok inference.Tokenizer, s inference.Session, o *Options, r *Result, out *writer) error {
	tokens, err := tok.Tokenize(o.Forced, false)
	if err != nil {
		return err
	}
	if len(tokens) < 2 {
		return nil
	}
	tokens = tokens[:min(len(tokens)-1, o.MaxTokens)]
	for i, t := range tokens {
		if o.Grammar != nil {
			if len(o.Grammar.Filter([]inference.Token{t})) == 0 {
				tokens = tokens[:i] // the grammar disagrees: from here on tokens are drawn under it
				break
			}
			o.Grammar.Accept(t)
		}
		out.add(tok.Piece(t))
	}
	if r.Forced = len(tokens); r.Forced == 0 {
		return nil
	}
	o.first()
	return s.Decode(ctx, inference.Batch{Tokens: tokens})
}

// draw picks the next token. Most often the most likely one is allowed, then a few; the whole vocabulary is put to the
// grammar only when none of those is.
func draw(logits []float32, o Options) (inference.Token, error) {
	if len(logits) == 0 {
		return 0, fault.New(fault.CodeInternal, "generate: the session has no logits: nothing was decoded")
	}
	for _, n := range []int{1, 64, len(logits)} {
		if n == 1 && o.Temperature > 0 {
			continue
		}
		candidates := top(logits, n)
		if o.Grammar != nil {
			candidates = o.Grammar.Filter(candidates)
		}
		if len(candidates) > 0 {
			return pick(logits, candidates, o), nil
		}
	}
	return 0, fault.New(fault.CodeInvalidToolCall, "the grammar lets no token through")
}

func pick(logits []float32, candidates []inference.Token, o Options) inference.Token {
	if o.Temperature <= 0 {
		return candidates[0]
	}
	weights := make([]float64, len(candidates))
	sum, high := 0.0, float64(logits[candidates[0]])
	for i, c := range candidates {
		weights[i] = math.Exp((float64(logits[c]) - high) / o.Temperature)
		sum += weights[i]
	}
	x := o.Random.Float64() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return candidates[i]
		}
	}
	return candidates[len(candidates)-1]
}

// top gives the n best tokens, best first; equal scores go to the lower id.
func top(logits []float32, n int) []inference.Token {
	if n == 1 {
		best := 0
		for i, l := range logits {
			if l > logits[best] {
				best = i
			}
		}
		return []inference.Token{inference.Token(best)}
	}
	order := make([]inference.Token, 0, n+1)
	if n < len(logits) {
		for i, l := range logits {
			if len(order) == n && l <= logits[order[n-1]] {
				continue
			}
			at, _ := slices.BinarySearchFunc(order, l, func(t inference.Token, l float32) int {
				if logits[t] >= l {
					return -1
				}
				return 1
			})
			if order = slices.Insert(order, at, inference.Token(i)); len(order) > n {
				order = order[:n]
			}
		}
		return order
	}
	for i := range logits {
		order = append(order, inference.Token(i))
	}
	slices.SortStableFunc(order, func(a, b inference.Token) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	return order
}

// writer gathers pieces and passes on whole characters: a character may come in several tokens.
type writer struct {
	on      func(string)
	text    []byte
	written int
}

func (w *writer) add(piece []byte) {
	w.text = append(w.text, piece...)
	if w.on == nil {
		return
	}
	end := len(w.text)
	for back := 1; back <= min(utf8.UTFMax, end); back++ { // hold back an unfinished character
		if c := w.text[end-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(w.text[end-back:]) {
				end -= back
			}
			break
		}
	}
	if end > w.written {
		w.on(string(w.text[w.written:end]))
		w.written = end
	}
}

func (w *writer) all() string {
	if w.on != nil && w.written < len(w.text) {
		w.on(string(w.text[w.written:]))
		w.written = len(w.text)
	}
	return string(w.text)
}
