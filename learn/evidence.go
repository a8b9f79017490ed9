package learn

import "math"

// Evidence weighs whether a request really asks for the tool that the head finds nearest: by how far the head prefers
// it, and by how well the request's words fill the tool's arguments. Each counts in units of what the examples reach
// when they are left out in turn, so that no scale has to be chosen by hand.
type Evidence struct {
	Margin    float64            // the examples' mean margin of the head
	Arguments map[string]float64 // per tool, the examples' mean score of their arguments; missing: nothing is copied
	Threshold float64            // below it the request gets an answer and no call
}

const (
	// thresholdShare is the threshold's part of the weakest example's evidence: a request may be somewhat weaker.
	thresholdShare = 0.5
	// thresholdLimit bounds it; with few examples the weakest one may be strong by chance.
	thresholdLimit = 0.5
	// withoutGround is what a call whose required values aren't in the request counts for.
	withoutGround = -1
)

// weigh gives a choice's evidence. score and copies are those of Arguments.Score.
func (e *Evidence) weigh(c Choice, score float64, copies bool) float64 {
	sum := c.Margin / e.Margin
	typical, known := e.Arguments[c.Class]
	switch {
	case !known || !copies:
		return sum + 1
	case math.IsInf(score, -1):
		return sum + withoutGround
	}
	return sum + score/typical
}

// calibrate makes the evidence of examples that were left out in turn; nil where they can't carry it.
func calibrate(list []leftOut) *Evidence {
	e := &Evidence{Arguments: map[string]float64{}}
	counts := map[string]float64{}
	n := 0.0
	for _, x := range list {
		if x.label == NoTool || x.choice.Class != x.label {
			continue
		}
		n++
		e.Margin += x.choice.Margin
		if x.copies && !math.IsInf(x.score, -1) {
			counts[x.label]++
			e.Arguments[x.label] += x.score
		}
	}
	for tool, k := range counts {
		if e.Arguments[tool] /= k; e.Arguments[tool] <= 0 {
			delete(e.Arguments, tool) // its examples are too few to tell a good fit from a bad one
		}
	}
	if n == 0 || e.Margin <= 0 {
		return nil
	}
	e.Margin /= n
	weakest := math.Inf(1)
	for _, x := range list {
		if x.label != NoTool && x.choice.Class == x.label {
			weakest = min(weakest, e.weigh(x.choice, x.score, x.copies))
		}
	}
	e.Threshold = min(thresholdShare*weakest, thresholdLimit)
	return e
}
