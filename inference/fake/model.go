package fake

import (
	"context"
	"strings"
	"sync"

	"edge/inference"
	"edge/internal/fault"
)

// model is an opened model: a seed.
type model struct {
	engine *Engine
	seed   uint64
	mu     sync.Mutex
	users  int // open sessions and grammars
	closed bool
}

var _ inference.Model = (*model)(nil)

// Info implements inference.Model.
func (m *model) Info() inference.ModelInfo {
	o := m.engine.options
	return inference.ModelInfo{
		Architecture:  "fake",
		Description:   "fake model for tests",
		ChatTemplate:  o.ChatTemplate,
		VocabSize:     len(m.engine.tokens.pieces),
		ContextLength: o.ContextLength,
		EmbeddingSize: o.EmbeddingSize,
		HasTokenizer:  true,
		AddBOS:        o.AddBOS,
		BOS:           tokenBOS,
		EOS:           tokenTurnEnd,
		BOSText:       BOSText,
		EOSText:       TurnEndText,
		Can:           inference.Can(inference.BackendLlamaCpp), // what it stands in for
	}
}

// Tokenize implements inference.Tokenizer.
func (m *model) Tokenize(text string, special bool) ([]inference.Token, error) {
	return m.engine.tokens.tokenize(text, special)
}

// Piece implements inference.Tokenizer.
func (m *model) Piece(t inference.Token) []byte { return m.engine.tokens.piece(t) }

// IsEnd implements inference.Tokenizer.
func (m *model) IsEnd(t inference.Token) bool { return isEnd(t) }

// NewSession implements inference.Model.
func (m *model) NewSession(ctx context.Context, p inference.Params) (inference.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.check(p); err != nil {
		return nil, err
	}
	if m.engine.options.Faults.NewSession {
		return nil, fault.New(fault.CodeEngineLoadFailed, "make a context of %d tokens failed, as the test asked", p.ContextTokens)
	}
	if err := m.acquire(); err != nil {
		return nil, err
	}
	m.engine.count(func(s *Stats) { s.OpenSessions++ })
	s := &session{model: m, params: p}
	s.clear()
	return s, nil
}

func (m *model) check(p inference.Params) error {
	known := func(kind string) bool { return kind == "f16" || kind == "q8_0" || kind == "q4_0" }
	switch {
	case !known(p.KVTypeK) || !known(p.KVTypeV):
		return fault.New(fault.CodeInvalidArguments, "KV type %s/%s isn't one of f16, q8_0, q4_0", p.KVTypeK, p.KVTypeV)
	case p.KVTypeV != "f16" && !p.FlashAttention:
		return fault.New(fault.CodeInvalidArguments, "KV type %s for values needs flash attention", p.KVTypeV)
	case p.ContextTokens < 1 || p.BatchTokens < 1 || p.UBatchTokens < 1 || p.UBatchTokens > p.BatchTokens || p.Threads < 1:
		return fault.New(fault.CodeInvalidArguments, "session parameters out of range: %+v", p)
	case p.ContextTokens > m.engine.options.ContextLength:
		return fault.New(fault.CodeContextFull, "%d tokens are needed, and the model's context holds %d", p.ContextTokens, m.engine.options.ContextLength)
	}
	return nil
}

// NewGrammar implements inference.Model.
func (m *model) NewGrammar(gbnf string) (inference.Grammar, error) {
	if strings.ContainsRune(gbnf, 0) {
		return nil, fault.New(fault.CodeUnsupportedSchema, "the grammar holds a NUL character")
	}
	compiled, err := parseGBNF(gbnf)
	if err != nil {
		return nil, fault.New(fault.CodeUnsupportedSchema, "the engine refused the grammar: %w", err)
	}
	if err := m.acquire(); err != nil {
		return nil, err
	}
	m.engine.count(func(s *Stats) { s.OpenGrammars++ })
	matcher := newMatcher(compiled)
	return &grammar{model: m, matcher: matcher, at: matcher.start()}, nil
}

func (m *model) acquire() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fault.New(fault.CodeSessionClosed, "the model was closed")
	}
	m.users++
	return nil
}

func (m *model) release(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users--
	m.engine.count(change)
}

// Close implements inference.Model. It refuses while sessions or grammars are open.
func (m *model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if m.users > 0 {
		return fault.New(fault.CodeInternal, "close model: %d sessions or grammars are open", m.users)
	}
	m.closed = true
	m.engine.count(func(s *Stats) { s.OpenModels-- })
	return nil
}

// grammar implements inference.Grammar.
type grammar struct {
	model   *model
	matcher *matcher
	at      place
	once    sync.Once
}

// Filter implements inference.Grammar.
func (g *grammar) Filter(candidates []inference.Token) []inference.Token {
	var out []inference.Token
	for _, t := range candidates {
		if _, ok := g.next(t); ok {
			out = append(out, t)
		}
	}
	return out
}

func (g *grammar) next(t inference.Token) (place, bool) {
	if isEnd(t) {
		return g.at, g.at.ends()
	}
	piece := g.model.Piece(t)
	if len(piece) == 0 || piece[0] == 0 {
		return place{}, false
	}
	return g.matcher.feed(g.at, piece)
}

// Accept implements inference.Grammar. Like the real one's, it ends the program for a token that Filter refused.
func (g *grammar) Accept(t inference.Token) {
	at, ok := g.next(t)
	if !ok {
		panic("fake: the grammar was given a token that it refuses")
	}
	g.at = at
}

// Close implements inference.Grammar.
func (g *grammar) Close() error {
	g.once.Do(func() { g.model.release(func(s *Stats) { s.OpenGrammars-- }) })
	return nil
}
