package llamacpp_test

import (
	"context"
	"fmt"
	"testing"

	"edge/inference"
	"edge/inference/enginetest"
	"edge/internal/fault"
)

// The dimensions. Without flash attention only keys are quantised, since quantised values need it.
var (
	kvTypes  = []string{"f16", "q8_0", "q4_0"}
	switches = []bool{false, true}
	// Around the zoo's window of 32 tokens and the batch of 64.
	zooPrefixes = []int{1, 31, 32, 33, 63, 64, 65, 130, 300}
	restoresRow = []int{1, 2, 3}
	// A suffix of one token, one of several, and a conversation that leaves the window whatever the prefix was.
	continuations = [][]int{{1}, {5}, {40, 1, 5}}
)

// combination is one point of the product.
type combination struct {
	kv       string
	flash    bool
	swaFull  bool
	prefix   int
	restores int
	turns    []int
}

func (c combination) String() string {
	return fmt.Sprintf("KV %s, flash attention %v, whole window %v, prefix %d, restores %d, turns %v", c.kv, c.flash, c.swaFull, c.prefix, c.restores, c.turns)
}

// params are the session's, with p's batch sizes.
func (c combination) params(p inference.Params) inference.Params {
	p.KVTypeK, p.KVTypeV, p.FlashAttention, p.SWAFull = c.kv, "f16", c.flash, c.swaFull
	if c.flash {
		p.KVTypeV = c.kv
	}
	return p
}

// sizes of the dimensions, in the order in which at reads a row.
func sizes(prefixes []int) []int {
	return []int{len(kvTypes), len(switches), len(switches), len(prefixes), len(restoresRow), len(continuations)}
}

func at(row, prefixes []int) combination {
	return combination{kvTypes[row[0]], switches[row[1]], switches[row[2]], prefixes[row[3]], restoresRow[row[4]], continuations[row[5]]}
}

// tryAll bakes, restores and continues in every combination of rows, and counts. What is neither exact nor refused by
// name is an error, of which the first few are told.
func tryAll(t *testing.T, name string, m inference.Model, base inference.Params, prefixes []int, rows [][]int) tally {
	t.Helper()
	out := tally{name: name, kind: kind(m.Info()), window: m.Info().SlidingWindow}
	var b baking
	for _, row := range rows {
		c := at(row, prefixes)
		err := b.try(t.Context(), m, base, c)
		switch {
		case err == nil:
			out.exact++
		case fault.Is(err, fault.CodeArchitectureUnsupported):
			out.refused++
			out.miss(err)
		default:
			if out.failed++; out.failed <= 3 {
				t.Errorf("%s: %s: %v", name, c, err)
			}
		}
	}
	if out.failed > 3 {
		t.Errorf("%s: %d of %d combinations failed", name, out.failed, len(rows))
	}
	return out
}

// baking keeps the last baked prefix: the product is in order, and combinations that only go on differently share it.
type baking struct {
	params inference.Params
	prefix int
	baked  *enginetest.Baked
}

func (b *baking) try(ctx context.Context, m inference.Model, base inference.Params, c combination) error {
	if p := c.params(base); b.baked == nil || b.params != p || b.prefix != c.prefix {
		b.baked = nil
		baked, err := enginetest.Bake(ctx, enginetest.Subject{Model: m, Params: p, Exact: true}, c.prefix)
		if err != nil {
			return fmt.Errorf("bake: %w", err)
		}
		b.params, b.prefix, b.baked = p, c.prefix, baked
	}
	return b.baked.Continue(ctx, c.restores, c.turns)
}
