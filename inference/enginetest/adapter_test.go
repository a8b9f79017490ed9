package enginetest

import (
	"context"
	"slices"

	"edge/inference"
	"edge/internal/sealed"
)

// adapter is the fake, with parts of it replaced by worse ones.
type adapter struct {
	inference.Model
	session  func(inference.Session) inference.Session
	tokenize func(m inference.Model, text string, special bool) ([]inference.Token, error)
	piece    func(m inference.Model, t inference.Token) []byte
	grammar  func(m inference.Model, gbnf string) (inference.Grammar, error)
	params   func(*inference.Params)
	close    func(m inference.Model) error
}

func (a adapter) NewSession(ctx context.Context, p inference.Params) (inference.Session, error) {
	if a.params != nil {
		a.params(&p)
	}
	s, err := a.Model.NewSession(ctx, p)
	if err != nil || a.session == nil {
		return s, err
	}
	return a.session(s), nil
}

func (a adapter) Tokenize(text string, special bool) ([]inference.Token, error) {
	if a.tokenize == nil {
		return a.Model.Tokenize(text, special)
	}
	return a.tokenize(a.Model, text, special)
}

func (a adapter) Piece(t inference.Token) []byte {
	if a.piece == nil {
		return a.Model.Piece(t)
	}
	return a.piece(a.Model, t)
}

func (a adapter) NewGrammar(gbnf string) (inference.Grammar, error) {
	if a.grammar == nil {
		return a.Model.NewGrammar(gbnf)
	}
	return a.grammar(a.Model, gbnf)
}

func (a adapter) Close() error {
	if a.close == nil {
		return a.Model.Close()
	}
	return a.close(a.Model)
}

// twisted is a session whose methods can be replaced; a nil function leaves the method as it is.
type twisted struct {
	inference.Session
	decode   func(ctx context.Context, b inference.Batch) error
	logits   func() []float32
	hidden   func() [][]float32
	decoded  func() int
	position func() int
	save     func(ctx context.Context) (sealed.State, error)
	restore  func(ctx context.Context, s sealed.State) error
	reset    func(ctx context.Context) error
	close    func() error
}

func (t *twisted) Decode(ctx context.Context, b inference.Batch) error {
	if t.decode == nil {
		return t.Session.Decode(ctx, b)
	}
	return t.decode(ctx, b)
}

func (t *twisted) Logits() []float32 {
	if t.logits == nil {
		return t.Session.Logits()
	}
	return t.logits()
}

func (t *twisted) Hidden() [][]float32 {
	if t.hidden == nil {
		return t.Session.Hidden()
	}
	return t.hidden()
}

func (t *twisted) Decoded() int {
	if t.decoded == nil {
		return t.Session.Decoded()
	}
	return t.decoded()
}

func (t *twisted) Position() int {
	if t.position == nil {
		return t.Session.Position()
	}
	return t.position()
}

func (t *twisted) SaveState(ctx context.Context) (sealed.State, error) {
	if t.save == nil {
		return t.Session.SaveState(ctx)
	}
	return t.save(ctx)
}

func (t *twisted) RestoreState(ctx context.Context, s sealed.State) error {
	if t.restore == nil {
		return t.Session.RestoreState(ctx, s)
	}
	return t.restore(ctx, s)
}

func (t *twisted) Reset(ctx context.Context) error {
	if t.reset == nil {
		return t.Session.Reset(ctx)
	}
	return t.reset(ctx)
}

func (t *twisted) Close() error {
	if t.close == nil {
		return t.Session.Close()
	}
	return t.close()
}

// twist is an adapter whose sessions are changed.
func twist(change func(t *twisted)) adapter {
	return adapter{session: func(s inference.Session) inference.Session {
		t := &twisted{Session: s}
		change(t)
		return t
	}}
}

// bent is logits with the last bit of one of them changed.
func bent(logits []float32) []float32 {
	out := slices.Clone(logits)
	if len(out) > 0 {
		out[len(out)/2] += out[len(out)/2] / (1 << 20)
	}
	return out
}

// spoiledGrammar filters as told.
type spoiledGrammar struct {
	inference.Grammar
	filter func(g inference.Grammar, candidates []inference.Token) []inference.Token
}

func (g spoiledGrammar) Filter(candidates []inference.Token) []inference.Token {
	return g.filter(g.Grammar, candidates)
}

func filtering(filter func(g inference.Grammar, candidates []inference.Token) []inference.Token) adapter {
	return adapter{grammar: func(m inference.Model, gbnf string) (inference.Grammar, error) {
		g, err := m.NewGrammar(gbnf)
		if err != nil {
			return nil, err
		}
		return spoiledGrammar{g, filter}, nil
	}}
}
