// Package compare measures model files against each other: how fast each of them computes on this machine, and how far
// its next-token distributions are from another's.
//
// Its invariant: every file gets the same tokens, one file is open at a time, and nothing but decoding is timed. It
// judges nothing: which file is better is its caller's question.
package compare

import (
	"context"
	_ "embed"
	"errors"
	"math"
	"time"

	"edge/inference"
)

const (
	// PrefillTokens are decoded in one batch to measure reading, and DecodeTokens one by one to measure writing.
	PrefillTokens = 256
	DecodeTokens  = 32
	// Positions is over how many next-token distributions a divergence is taken.
	Positions = 256
)

// text is what is decoded: prose, advice, a conversation, code, JSON and some German, written for this purpose.
//
//go:embed text.txt
var text string

// Bench opens models and decodes in sessions with Params, whose ContextTokens it sets itself. Now is the clock.
type Bench struct {
	Engine inference.Engine
	Params inference.Params
	Now    func() time.Time
}

// Speed is in tokens per second.
type Speed struct{ Prefill, Decode float64 }

// Speed measures the model file at path once. The weights are touched before the clock starts.
func (b Bench) Speed(ctx context.Context, path string) (speed Speed, err error) {
	err = b.with(ctx, path, PrefillTokens+DecodeTokens, func(s inference.Session, tokens []inference.Token) error {
		if err := s.Decode(ctx, inference.Batch{Tokens: tokens[:1]}); err != nil {
			return err
		}
		if err := s.Reset(ctx); err != nil {
			return err
		}
		began := b.Now()
		if err := s.Decode(ctx, inference.Batch{Tokens: tokens[:PrefillTokens]}); err != nil {
			return err
		}
		read := b.Now()
		if err := each(ctx, s, tokens[PrefillTokens:], func([]float32) {}); err != nil {
			return err
		}
		speed = Speed{
			Prefill: PrefillTokens / read.Sub(began).Seconds(),
			Decode:  DecodeTokens / b.Now().Sub(read).Seconds(),
		}
		return nil
	})
	return speed, err
}

// Divergences gives, for the model file at each of the other paths, the mean over Positions of the Kullback-Leibler
// divergence of its next-token distribution from that of the file at reference, in nats. All must have one vocabulary.
// The reference's distributions are kept in memory: Positions × vocabulary × 4 bytes.
func (b Bench) Divergences(ctx context.Context, reference string, others []string) ([]float64, error) {
	var want [][]float32
	err := b.with(ctx, reference, Positions, func(s inference.Session, tokens []inference.Token) error {
		return each(ctx, s, tokens, func(logits []float32) { want = append(want, logProbabilities(logits)) })
	})
	if err != nil {
		return nil, err
	}
	means := make([]float64, len(others))
	for i, path := range others {
		err := b.with(ctx, path, Positions, func(s inference.Session, tokens []inference.Token) error {
			at := 0
			err := each(ctx, s, tokens, func(logits []float32) {
				if len(logits) == len(want[at]) {
					means[i] += divergence(want[at], logProbabilities(logits)) / Positions
					at++
				}
			})
			if err == nil && at < Positions {
				err = errors.New("compare: the models have different vocabularies")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return means, nil
}

// with opens a model and a session with room for n tokens, and gives do both the session and n tokens.
func (b Bench) with(ctx context.Context, path string, n int, do func(inference.Session, []inference.Token) error) (err error) {
	m, err := b.Engine.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	tokens, err := tokensOf(m, n)
	if err != nil {
		return err
	}
	params := b.Params
	params.ContextTokens = n
	s, err := m.NewSession(ctx, params)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s, tokens)
}

// tokensOf gives n tokens of the text, from its beginning again where it is too short. A model without a tokenizer gets
// ids from all over its vocabulary.
func tokensOf(m inference.Model, n int) (tokens []inference.Token, err error) {
	info := m.Info()
	if !info.HasTokenizer {
		for i := range n {
			tokens = append(tokens, inference.Token((i*31+7)%info.VocabSize))
		}
		return tokens, nil
	}
	once, err := m.Tokenize(text, false)
	if err != nil {
		return nil, err
	}
	if info.AddBOS {
		tokens = append(tokens, info.BOS)
	}
	for len(tokens) < n {
		tokens = append(tokens, once...)
	}
	return tokens[:n], nil
}

// each decodes tokens one by one and shows what follows each of them.
func each(ctx context.Context, s inference.Session, tokens []inference.Token, see func(logits []float32)) error {
	for i := range tokens {
		if err := s.Decode(ctx, inference.Batch{Tokens: tokens[i : i+1]}); err != nil {
			return err
		}
		see(s.Logits())
	}
	return nil
}

// logProbabilities is log softmax.
func logProbabilities(logits []float32) []float32 {
	top := math.Inf(-1)
	for _, x := range logits {
		top = max(top, float64(x))
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	shift := top + math.Log(sum)
	out := make([]float32, len(logits))
	for i, x := range logits {
		out[i] = float32(float64(x) - shift)
	}
	return out
}

// divergence is Σ p·(log p − log q) of two distributions, given as the logarithms of their probabilities. Rounding can
// put it a little below 0.
func divergence(p, q []float32) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Exp(float64(p[i])) * (float64(p[i]) - float64(q[i]))
	}
	return max(sum, 0)
}
