package llamacpp

import (
	"math"
	"strings"
	"sync"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/fault"
)

// grammar is llama.cpp's grammar sampler, used as a filter.
type grammar struct {
	model   *Model
	sampler llama.Sampler
	buffer  []llama.TokenData
	once    sync.Once
}

var _ inference.Grammar = (*grammar)(nil)

// NewGrammar implements inference.Model.
func (m *Model) NewGrammar(gbnf string) (inference.Grammar, error) {
	// For an empty text the engine makes a sampler that filters nothing.
	if strings.TrimSpace(gbnf) == "" {
		return nil, fault.New(fault.CodeUnsupportedSchema, "the grammar is empty")
	}
	if strings.ContainsRune(gbnf, 0) {
		return nil, fault.New(fault.CodeUnsupportedSchema, "the grammar holds a NUL character")
	}
	if !m.info.HasTokenizer {
		return nil, fault.New(fault.CodeArchitectureUnsupported, "the model file has no tokenizer, so no token has text that a grammar could match")
	}
	if err := m.acquire(); err != nil {
		return nil, err
	}
	m.engine.loads.Lock()
	defer m.engine.loads.Unlock()
	m.engine.log.clear()
	// struct llama_sampler * llama_sampler_init_grammar(vocab, grammar_str, grammar_root): NULL if it doesn't parse.
	s := llama.SamplerInitGrammar(m.vocab, gbnf, "root")
	if s == 0 {
		m.release()
		return nil, fault.New(fault.CodeUnsupportedSchema, "the engine refused the grammar%s", m.engine.log.suffix())
	}
	return &grammar{model: m, sampler: s}, nil
}

// Filter implements inference.Grammar: llama_sampler_apply sets the score of what may not come to −∞. It matches control
// tokens by the text that they are written with, so that "<|im_start|>" could come inside a string; as they add no text
// to the answer, they are taken out here.
func (g *grammar) Filter(candidates []inference.Token) []inference.Token {
	g.buffer = g.buffer[:0]
	for _, c := range candidates {
		if c >= 0 && int(c) < g.model.info.VocabSize { // for any other id the engine throws across the C boundary
			g.buffer = append(g.buffer, llama.TokenData{Id: llama.Token(c)})
		}
	}
	if len(g.buffer) == 0 {
		return nil
	}
	array := &llama.TokenDataArray{Data: &g.buffer[0], Size: uint64(len(g.buffer)), Selected: -1}
	llama.SamplerApply(g.sampler, array)
	kept := make([]inference.Token, 0, 1)
	for _, d := range g.buffer {
		if t := inference.Token(d.Id); !math.IsInf(float64(d.Logit), -1) && !g.model.silent(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// Accept implements inference.Grammar. llama.cpp throws across the C boundary for a token that doesn't fit, so it must
// be one that Filter gave.
func (g *grammar) Accept(t inference.Token) { llama.SamplerAccept(g.sampler, llama.Token(t)) }

// Close implements inference.Grammar.
func (g *grammar) Close() error {
	g.once.Do(func() {
		llama.SamplerFree(g.sampler)
		g.model.release()
	})
	return nil
}
