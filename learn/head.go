package learn

import (
	"math"
	"slices"
)

// NoTool is the class of requests that get an answer and no call.
const NoTool = ""

// Vector is a request's pooled hidden state: the mean over its tokens of the model's last layer.
type Vector []float32

// Head chooses a class for a request by the nearest class mean, in cosine, of hidden states that are centred and scaled
// per dimension ("weight imprinting": Qi, Brown, Lowe, CVPR 2018; centring and scaling make up for the few directions
// that dominate a language model's states: Mu, Viswanath, ICLR 2018). Nothing is trained by gradient.
type Head struct {
	Classes []string // sorted; NoTool first where there is such a class
	Mean    Vector   // per dimension, over all examples
	Scale   Vector   // 1 / standard deviation per dimension
	Means   []Vector // per class, of unit length
}

// Choice is a head's decision.
type Choice struct {
	Class  string
	Score  float64 // cosine to the chosen class, −1…1
	Margin float64 // to the next best class
}

// scaleShrinkage mixes each dimension's variance with the mean variance of all: a handful of examples doesn't measure
// hundreds of variances well.
const scaleShrinkage = 0.5

// TrainHead learns from one vector per example. It gives nil when there are fewer than two classes.
func TrainHead(vectors []Vector, labels []string) *Head {
	classes := slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(classes) < 2 {
		return nil
	}
	dim := len(vectors[0])
	h := &Head{Classes: classes, Mean: make(Vector, dim), Scale: make(Vector, dim)}
	variance := make([]float64, dim)
	average := 0.0
	for d := range dim {
		var sum, square float64
		for _, v := range vectors {
			sum += float64(v[d])
		}
		mean := sum / float64(len(vectors))
		for _, v := range vectors {
			diff := float64(v[d]) - mean
			square += diff * diff
		}
		h.Mean[d] = float32(mean)
		variance[d] = square / float64(len(vectors))
		average += variance[d] / float64(dim)
	}
	for d := range dim {
		mixed := (1-scaleShrinkage)*variance[d] + scaleShrinkage*average
		if mixed > 0 {
			h.Scale[d] = float32(1 / math.Sqrt(mixed))
		}
	}
	for _, class := range classes {
		mean := make(Vector, dim)
		for i, v := range vectors {
			if labels[i] == class {
				for d, x := range h.project(v) {
					mean[d] += x
				}
			}
		}
		h.Means = append(h.Means, unit(mean))
	}
	return h
}

// Choose gives the nearest class.
func (h *Head) Choose(v Vector) Choice {
	x := h.project(v)
	best, second, at := math.Inf(-1), math.Inf(-1), 0
	for i, mean := range h.Means {
		dot := 0.0
		for d := range mean {
			dot += float64(mean[d]) * float64(x[d])
		}
		if dot > best {
			best, second, at = dot, best, i
		} else if dot > second {
			second = dot
		}
	}
	return Choice{Class: h.Classes[at], Score: best, Margin: best - second}
}

// project centres and scales v and makes it of unit length.
func (h *Head) project(v Vector) Vector {
	out := make(Vector, len(v))
	for d := range v {
		out[d] = (v[d] - h.Mean[d]) * h.Scale[d]
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

// Pool is the mean of rows.
func Pool(rows [][]float32) Vector {
	if len(rows) == 0 {
		return nil
	}
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		for d, x := range row {
			sum[d] += float64(x)
		}
	}
	out := make(Vector, len(sum))
	for d := range sum {
		out[d] = float32(sum[d] / float64(len(rows)))
	}
	return out
}
