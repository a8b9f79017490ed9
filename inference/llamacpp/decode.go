package llamacpp

import (
	"context"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/fault"
)

// Decode implements inference.Session.
func (s *session) Decode(ctx context.Context, b inference.Batch) error {
	if len(b.Tokens) == 0 {
		return fault.New(fault.CodeInternal, "decode: no tokens")
	}
	tooLong := error(nil)
	err := s.do(true, func() error {
		if need := s.position + len(b.Tokens); need > s.params.ContextTokens {
			tooLong = fault.New(fault.CodeContextFull, "%d tokens are needed, and this context holds %d", need, s.params.ContextTokens)
			return nil // nothing was touched: the session stays usable
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.checkTokens(b.Tokens); err != nil {
			return err
		}
		defer s.watch(ctx)()
		s.logits, s.hidden = nil, nil
		if b.Hidden && s.model.headless() {
			return s.decodeTwice(ctx, b)
		}
		return s.decodeAll(ctx, b, outputs{hidden: b.Hidden, logits: true})
	})
	if err == nil {
		err = tooLong
	}
	return err
}

// watch raises the engine's abort flag when ctx ends, until the function that it gives is called. That one waits for a
// raise that is under way, so that the flag is down before the session's next call, or another session's with the slot.
func (s *session) watch(ctx context.Context) (end func()) {
	raised := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.abort.Store(true)
		close(raised)
	})
	return func() {
		if !stop() {
			<-raised
		}
		s.abort.Store(false)
	}
}

func (s *session) checkTokens(tokens []inference.Token) error {
	for _, t := range tokens {
		if t < 0 || int(t) >= s.model.info.VocabSize {
			return fault.New(fault.CodeEngineDecodeFailed, "token %d is outside the vocabulary of %d", t, s.model.info.VocabSize)
		}
	}
	return nil
}

// outputs is what to read after decoding: every token's hidden state, the last token's logits.
type outputs struct{ hidden, logits bool }

// decodeAll decodes b in parts of n_batch tokens; runs on the owner.
func (s *session) decodeAll(ctx context.Context, b inference.Batch, out outputs) error {
	llama.SetEmbeddings(s.handle, out.hidden)
	for done := 0; done < len(b.Tokens); {
		part := b.Tokens[done:min(done+s.params.BatchTokens, len(b.Tokens))]
		last := done+len(part) == len(b.Tokens)
		if err := s.decodePart(ctx, part, outputs{hidden: out.hidden, logits: out.logits && last}); err != nil {
			return err
		}
		done += len(part)
		if b.Progress != nil {
			b.Progress(done, len(b.Tokens))
		}
	}
	return nil
}

// decodeTwice is for a model whose graph has no output head while hidden states are asked for: it decodes b for the
// hidden states, puts the state before b back, and decodes b again for the logits, with the same split points. The
// first pass isn't counted: no token of it stays. Runs on the owner.
func (s *session) decodeTwice(ctx context.Context, b inference.Batch) error {
	position, decoded := s.position, s.decoded
	var before []byte
	if position > 0 {
		var err error
		if before, err = s.stateBytes(); err != nil {
			return err
		}
	}
	if err := s.decodeAll(ctx, inference.Batch{Tokens: b.Tokens}, outputs{hidden: true}); err != nil {
		return err
	}
	if err := llama.MemoryClear(s.memory, true); err != nil {
		return fault.New(fault.CodeEngineDecodeFailed, "clear memory: %w", err)
	}
	if before != nil {
		if n := llama.StateSeqSetData(s.handle, before, sequence); n != uint64(len(before)) {
			return fault.New(fault.CodeEngineDecodeFailed, "put the state back: the engine took %d of %d bytes%s", n, len(before), s.model.engine.log.suffix())
		}
	}
	s.position, s.decoded = position, decoded
	return s.decodeAll(ctx, b, outputs{logits: true})
}

// decodePart decodes at most n_batch tokens; runs on the owner.
func (s *session) decodePart(ctx context.Context, part []inference.Token, out outputs) error {
	s.batch.Clear()
	for i, t := range part {
		want := out.hidden || out.logits && i == len(part)-1
		if err := s.batch.Add(llama.Token(t), llama.Pos(s.position+i), []llama.SeqId{sequence}, want); err != nil {
			return fault.New(fault.CodeEngineDecodeFailed, "fill batch: %w", err)
		}
	}
	s.adapt()
	// int32_t llama_decode(ctx, batch): 0 ok, 1 no room in the cache, 2 aborted, < 0 fatal. The binding's error is nil
	// for all of them.
	code, err := llama.Decode(s.handle, s.batch)
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if err != nil || code != 0 {
		return fault.New(fault.CodeEngineDecodeFailed, "llama_decode of %d tokens at position %d answered %d%s", len(part), s.position, code, s.model.engine.log.suffix())
	}
	if out.hidden {
		if err := s.readHidden(len(part)); err != nil {
			return err
		}
	}
	if out.logits {
		if err := s.readLogits(); err != nil {
			return err
		}
	}
	s.position += len(part)
	s.decoded += len(part)
	return nil
}

// adapt has the next computation use as many threads as there are cores for: their number changes no bit.
func (s *session) adapt() {
	if !s.params.Adapt {
		return
	}
	if n := min(s.params.Threads, s.model.engine.watch.Free()); n != s.threads {
		llama.SetNThreads(s.handle, int32(n), int32(n))
		s.threads = n
	}
}

// readLogits copies float * llama_get_logits_ith(ctx, −1), the last output's: the engine's own buffer dies with the
// context. A graph without an output head leaves that buffer as it was, zeros at first.
func (s *session) readLogits() error {
	row, err := llama.GetLogitsIth(s.handle, -1, s.model.info.VocabSize)
	if err != nil || row == nil || !slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
		return fault.New(fault.CodeEngineDecodeFailed, "the engine gave no logits")
	}
	if slices.ContainsFunc(row, func(x float32) bool { return x != x }) {
		return fault.New(fault.CodeEngineDecodeFailed, "the engine computed a logit that is no number")
	}
	s.scores = append(s.scores[:0], row...)
	s.logits = s.scores
	return nil
}

// readHidden copies float * llama_get_embeddings_ith(ctx, i) for every token of the part.
func (s *session) readHidden(n int) error {
	for i := range n {
		row, err := llama.GetEmbeddingsIth(s.handle, int32(i), int32(s.model.info.EmbeddingSize))
		if err != nil || row == nil {
			return fault.New(fault.CodeEngineDecodeFailed, "the engine gave no hidden state for token %d of %d", i, n)
		}
		s.hidden = append(s.hidden, slices.Clone(row))
	}
	return nil
}
