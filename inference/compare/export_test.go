package compare

// DivergenceOf is the divergence of the distributions that two rows of logits stand for.
func DivergenceOf(p, q []float32) float64 {
	return divergence(logProbabilities(p), logProbabilities(q))
}
