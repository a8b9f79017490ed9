package compare

import (
	"context"
	"fmt"

	"edge/inference"
)

// Behind is over how many next-token distributions the divergence Between sessions is taken.
const Behind = 64

// Between gives the mean Kullback-Leibler divergence, in nats, of the next-token distributions in session b from those in
// session a, over Behind tokens of the text that both decode one by one. Both must stand behind the same tokens of the
// same model, with room for Behind more. The logits of Behind positions are kept in memory.
func Between(ctx context.Context, m inference.Model, a, b inference.Session) (mean float64, err error) {
	if a.Position() != b.Position() {
		return 0, fmt.Errorf("compare: sessions behind %d and %d tokens", a.Position(), b.Position())
	}
	tokens, err := tokensOf(m, Behind)
	if err != nil {
		return 0, err
	}
	var want [][]float32
	if err := each(ctx, a, tokens, func(logits []float32) { want = append(want, logProbabilities(logits)) }); err != nil {
		return 0, err
	}
	at := 0
	err = each(ctx, b, tokens, func(logits []float32) {
		mean += divergence(want[at], logProbabilities(logits)) / Behind
		at++
	})
	return max(0, mean), err
}
