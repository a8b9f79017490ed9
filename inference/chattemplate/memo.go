package chattemplate

import (
	"sync"

	"edge/inference"
)

// memoSize is how many texts a memo holds: the turns of a conversation's beginning, and some.
const memoSize = 128

// memo keeps what texts came to. A conversation is rendered several times before its first token is decoded, and nearly
// all of it is the same text each time. It may be used from several goroutines.
type memo struct {
	mu    sync.Mutex
	known map[text][]inference.Token
}

// text is what is tokenized; special as for inference.Tokenizer.
type text struct {
	content string
	special bool
}

// tokenize gives the text's tokens, which must not be changed.
func (m *memo) tokenize(tok inference.Tokenizer, t text) ([]inference.Token, error) {
	m.mu.Lock()
	tokens, ok := m.known[t]
	m.mu.Unlock()
	if ok {
		return tokens, nil
	}
	tokens, err := tok.Tokenize(t.content, t.special)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= memoSize {
		m.known = map[text][]inference.Token{}
	}
	m.known[t] = tokens
	return tokens, nil
}
