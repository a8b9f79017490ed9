package llamacpp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// sequence is the sequence that a context decodes. The engine writes other bytes for any other number.
const sequence llama.SeqId = 0

// spare is a second sequence, empty but while a layer passes through it.
const spare llama.SeqId = 1

// session owns a llama_context on one goroutine.
type session struct {
	model  *Model
	params inference.Params
	work   chan func()
	gone   chan struct{} // closed when the owner has freed the context

	slot  int
	abort *atomic.Bool

	mu     sync.Mutex // one call at a time
	closed bool

	// Only the owner touches these.
	handle   llama.Context
	memory   llama.Memory
	batch    llama.Batch
	position int
	decoded  int
	threads  int       // that the context was last told to use
	scores   []float32 // the room that logits uses, kept between calls
	logits   []float32
	hidden   [][]float32
}

var _ inference.Session = (*session)(nil)

func newSession(ctx context.Context, m *Model, p inference.Params) (*session, error) {
	kinds := map[string]llama.GGMLType{"f16": llama.GGMLTypeF16, "q8_0": llama.GGMLTypeQ8_0, "q4_0": llama.GGMLTypeQ4_0}
	k, okK := kinds[p.KVTypeK]
	v, okV := kinds[p.KVTypeV]
	if !okK || !okV {
		return nil, fault.New(fault.CodeInvalidArguments, "KV type %s/%s isn't one of f16, q8_0, q4_0", p.KVTypeK, p.KVTypeV)
	}
	if p.KVTypeV != "f16" && !p.FlashAttention {
		return nil, fault.New(fault.CodeInvalidArguments, "KV type %s for values needs flash attention", p.KVTypeV)
	}
	if p.ContextTokens < 1 || p.BatchTokens < 1 || p.UBatchTokens < 1 || p.UBatchTokens > p.BatchTokens || p.Threads < 1 {
		return nil, fault.New(fault.CodeInvalidArguments, "session parameters out of range: %+v", p)
	}
	if limit := m.info.ContextLength; limit > 0 && p.ContextTokens > limit {
		return nil, fault.New(fault.CodeContextFull, "%d tokens are needed, and the model's context holds %d", p.ContextTokens, limit)
	}
	s := &session{model: m, params: p, threads: p.Threads, work: make(chan func()), gone: make(chan struct{})}
	s.slot, s.abort = m.engine.aborts.take()

	c := llama.ContextDefaultParams()
	c.NCtx = uint32((p.ContextTokens + 255) / 256 * 256) // the engine pads to this itself; said here so that NCtx is exact
	c.NBatch, c.NUbatch = uint32(p.BatchTokens), uint32(p.UBatchTokens)
	c.NSeqMax = 1
	if m.info.Layered() {
		c.NSeqMax, c.KVUnified = 2, 1 // one cache for both, so that rows change hands without being moved
	}
	c.NThreads, c.NThreadsBatch = int32(p.Threads), int32(p.Threads)
	c.TypeK, c.TypeV = k, v
	c.FlashAttentionType = llama.FlashAttentionTypeDisabled
	if p.FlashAttention {
		c.FlashAttentionType = llama.FlashAttentionTypeEnabled
	}
	c.RopeFreqBase, c.RopeFreqScale = p.RopeFreqBase, p.RopeFreqScale
	c.PoolingType = llama.PoolingTypeNone
	c.SwaFull = b2u(p.SWAFull)
	c.NoPerf = 1
	c.AbortCallback, c.AbortCallbackData = m.engine.aborts.callback, uintptr(s.slot)

	ready := make(chan error)
	go s.own(c, ready)
	if err := <-ready; err != nil {
		m.engine.aborts.give(s.slot)
		return nil, err
	}
	return s, nil
}

func b2u(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// own is the goroutine that makes, uses and frees the context.
func (s *session) own(c llama.ContextParams, ready chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := llama.InitFromModel(s.model.handle, c)
	if err != nil || handle == 0 {
		ready <- fault.New(fault.CodeEngineLoadFailed, "make a context of %d tokens failed%s", c.NCtx, s.model.engine.log.suffix())
		return
	}
	memory, err := llama.GetMemory(handle)
	if err != nil || memory == 0 {
		llama.Free(handle)
		ready <- fault.New(fault.CodeArchitectureUnsupported, "architecture %s keeps no state of a sequence", s.model.info.Architecture)
		return
	}
	s.handle, s.memory = handle, memory
	s.batch = llama.BatchInit(int32(s.params.BatchTokens), 0, 1)
	ready <- nil
	for f := range s.work {
		f()
	}
	llama.BatchFree(s.batch)
	llama.Free(s.handle)
	close(s.gone)
}

// do runs f on the owner and waits for it. A nil error of f keeps the session; any other closes it when poison is set.
func (s *session) do(poison bool, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.CodeSessionClosed, "the session was closed")
	}
	result := make(chan error, 1)
	s.work <- func() { result <- f() }
	err := <-result
	if err != nil && poison {
		s.free()
	}
	return err
}

// Close frees the context. A second call does nothing.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.free()
	}
	return nil
}

// free ends the owner; s.mu is held.
func (s *session) free() {
	s.closed = true
	close(s.work)
	<-s.gone
	s.logits, s.hidden = nil, nil
	s.model.engine.aborts.give(s.slot)
	s.model.release()
}

// Logits implements inference.Session.
func (s *session) Logits() []float32 { return s.logits }

// Hidden implements inference.Session.
func (s *session) Hidden() [][]float32 { return s.hidden }

// Decoded implements inference.Session.
func (s *session) Decoded() int { return s.decoded }

// Position implements inference.Session.
func (s *session) Position() int { return s.position }

// SaveState implements inference.Session.
func (s *session) SaveState(ctx context.Context) (state sealed.State, err error) {
	err = s.do(false, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.position == 0 {
			return fault.New(fault.CodeInternal, "save state: nothing was decoded")
		}
		buf, err := s.stateBytes()
		if err != nil {
			return err
		}
		state = sealed.Fresh(buf, s.position)
		return nil
	})
	return state, err
}

// SaveLayer implements inference.Session: the rows from position from on are lent to the spare sequence, which the
// engine then writes as it writes any sequence.
func (s *session) SaveLayer(ctx context.Context, from int) (state sealed.State, err error) {
	switch {
	case from == 0:
		return s.SaveState(ctx)
	case !s.model.info.Layered():
		return state, fault.New(fault.CodeArchitectureUnsupported, "a state of architecture %s can't be cut into layers", s.model.info.Architecture)
	}
	err = s.do(true, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from < 0 || from >= s.position {
			return fault.New(fault.CodeInternal, "save layer: from %d of %d tokens", from, s.position)
		}
		if err := llama.MemorySeqCp(s.memory, sequence, spare, llama.Pos(from), llama.Pos(s.position)); err != nil {
			return fault.New(fault.CodeEngineDecodeFailed, "save layer: %w", err)
		}
		buf, err := s.bytesOf(spare)
		if err != nil {
			return err
		}
		state = sealed.Fresh(buf, s.position-from)
		return s.emptySpare()
	})
	return state, err
}

// emptySpare takes the spare sequence off every row: bool llama_memory_seq_rm(mem, seq_id, p0, p1).
func (s *session) emptySpare() error {
	if ok, err := llama.MemorySeqRm(s.memory, spare, -1, -1); err != nil || !ok {
		return fault.New(fault.CodeEngineDecodeFailed, "empty the spare sequence: %v, %v", ok, err)
	}
	return nil
}

// stateBytes gives the state's bytes; runs on the owner.
func (s *session) stateBytes() ([]byte, error) { return s.bytesOf(sequence) }

// bytesOf asks for size_t llama_state_seq_get_size(ctx, seq_id) bytes and has them written by
// size_t llama_state_seq_get_data(ctx, dst, size, seq_id); runs on the owner.
func (s *session) bytesOf(id llama.SeqId) ([]byte, error) {
	size := llama.StateSeqGetSize(s.handle, id)
	if size == 0 {
		return nil, fault.New(fault.CodeEngineDecodeFailed, "save state: the engine has none")
	}
	buf := make([]byte, size)
	if n := llama.StateSeqGetData(s.handle, buf, id); n != size {
		return nil, fault.New(fault.CodeEngineDecodeFailed, "save state: the engine wrote %d of %d bytes", n, size)
	}
	return buf, nil
}

// RestoreState implements inference.Session. The engine checks little of what it reads, so the bytes were digested
// before; what is checked here is that it took all of them and that the positions are 0…n−1.
func (s *session) RestoreState(ctx context.Context, state sealed.State) error {
	return s.do(true, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.position != 0 {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the session already holds %d tokens", s.position)
		}
		if state.Tokens() < 1 || state.Size() == 0 {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: the state is empty")
		}
		if state.Tokens() >= s.params.ContextTokens {
			return fault.New(fault.CodeContextFull, "the imprint's %d tokens leave no room in a context of %d", state.Tokens(), s.params.ContextTokens)
		}
		for i, layer := range state.Layers() {
			if err := s.restoreLayer(i, layer); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreLayer puts layer i behind the tokens restored before it. The engine empties a sequence before it reads one, so
// every layer but the first goes into the spare sequence, and its rows are handed over.
func (s *session) restoreLayer(i int, layer sealed.Layer) error {
	into := sequence
	if i > 0 {
		if into = spare; !s.model.info.Layered() {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: %d layers, and architecture %s takes one", i+1, s.model.info.Architecture)
		}
	}
	before := s.position
	// size_t llama_state_seq_set_data(ctx, src, size, dest_seq_id): bytes read, 0 on failure.
	if n := llama.StateSeqSetData(s.handle, layer.Bytes(), into); n != uint64(len(layer.Bytes())) {
		return fault.New(fault.CodeEngineRestoreFailed, "restore: the engine took %d of %d bytes%s", n, len(layer.Bytes()), s.model.engine.log.suffix())
	}
	if err := s.checkPositions(into, before, before+layer.Tokens()); err != nil {
		return err
	}
	if into == spare {
		if err := llama.MemorySeqCp(s.memory, spare, sequence, -1, -1); err != nil {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: %w", err)
		}
		if err := s.emptySpare(); err != nil {
			return fault.New(fault.CodeEngineRestoreFailed, "restore: %w", err)
		}
	}
	s.position += layer.Tokens()
	return nil
}

// checkPositions: the sequence's positions are from…to−1, though the first may be later where the memory keeps a window
// or one recurrent state.
func (s *session) checkPositions(id llama.SeqId, from, to int) error {
	high, err := llama.MemorySeqPosMax(s.memory, id)
	if err != nil || int(high) != to-1 {
		return fault.New(fault.CodeEngineRestoreFailed, "restore: the last position is %d, want %d", high, to-1)
	}
	low, err := llama.MemorySeqPosMin(s.memory, id)
	if err != nil || int(low) < from || int(low) != from && s.model.info.Layered() {
		return fault.New(fault.CodeEngineRestoreFailed, "restore: the first position is %d, want %d", low, from)
	}
	return nil
}

// Reset implements inference.Session.
func (s *session) Reset(ctx context.Context) error {
	return s.do(true, func() error {
		if err := llama.MemoryClear(s.memory, true); err != nil {
			return fault.New(fault.CodeEngineDecodeFailed, "clear memory: %w", err)
		}
		s.position, s.decoded, s.logits, s.hidden = 0, 0, nil, nil
		return nil
	})
}
