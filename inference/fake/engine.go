package fake

import (
	"context"
	"errors"
	"os"
	"sync"

	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Template is the chat template of a model that Options leave without one: ChatML.
const Template = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// Options say what the engine's models are like. The zero value is a usable model.
type Options struct {
	// Script makes the model talk. It is given the tokens up to and with the header of the turn that is being written
	// ("<|im_start|>assistant\n") and answers what that turn says, or ok = false to let the model babble. It must be a
	// function of history. While the turn so far is a beginning of the reply, the next token of the reply gets by far
	// the best score; after the last one it is <|im_end|>.
	Script func(history []inference.Token) (reply string, ok bool)
	Faults Faults

	ChatTemplate  string // empty: Template
	ContextLength int    // 0: 32,768
	EmbeddingSize int    // 0: 64
	AddBOS        bool
	Seed          uint64 // another seed is another model of the same shape
}

// Faults are the ways of failing that real engines have shown. A call's number counts all sessions of the engine from
// 1; 0 is never.
type Faults struct {
	Open       bool // Open answers engine_load_failed
	NewSession bool // NewSession answers engine_load_failed
	DecodeCall int  // this Decode call fails after its first token: engine_decode_failed

	// BeforeDecode is called with the number of each Decode call before it starts, and may cancel its context.
	BeforeDecode func(call int)

	Save          bool // SaveState answers engine_decode_failed
	SaveShort     bool // SaveState loses the state's last byte and says nothing
	RestoreHalf   bool // RestoreState stops in the middle: engine_restore_failed
	RestoreForget bool // RestoreState says that it worked, and holds nothing: Position stays 0
}

// Stats count what an engine has been asked to do.
type Stats struct {
	DecodeCalls   int
	DecodedTokens int
	Saves         int
	Restores      int // successful ones
	OpenModels    int
	OpenSessions  int
	OpenGrammars  int
}

// Engine is the fake. It may be used from several goroutines.
type Engine struct {
	options Options
	tokens  *tokenizer
	mu      sync.Mutex
	stats   Stats
}

var _ inference.Engine = (*Engine)(nil)

// New makes an engine.
func New(options Options) *Engine {
	if options.ChatTemplate == "" {
		options.ChatTemplate = Template
	}
	if options.ContextLength == 0 {
		options.ContextLength = 32768
	}
	if options.EmbeddingSize == 0 {
		options.EmbeddingSize = 64
	}
	return &Engine{options: options, tokens: newTokenizer()}
}

// Stats gives the counts so far; the Open… ones tell whether everything was closed.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

func (e *Engine) count(change func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.stats)
}

// Info implements inference.Engine.
func (e *Engine) Info() inference.EngineInfo {
	return inference.EngineInfo{
		Name:      "fake",
		Version:   "1",
		Libraries: []inference.Library{{Name: "fake", SHA256: digest.SHA256Of([]byte("edge fake engine 1"))}},
		Backend:   "none",
	}
}

// Open implements inference.Engine. The file's bytes decide what the model says, whatever they are; an empty path is a
// model without a file. Errors: model_not_found; engine_load_failed where the Faults say so.
func (e *Engine) Open(ctx context.Context, path string) (inference.Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	seed := mix(e.options.Seed, 0)
	if path != "" {
		content, err := digest.SHA256File(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fault.New(fault.CodeModelNotFound, "model file %s: %w", path, err)
		case err != nil:
			return nil, fault.New(fault.CodeEngineLoadFailed, "load model %s: %w", path, err)
		}
		for _, b := range content {
			seed = mix(seed, uint64(b))
		}
	}
	if e.options.Faults.Open {
		return nil, fault.New(fault.CodeEngineLoadFailed, "load model %q failed, as the test asked", path)
	}
	e.count(func(s *Stats) { s.OpenModels++ })
	return &model{engine: e, seed: seed}, nil
}

// Close implements inference.Engine.
func (e *Engine) Close() error { return nil }
