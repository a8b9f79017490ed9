package llamacpp

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/fault"
)

// Model is a GGUF file mapped into memory.
type Model struct {
	engine *Engine
	handle llama.Model
	vocab  llama.Vocab
	info   inference.ModelInfo
	// headSize is how many numbers a key has in one head of the first layer.
	headSize int
	voice    []atomic.Int32 // of each token: unheard, or whether it is silent; filled as tokens are asked for
	mu       sync.Mutex
	open     int // sessions and grammars that use the handle
	closed   bool
}

var _ inference.Model = (*Model)(nil)

func describe(handle llama.Model, vocab llama.Vocab) inference.ModelInfo {
	info := inference.ModelInfo{
		Description:   llama.ModelDesc(handle),
		ChatTemplate:  llama.ModelChatTemplate(handle, ""),
		VocabSize:     int(llama.VocabNTokens(vocab)),
		ContextLength: int(llama.ModelNCtxTrain(handle)),
		EmbeddingSize: int(llama.ModelNEmbd(handle)),
		HasTokenizer:  llama.GetVocabType(vocab) != llama.VocabTypeNone,
		AddBOS:        llama.VocabGetAddBOS(vocab),
		BOS:           inference.Token(llama.VocabBOS(vocab)),
		EOS:           inference.Token(llama.VocabEOS(vocab)),
		SlidingWindow: int(llama.ModelNSWA(handle)),
		Recurrent:     llama.ModelIsRecurrent(handle),
		Hybrid:        llama.ModelIsHybrid(handle),
		Can:           inference.Can(inference.BackendLlamaCpp),
	}
	info.Architecture, _ = llama.ModelMetaValStr(handle, "general.architecture")
	if info.HasTokenizer {
		info.BOSText = specialText(vocab, info.BOS)
		info.EOSText = specialText(vocab, info.EOS)
	}
	return info
}

func specialText(vocab llama.Vocab, token inference.Token) string {
	if token < 0 {
		return ""
	}
	return string(piece(vocab, token, true))
}

// headSize reads the width of a key, which is the embedding's share of a head where the file says nothing else.
func headSize(handle llama.Model, info inference.ModelInfo) int {
	said, _ := llama.ModelMetaValStr(handle, info.Architecture+".attention.key_length")
	if n, err := strconv.Atoi(said); err == nil {
		return n
	}
	return info.EmbeddingSize / max(int(llama.ModelNHead(handle)), 1)
}

// Info implements inference.Model.
func (m *Model) Info() inference.ModelInfo { return m.info }

// headless says that the model's graph has no output head while embeddings are on, so that one pass gives hidden states
// or logits, not both (llama.cpp's models/lfm2.cpp builds the head under "if (!cparams.embeddings)").
func (m *Model) headless() bool {
	return m.info.Architecture == "lfm2" || m.info.Architecture == "lfm2moe"
}

// Tokenize implements inference.Tokenizer. It never adds BOS or EOS: the prompt's renderer knows where they belong.
func (m *Model) Tokenize(text string, special bool) ([]inference.Token, error) {
	if !m.info.HasTokenizer {
		return nil, fault.New(fault.CodeArchitectureUnsupported, "the model file has no tokenizer")
	}
	if text == "" {
		return nil, nil
	}
	// The binding passes a NULL pointer for such a text, and llama_tokenize reads through it.
	if strings.ContainsRune(text, 0) {
		return nil, fault.New(fault.CodeInvalidArguments, "the text holds a NUL character, at byte %d", strings.IndexByte(text, 0))
	}
	// int32_t llama_tokenize(vocab, text, text_len, tokens, n_tokens_max, add_special, parse_special)
	raw := llama.Tokenize(m.vocab, text, false, special)
	tokens := make([]inference.Token, len(raw))
	for i, t := range raw {
		if t < 0 || int(t) >= m.info.VocabSize {
			return nil, fault.New(fault.CodeEngineDecodeFailed, "the tokenizer gave id %d, outside the vocabulary of %d", t, m.info.VocabSize)
		}
		tokens[i] = inference.Token(t)
	}
	return tokens, nil
}

// Piece implements inference.Tokenizer. The engine aborts when it is asked about a token of a model without a tokenizer.
func (m *Model) Piece(t inference.Token) []byte {
	if !m.info.HasTokenizer {
		return nil
	}
	return piece(m.vocab, t, false)
}

// piece calls int32_t llama_token_to_piece(vocab, token, buf, length, lstrip, special); a negative result is the
// length that it needs.
func piece(vocab llama.Vocab, t inference.Token, special bool) []byte {
	buf := make([]byte, 64)
	n := llama.TokenToPiece(vocab, llama.Token(t), buf, 0, special)
	if n < 0 {
		buf = make([]byte, -n)
		n = llama.TokenToPiece(vocab, llama.Token(t), buf, 0, special)
	}
	return buf[:max(n, 0)]
}

const (
	unheard = iota
	hasText
	noText
)

// silent says that the token stands for no text and ends nothing: a control token. The engine is asked once for each,
// since grammars ask about whole vocabularies at every step.
func (m *Model) silent(t inference.Token) bool {
	voice := m.voice[t].Load()
	if voice == unheard {
		voice = hasText
		if len(m.Piece(t)) == 0 && !m.IsEnd(t) {
			voice = noText
		}
		m.voice[t].Store(voice)
	}
	return voice == noText
}

// IsEnd implements inference.Tokenizer.
func (m *Model) IsEnd(t inference.Token) bool {
	return m.info.HasTokenizer && llama.VocabIsEOG(m.vocab, llama.Token(t))
}

// NewSession implements inference.Model. The context has room for p.ContextTokens and no more. A type of keys or values
// that the architecture can't keep is architecture_unsupported.
func (m *Model) NewSession(ctx context.Context, p inference.Params) (inference.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.acquire(); err != nil {
		return nil, err
	}
	m.engine.log.clear()
	err := m.fitsBlocks(p)
	if err == nil {
		var s *session
		if s, err = newSession(ctx, m, p); err == nil {
			return s, nil
		}
	}
	m.release()
	if fault.Is(err, fault.CodeEngineLoadFailed) && m.needsF16(ctx, p) {
		return nil, fault.New(fault.CodeArchitectureUnsupported, "%s can't keep %s keys and %s values with flash attention %s, only f16: %v",
			m.info.Architecture, p.KVTypeK, p.KVTypeV, map[bool]string{false: "off", true: "on"}[p.FlashAttention], err)
	}
	return nil, err
}

// fitsBlocks: quantised keys are cut into blocks head by head. The engine looks whether they fit only with flash
// attention; without it, it computes NaN.
func (m *Model) fitsBlocks(p inference.Params) error {
	const block = 32 // of q8_0 and of q4_0
	if !m.info.Recurrent && p.KVTypeK != "f16" && m.headSize%block != 0 {
		return fault.New(fault.CodeArchitectureUnsupported, "%s can't keep %s keys: its heads are %d wide, and blocks hold %d numbers",
			m.info.Architecture, p.KVTypeK, m.headSize, block)
	}
	return nil
}

// needsF16 says that the engine makes a context once nothing in it is quantised.
func (m *Model) needsF16(ctx context.Context, p inference.Params) bool {
	if p.KVTypeK == "f16" && p.KVTypeV == "f16" || m.acquire() != nil {
		return false
	}
	p.KVTypeK, p.KVTypeV = "f16", "f16"
	s, err := newSession(ctx, m, p)
	if err != nil {
		m.release()
		return false
	}
	return s.Close() == nil
}

func (m *Model) acquire() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fault.New(fault.CodeSessionClosed, "the model was closed")
	}
	m.open++
	return nil
}

func (m *Model) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
}

// Close frees the model. It refuses while sessions or grammars use it.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if m.open > 0 {
		return fault.New(fault.CodeInternal, "close model: %s sessions or grammars are open", strconv.Itoa(m.open))
	}
	m.closed = true
	return llama.ModelFree(m.handle)
}
