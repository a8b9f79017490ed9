// Package inference is the port to a model that runs here: values and small interfaces, no engine.
//
// The invariant that its adapters keep: a session decodes forward only, from position 0, on one owning goroutine; what
// Restore puts into a session is bit for bit what a live prefill with the same split points would have put there; and
// after any failure the session is closed, because an engine's state can't be trusted then. Conformance of an adapter
// is proven by package enginetest.
package inference

import (
	"context"

	"edge/internal/digest"
	"edge/internal/sealed"
)

// Token is an id of the model's vocabulary, 0 ≤ id < ModelInfo.VocabSize.
type Token int32

// Library is one file of the engine, with the digest that its bytes had before it was opened.
type Library struct {
	Name   string        `json:"name"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// EngineInfo says which engine computes, for the identity of an imprint.
type EngineInfo struct {
	Name      string
	Version   string
	Libraries []Library // sorted by name
	Backend   string    // the processor variant in use, such as "CPU: AVX512"
}

// ModelInfo is what the engine knows of a loaded model.
type ModelInfo struct {
	Architecture  string
	Description   string
	ChatTemplate  string // Jinja source; empty where the file has none
	VocabSize     int
	ContextLength int // tokens the model was trained for
	EmbeddingSize int
	HasTokenizer  bool
	AddBOS        bool // the model declares that a text starts with BOS
	BOS, EOS      Token
	BOSText       string
	EOSText       string
	SlidingWindow int // tokens; 0 where attention is full
	Recurrent     bool
	Hybrid        bool
	Can           Capabilities
}

// Layered reports whether a state can be cut into layers: where every token has rows of its own in the cache. A
// recurrent state is of all tokens at once, a sliding window forgets rows that an earlier layer would need, and a text that
// is replayed has nothing to save by layers.
func (m ModelInfo) Layered() bool {
	return m.Can.State && !m.Recurrent && !m.Hybrid && m.SlidingWindow == 0
}

// Params are a session's parameters. All but ContextTokens, Threads and Adapt change the bytes of a state, so they belong to
// an imprint's identity.
type Params struct {
	ContextTokens  int // positions to make room for
	Threads        int
	Adapt          bool   // compute with fewer threads, down to one, while other programs need the cores
	BatchTokens    int    // n_batch
	UBatchTokens   int    // n_ubatch; another value gives other bits
	KVTypeK        string // f16, q8_0, q4_0
	KVTypeV        string
	FlashAttention bool
	SWAFull        bool // keep all positions of sliding-window layers
	RopeFreqBase   float32
	RopeFreqScale  float32 // 0: what the model file says
}

// DefaultParams are the parameters that every command starts from.
func DefaultParams() Params {
	return Params{BatchTokens: 512, UBatchTokens: 512, KVTypeK: "f16", KVTypeV: "f16", FlashAttention: true, Threads: 1}
}

// Engine loads models. Close unloads it; models must be closed first.
type Engine interface {
	Info() EngineInfo
	Open(ctx context.Context, path string) (Model, error)
	Close() error
}

// Tokenizer turns text into tokens and back. With special, the text of special tokens (such as "<|im_start|>") becomes
// those tokens; without, it stays text, which is what anything that a user or a tool wrote must do.
type Tokenizer interface {
	Tokenize(text string, special bool) ([]Token, error)
	Piece(Token) []byte // the token's bytes; none for special tokens
	IsEnd(Token) bool   // the token ends a turn or the text
}

// Model is a loaded model. It may be used from several goroutines; its sessions must be closed before it.
type Model interface {
	Tokenizer
	Info() ModelInfo
	NewSession(ctx context.Context, p Params) (Session, error)
	// NewGrammar compiles GBNF text with the rule "root"; the error has the code unsupported_schema.
	NewGrammar(gbnf string) (Grammar, error)
	Close() error
}

// Grammar says which tokens may come next.
type Grammar interface {
	// Filter gives the candidates that may come next, in the order given.
	Filter(candidates []Token) []Token
	// Accept moves on by a token that Filter let through.
	Accept(Token)
	Close() error
}

// Progress hears how many tokens of a Decode call are done.
type Progress func(done, total int)

// Batch is one Decode call's work.
type Batch struct {
	Tokens   []Token
	Hidden   bool     // also compute the last layer's hidden state of every token
	Progress Progress // may be nil
}

// Session is one sequence's computed state. Its methods may be called from any goroutine, one at a time: the adapter
// runs them on the goroutine that owns the engine's context. After an error of Decode or RestoreState, and after Close,
// every method answers inference_session_closed.
type Session interface {
	// Decode appends tokens. Errors: context_full before anything is decoded, engine_decode_failed, the context's own.
	Decode(ctx context.Context, b Batch) error
	// Logits gives the scores of every vocabulary entry after the last decoded token. They may be overwritten by the
	// next Decode. It is nil before the first Decode, also right after a restore: logits aren't part of a state.
	Logits() []float32
	// Hidden gives the hidden states of the last Decode with Batch.Hidden: one row of EmbeddingSize per token.
	Hidden() [][]float32
	// Decoded is how many tokens this session has really decoded since it was made or reset: the measure of reuse.
	Decoded() int
	// Position is how many tokens the state stands for: restored and decoded ones.
	Position() int
	// SaveState gives the whole state, in one layer.
	SaveState(ctx context.Context) (sealed.State, error)
	// SaveLayer gives what was decoded from position from on, in one layer that RestoreState takes behind a state of the
	// tokens before it. from 0 is SaveState. Only where ModelInfo.Layered; else the error is architecture_unsupported.
	SaveLayer(ctx context.Context, from int) (sealed.State, error)
	// RestoreState takes a state into a session that holds nothing. Error: engine_restore_failed, which closes it.
	RestoreState(ctx context.Context, s sealed.State) error
	// Reset empties the session, as if it had just been made.
	Reset(ctx context.Context) error
	Close() error
}
