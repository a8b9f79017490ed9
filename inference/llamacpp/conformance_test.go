package llamacpp_test

import (
	"testing"

	"edge/inference"
	"edge/inference/enginetest"
)

// TestDefaultModel runs the whole suite on the model that edge ships with, and the equality part for a quantised cache.
func TestDefaultModel(t *testing.T) {
	m := smol(t)
	t.Run("f16", func(t *testing.T) {
		enginetest.Run(t, func(*testing.T) enginetest.Subject {
			return enginetest.Subject{Model: m, Params: params(), Exact: true, Prefixes: []int{1, 40}}
		})
	})
	t.Run("q8_0", func(t *testing.T) {
		enginetest.RunRestore(t, func(*testing.T) enginetest.Subject {
			p := params()
			p.KVTypeK, p.KVTypeV = "q8_0", "q8_0"
			return enginetest.Subject{Model: m, Params: p, Exact: true, Prefixes: []int{33}}
		})
	})
}

// TestArchitectures runs the suite on one tiny model of each kind of memory: all positions, a window of them, one
// recurrent state, a mixture. Their window is 32 tokens; the batch is 64. Types of cache are TestMatrix's.
func TestArchitectures(t *testing.T) {
	for _, name := range []string{"llama", "gemma3", "mamba2", "qwen35", "lfm2"} {
		t.Run(name, func(t *testing.T) {
			m := zoo(t, name)
			p := params()
			p.BatchTokens, p.UBatchTokens = 64, 64
			subject := enginetest.Subject{Model: m, Params: p, Exact: true, Prefixes: []int{1, 31, 32, 33, 64, 130, 300}}
			enginetest.Run(t, func(*testing.T) enginetest.Subject { return subject })
		})
	}
}

// TestZooFacts pins what the adapter reads from the model files: the checks of a restore depend on it.
func TestZooFacts(t *testing.T) {
	for name, want := range map[string]inference.ModelInfo{
		"llama":  {},
		"gemma3": {SlidingWindow: 32},
		"mamba2": {Recurrent: true},
		"qwen35": {Hybrid: true},
		"lfm2":   {Hybrid: true, SlidingWindow: 32},
	} {
		got := zoo(t, name).Info()
		if got.Architecture != name || got.VocabSize != 128 || got.ContextLength != 512 || got.HasTokenizer {
			t.Errorf("%s: got architecture %s, %d tokens, context %d, tokenizer %v", name, got.Architecture, got.VocabSize, got.ContextLength, got.HasTokenizer)
		}
		if got.SlidingWindow != want.SlidingWindow || got.Recurrent != want.Recurrent || got.Hybrid != want.Hybrid {
			t.Errorf("%s: got window %d, recurrent %v, hybrid %v", name, got.SlidingWindow, got.Recurrent, got.Hybrid)
		}
	}
}
