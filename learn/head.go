package learn

import (
	"math"
	"slices"
)

// NoTool is the class of requests that get an answer and no call.
const NoTool = ""

// Vector is one view of a request's hidden states.
type Vector []float32

// Head chooses a class for a request by the nearest class mean, in cosine, of hidden states that are centred and scaled
// per dimension ("weight imprinting": Qi, Brown, Lowe, CVPR 2018; centring and scaling make up for the few directions
// that dominate a language model's states: Mu, Viswanath, ICLR 2018). It looks at a request in several views and takes
// the mean of their cosines. Nothing is trained by gradient.
type Head struct {
	Classes []string // sorted; NoTool first where there is such a class
	Views   []HeadView
}

// HeadView is what was learned of one view.
type HeadView struct {
	Mean  Vector   // per dimension, over all examples
	Scale Vector   // 1 / standard deviation per dimension
	Means []Vector // per class, of unit length
}

// Choice is a head's decision.
type Choice struct {
	Class  string
	Score  float64 // mean cosine to the chosen class, −1…1, plus what words count
	Margin float64 // to the next best class
}

// views is how many Look gives.
const views = 2

// Look gives the views of a request's hidden states, one row per token: their mean, which says what it is about, and
// the last one, which stands before the model's own reply.
func Look(rows [][]float32) []Vector {
	if len(rows) == 0 {
		return nil
	}
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		for d, x := range row {
			sum[d] += float64(x)
		}
	}
	mean := make(Vector, len(sum))
	for d := range sum {
		mean[d] = float32(sum[d] / float64(len(rows)))
	}
	return []Vector{mean, slices.Clone(Vector(rows[len(rows)-1]))}
}

// TrainHead learns from one request per label. It gives nil when there are fewer than two classes.
func TrainHead(requests [][]Vector, labels []string) *Head {
	classes := slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(classes) < 2 {
		return nil
	}
	h := &Head{Classes: classes}
	for view := range requests[0] {
		vectors := make([]Vector, len(requests))
		for i := range requests {
			vectors[i] = requests[i][view]
		}
		h.Views = append(h.Views, trainView(vectors, labels, classes))
	}
	return h
}

// scaleShrinkage mixes each dimension's variance with a little of the mean variance of all, so that a dimension which
// happens not to vary over a handful of examples doesn't count without bound.
const scaleShrinkage = 0.02

func trainView(vectors []Vector, labels, classes []string) HeadView {
	dim := len(vectors[0])
	v := HeadView{Mean: make(Vector, dim), Scale: make(Vector, dim)}
	variance := make([]float64, dim)
	average := 0.0
	for d := range dim {
		var sum, square float64
		for _, x := range vectors {
			sum += float64(x[d])
		}
		mean := sum / float64(len(vectors))
		for _, x := range vectors {
			diff := float64(x[d]) - mean
			square += diff * diff
		}
		v.Mean[d] = float32(mean)
		variance[d] = square / float64(len(vectors))
		average += variance[d] / float64(dim)
	}
	for d := range dim {
		if mixed := (1-scaleShrinkage)*variance[d] + scaleShrinkage*average; mixed > 0 {
			v.Scale[d] = float32(1 / math.Sqrt(mixed))
		}
	}
	for _, class := range classes {
		mean := make(Vector, dim)
		for i, x := range vectors {
			if labels[i] == class {
				for d, y := range v.project(x) {
					mean[d] += y
				}
			}
		}
		v.Means = append(v.Means, unit(mean))
	}
	return v
}

// Choose gives the nearest class.
func (h *Head) Choose(request []Vector) Choice { return best(h.Classes, h.cosines(request)) }

// cosines gives the mean over the views of a request's cosines to each class.
func (h *Head) cosines(request []Vector) []float64 {
	scores := make([]float64, len(h.Classes))
	for i, view := range h.Views {
		x := view.project(request[i])
		for c, mean := range view.Means {
			for d := range mean {
				scores[c] += float64(mean[d]) * float64(x[d]) / float64(len(h.Views))
			}
		}
	}
	return scores
}

// best is the class with the highest score, the first of equals. A class that is alone has no margin.
func best(classes []string, scores []float64) Choice {
	best, second, at := math.Inf(-1), math.Inf(-1), 0
	for c, score := range scores {
		if score > best {
			best, second, at = score, best, c
		} else if score > second {
			second = score
		}
	}
	if len(scores) == 1 {
		second = best
	}
	return Choice{Class: classes[at], Score: best, Margin: best - second}
}

// project centres and scales x and makes it of unit length.
func (v *HeadView) project(x Vector) Vector {
	out := make(Vector, len(x))
	for d := range x {
		out[d] = (x[d] - v.Mean[d]) * v.Scale[d]
	}
	return unit(out)
}

func unit(v Vector) Vector {
	norm := 0.0
	for _, x := range v {
		norm += float64(x) * float64(x)
	}
	if norm = math.Sqrt(norm); norm > 0 {
		for d := range v {
			v[d] = float32(float64(v[d]) / norm)
		}
	}
	return v
}
