package served

import (
	"context"
	"strings"
	"sync"

	"edge/inference"
	"edge/internal/fault"
)

// KVType stands in an imprint's identity where a server keeps its cache to itself: the kind of the imprint.
const KVType = "prefix_replay"

// Params are what sessions of served models are made with; the server has settings of its own.
func Params() inference.Params {
	return inference.Params{Threads: 1, BatchTokens: 1, UBatchTokens: 1, KVTypeK: KVType, KVTypeV: KVType}
}

// longest bounds a conversation, in bytes. Whether it fits the model's context only the server can say.
const longest = 1 << 24

// Request is what a server is asked.
type Request struct {
	Messages []Message
	inference.Ask
	// Prefix is the digest of the restored tokens as imprints have it (prefix_sha256), in hexadecimal: what a router can choose
	// a server by, so that its cache hits. Empty where nothing was restored.
	Prefix string
	Slot   *Slot // a computed state of the conversation's beginning that the server may restore first; nil: none
}

// Server draws a reply. hear gets the text as it comes, and its error ends the reply: Chat then gives that error.
type Server interface {
	Chat(ctx context.Context, r Request, hear func(text string) error) (ended bool, x inference.Exchange, err error)
}

// Keeper is a server that keeps computed states in files. Keep gives nil where it can't this time.
type Keeper interface {
	Keep(ctx context.Context, messages []Message) (*Slot, error)
}

// Embedder gives a vector for a text: the same for the same text, of Size dimensions.
type Embedder interface {
	Embed(ctx context.Context, text string) ([]float32, error)
	Size() int
}

// Model is a served model.
type Model struct {
	tokenizer
	server Server
	keeper Keeper
	embed  Embedder
	info   inference.ModelInfo
	about  inference.Exchange
	id     Identity

	mu     sync.Mutex
	open   int
	closed bool
}

var _ inference.Model = (*Model)(nil)

// Config is what a Model is made of.
type Config struct {
	Backend      string // of inference.Backends
	Architecture string
	Description  string
	Identity     Identity
	Server       Server
	Keeper       Keeper   // nil: the server keeps no states
	Embedder     Embedder // nil: Features
}

// NewModel makes a model of a server.
func NewModel(c Config) *Model {
	m := &Model{server: c.Server, keeper: c.Keeper, embed: c.Embedder, about: inference.Exchange{Backend: c.Backend, ModelProven: c.Identity.Proven}, id: c.Identity}
	m.info = inference.ModelInfo{
		Architecture: c.Architecture, Description: c.Description, ChatTemplate: template, VocabSize: vocabulary, ContextLength: longest,
		EmbeddingSize: featureSize, HasTokenizer: true, BOS: -1, EOS: markEnd, EOSText: marks()[markEnd-markSystem], Can: inference.Can(c.Backend),
	}
	if c.Embedder != nil {
		m.info.EmbeddingSize = c.Embedder.Size()
	}
	m.info.Can.Slots = c.Keeper != nil
	m.info.Can.Proven = c.Identity.Proven
	return m
}

// Info implements inference.Model.
func (m *Model) Info() inference.ModelInfo { return m.info }

// Identity implements Described.
func (m *Model) Identity() Identity { return m.id }

// NewGrammar implements inference.Model: edge draws no tokens of a served model.
func (m *Model) NewGrammar(string) (inference.Grammar, error) {
	return nil, fault.New(fault.CodeUnsupportedSchema, "a served model's tokens aren't drawn by edge, so no grammar filters them")
}

// NewSession implements inference.Model.
func (m *Model) NewSession(ctx context.Context, p inference.Params) (inference.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case p.KVTypeK != KVType || p.KVTypeV != KVType:
		return nil, fault.New(fault.CodeInvalidArguments, "KV type %s/%s: a server keeps its cache as it likes", p.KVTypeK, p.KVTypeV)
	case p.ContextTokens < 1 || p.BatchTokens < 1 || p.UBatchTokens < 1 || p.UBatchTokens > p.BatchTokens || p.Threads < 1:
		return nil, fault.New(fault.CodeInvalidArguments, "session parameters out of range: %+v", p)
	case p.ContextTokens > longest:
		return nil, fault.New(fault.CodeContextFull, "%d bytes are needed, and a conversation holds %d", p.ContextTokens, longest)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fault.New(fault.CodeSessionClosed, "the model was closed")
	}
	m.open++
	return &session{model: m, room: p.ContextTokens}, nil
}

func (m *Model) release() {
	m.mu.Lock()
	m.open--
	m.mu.Unlock()
}

// Close implements inference.Model.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open > 0 {
		return fault.New(fault.CodeInternal, "close model: %d sessions are open", m.open)
	}
	m.closed = true
	return nil
}

// look gives the vector of the last thing that the user said.
func (m *Model) look(ctx context.Context, tokens []inference.Token) ([]float32, error) {
	text := lastOfUser(tokens)
	if m.embed == nil {
		return Features(text), nil
	}
	v, err := m.embed.Embed(ctx, text)
	if err == nil && len(v) != m.embed.Size() {
		err = fault.New(fault.CodeServedReply, "an embedding of %d dimensions, want %d", len(v), m.embed.Size())
	}
	return v, err
}

// lastOfUser is the content of the last message of the user's, or what there is of it.
func lastOfUser(tokens []inference.Token) string {
	var b strings.Builder
	in := true // tokens that begin within a message are one
	for _, t := range tokens {
		switch {
		case t == markUser:
			b.Reset()
			in = true
		case t >= 256:
			in = false
		case in:
			b.WriteByte(byte(t))
		}
	}
	return b.String()
}
