package fake

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// session holds tokens and the hashes that stand for a computed state.
type session struct {
	model  *model
	params inference.Params

	mu      sync.Mutex
	closed  bool
	tokens  []inference.Token
	rows    []uint64 // the hash after each token: what a state keeps of it
	hash    uint64   // of the tokens
	noise   uint64   // of the tokens and the split points
	decoded int
	logits  []float32
	hidden  [][]float32

	current, lastWord word
	inWord            bool
}

var _ inference.Session = (*session)(nil)

func (s *session) clear() {
	s.tokens, s.rows, s.decoded, s.logits, s.hidden = nil, nil, 0, nil, nil
	s.current, s.lastWord, s.inWord = word{}, word{}, false
	s.hash = s.model.seed
	// What changes a real state's bytes changes the noise; threads and room don't.
	s.noise = mix(s.model.seed, uint64(s.cells()))
	for _, f := range []float32{s.params.RopeFreqBase, s.params.RopeFreqScale} {
		s.noise = mix(s.noise, uint64(int64(f*1e6)))
	}
	if s.params.FlashAttention {
		s.noise = mix(s.noise, 1)
	}
}

// cells says how the cache is laid out: the one thing, with the length, that a restore checks.
func (s *session) cells() uint32 {
	kinds := []string{"f16", "q8_0", "q4_0"}
	return uint32(slices.Index(kinds, s.params.KVTypeK)<<8 | slices.Index(kinds, s.params.KVTypeV))
}

func (s *session) append(t inference.Token) {
	s.tokens = append(s.tokens, t)
	s.hash, s.noise = mix(s.hash, uint64(t)), mix(s.noise, uint64(t))
	s.rows = append(s.rows, s.hash)
	s.read(t)
}

// read follows the words of the text.
func (s *session) read(t inference.Token) {
	if isSpecial(t) {
		s.current, s.lastWord, s.inWord = word{}, word{}, false
		return
	}
	s.lastWord, s.inWord = s.current.extend(s.model.engine.tokens.pieces[t])
}

// do is the frame of every method: one at a time, refused once closed, and closed by an error where poison is set.
func (s *session) do(poison bool, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.CodeSessionClosed, "the session was closed")
	}
	err := f()
	if err != nil && poison {
		s.free()
	}
	return err
}

func (s *session) free() {
	s.closed = true
	s.logits, s.hidden = nil, nil
	s.model.release(func(st *Stats) { st.OpenSessions-- })
}

// Close implements inference.Session.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.free()
	}
	return nil
}

// Decode implements inference.Session.
func (s *session) Decode(ctx context.Context, b inference.Batch) error {
	if len(b.Tokens) == 0 {
		return fault.New(fault.CodeInternal, "decode: no tokens")
	}
	faults, call := s.model.engine.options.Faults, 0
	s.model.engine.count(func(st *Stats) { st.DecodeCalls++; call = st.DecodeCalls })
	if faults.BeforeDecode != nil {
		faults.BeforeDecode(call)
	}
	tooLong := error(nil)
	err := s.do(true, func() error {
		if need := len(s.tokens) + len(b.Tokens); need > s.params.ContextTokens {
			tooLong = fault.New(fault.CodeContextFull, "%d tokens are needed, and this context holds %d", need, s.params.ContextTokens)
			return nil
		}
		s.logits, s.hidden = nil, nil
		if slices.ContainsFunc(b.Tokens, s.unknown) {
			return fault.New(fault.CodeEngineDecodeFailed, "a token is outside the vocabulary of %d", len(s.model.engine.tokens.pieces))
		}
		return s.decode(ctx, b, call == faults.DecodeCall)
	})
	if err == nil {
		err = tooLong
	}
	return err
}

func (s *session) unknown(t inference.Token) bool {
	return t < 0 || int(t) >= len(s.model.engine.tokens.pieces)
}

func (s *session) decode(ctx context.Context, b inference.Batch, fails bool) error {
	for i, t := range b.Tokens {
		if err := ctx.Err(); err != nil {
			return err
		}
		if fails && i == min(1, len(b.Tokens)-1) {
			return fault.New(fault.CodeEngineDecodeFailed, "decode failed at position %d, as the test asked", len(s.tokens))
		}
		// A batch ends every BatchTokens, and a compute step every UBatchTokens of a batch.
		if inBatch := i % s.params.BatchTokens; inBatch%s.params.UBatchTokens == 0 {
			s.noise = mix(s.noise, 1<<40)
		}
		s.append(t)
		s.decoded++
		s.model.engine.count(func(st *Stats) { st.DecodedTokens++ })
		if b.Hidden {
			s.hidden = append(s.hidden, s.hiddenState())
		}
		if done := i + 1; b.Progress != nil && (done%s.params.BatchTokens == 0 || done == len(b.Tokens)) {
			b.Progress(done, len(b.Tokens))
		}
	}
	s.logits = s.scores()
	return nil
}

// Logits implements inference.Session.
func (s *session) Logits() []float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logits
}

// Hidden implements inference.Session.
func (s *session) Hidden() [][]float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden
}

// Decoded implements inference.Session.
func (s *session) Decoded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decoded
}

// Position implements inference.Session.
func (s *session) Position() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tokens)
}

// Reset implements inference.Session.
func (s *session) Reset(context.Context) error {
	return s.do(true, func() error {
		s.clear()
		return nil
	})
}

// A state, or a layer of one, is a magic, the layout of the cells, the number of tokens, a row of token and hash for each,
// and the noise.
const (
	stateMagic  = "FAKESTA1"
	stateHeader = len(stateMagic) + 4 + 4
	stateRow    = 4 + 8
	stateTail   = 8
)

// SaveState implements inference.Session.
func (s *session) SaveState(ctx context.Context) (sealed.State, error) { return s.SaveLayer(ctx, 0) }

// SaveLayer implements inference.Session.
func (s *session) SaveLayer(ctx context.Context, from int) (state sealed.State, err error) {
	err = s.do(false, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		faults := s.model.engine.options.Faults
		switch {
		case len(s.tokens) == 0:
			return fault.New(fault.CodeInternal, "save state: nothing was decoded")
		case from != 0 && !s.model.Info().Layered():
			return fault.New(fault.CodeArchitectureUnsupported, "a state of architecture %s can't be cut into layers", s.model.Info().Architecture)
		case from < 0 || from >= len(s.tokens):
			return fault.New(fault.CodeInternal, "save layer: from %d of %d tokens", from, len(s.tokens))
		case faults.Save:
			return fault.New(fault.CodeEngineDecodeFailed, "save state failed, as the test asked")
		}
		buf := s.stateBytes(from)
		if faults.SaveShort {
			buf = buf[:len(buf)-1]
		}
		s.model.engine.count(func(st *Stats) { st.Saves++ })
		state = sealed.Fresh(buf, len(s.tokens)-from)
		return nil
	})
	return state, err
}

func (s *session) stateBytes(from int) []byte {
	out := make([]byte, 0, stateHeader+(len(s.tokens)-from)*stateRow+stateTail)
	out = append(out, stateMagic...)
	out = binary.LittleEndian.AppendUint32(out, s.cells())
	out = binary.LittleEndian.AppendUint32(out, uint32(len(s.tokens)-from))
	for i, t := range s.tokens[from:] {
		out = binary.LittleEndian.AppendUint32(out, uint32(t))
		out = binary.LittleEndian.AppendUint64(out, s.rows[from+i])
	}
	return binary.LittleEndian.AppendUint64(out, s.noise)
}

// RestoreState implements inference.Session.
func (s *session) RestoreState(ctx context.Context, state sealed.State) error {
	return s.do(true, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		faults := s.model.engine.options.Faults
		switch {
		case len(s.tokens) != 0:
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the session already holds %d tokens", len(s.tokens))
		case state.Tokens() < 1 || state.Size() == 0:
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the state is empty")
		case state.Tokens() >= s.params.ContextTokens:
			return fault.New(fault.CodeContextFull, "the imprint's %d tokens leave no room in a context of %d", state.Tokens(), s.params.ContextTokens)
		case faults.RestoreHalf:
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the engine took %d of %d bytes, as the test asked", state.Size()/2, state.Size())
		case len(state.Layers()) > 1 && !s.model.Info().Layered():
			return fault.New(fault.CodeEngineRestoreFailed, "restore: %d layers, and architecture %s takes one", len(state.Layers()), s.model.Info().Architecture)
		}
		for _, layer := range state.Layers() {
			if err := s.load(layer.Bytes(), layer.Tokens()); err != nil {
				return err
			}
		}
		if faults.RestoreForget {
			s.clear()
		}
		s.model.engine.count(func(st *Stats) { st.Restores++ })
		return nil
	})
}

func (s *session) load(b []byte, tokens int) error {
	if want := stateHeader + tokens*stateRow + stateTail; len(b) != want {
		return fault.New(fault.CodeEngineRestoreFailed, "restore: got %d bytes, want %d for %d tokens", len(b), want, tokens)
	}
	if string(b[:len(stateMagic)]) != stateMagic || binary.LittleEndian.Uint32(b[len(stateMagic):]) != s.cells() ||
		binary.LittleEndian.Uint32(b[len(stateMagic)+4:]) != uint32(tokens) {
		return fault.New(fault.CodeEngineRestoreFailed, "restore: the state isn't one of this engine, these KV types and %d tokens", tokens)
	}
	for row := b[stateHeader : len(b)-stateTail]; len(row) > 0; row = row[stateRow:] {
		t := inference.Token(binary.LittleEndian.Uint32(row))
		if s.unknown(t) {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: token %d is outside the vocabulary", t)
		}
		s.tokens = append(s.tokens, t)
		s.rows = append(s.rows, binary.LittleEndian.Uint64(row[4:]))
		s.read(t)
	}
	s.hash = s.rows[len(s.rows)-1]
	s.noise = binary.LittleEndian.Uint64(b[len(b)-stateTail:])
	return nil
}
