package main

import (
	"math"
	"slices"

	"edge/learn"
	"edge/tools"
)

// The ways of choosing a function where nothing but what the functions say of themselves is known.
const (
	byModel   = "model"   // the function that the model names when it may not answer in words
	byStates  = "states"  // learn's own head, with each function's description for an example
	byCentred = "centred" // nearest description, requests and descriptions centred and scaled each over the whole category
	byWords   = "words"   // shared words
)

// looked is one request's hidden states and those of its functions' descriptions, all right behind the same prefix.
type looked struct {
	request      []learn.Vector
	descriptions [][]learn.Vector // in the order of tools
	tools        []tools.Tool
	text         string
	named        string // by the model
}

// choose makes every choice for every request; the centred one needs all of them. A request with one function has none.
func choose(list []looked) []map[string]string {
	var requests, descriptions []learn.Vector
	for _, x := range list {
		requests = append(requests, x.request[0])
		for _, d := range x.descriptions {
			descriptions = append(descriptions, d[0])
		}
	}
	ofRequests, ofDescriptions := newCentring(requests), newCentring(descriptions)
	var out []map[string]string
	for _, x := range list {
		out = append(out, x.choose(ofRequests, ofDescriptions))
	}
	return out
}

func (x looked) choose(ofRequests, ofDescriptions centring) map[string]string {
	if len(x.tools) < 2 {
		return nil
	}
	centred := make([]float64, len(x.tools))
	asked := ofRequests.project(x.request[0])
	for i, d := range x.descriptions {
		centred[i] = dot(ofDescriptions.project(d[0]), asked)
	}
	states := x.cosines()
	words := learn.NewWording(x.tools).Scores(x.text)
	name := func(scores []float64) string {
		best := 0
		for i, s := range scores {
			if s > scores[best] {
				best = i
			}
		}
		return x.tools[best].Name
	}
	choices := map[string]string{byModel: x.named, byStates: name(states), byCentred: name(centred)}
	if slices.Max(words) > 0 { // where nothing is shared there is no choice
		choices[byWords] = name(words)
	}
	return choices
}

// cosines are those of learn's head, trained on the descriptions of this request's functions alone.
func (x looked) cosines() []float64 {
	scores := make([]float64, len(x.tools))
	var names []string
	for _, t := range x.tools {
		names = append(names, t.Name)
	}
	head := learn.TrainHead(x.descriptions, names) // its classes are sorted, as the tools are
	for v, view := range head.Views {
		asked := centring{view.Mean, view.Scale}.project(x.request[v])
		for i, mean := range view.Means {
			scores[i] += dot(mean, asked) / float64(len(head.Views))
		}
	}
	return scores
}

// centring is a mean and a scale per dimension.
type centring struct{ mean, scale learn.Vector }

func newCentring(list []learn.Vector) centring {
	const shrinkage = 0.02 // as learn's head
	dim := len(list[0])
	c := centring{make(learn.Vector, dim), make(learn.Vector, dim)}
	variance := make([]float64, dim)
	average := 0.0
	for d := range dim {
		total, square := 0.0, 0.0
		for _, x := range list {
			total += float64(x[d])
		}
		mean := total / float64(len(list))
		for _, x := range list {
			square += (float64(x[d]) - mean) * (float64(x[d]) - mean)
		}
		c.mean[d] = float32(mean)
		variance[d] = square / float64(len(list))
		average += variance[d] / float64(dim)
	}
	for d := range dim {
		if mixed := (1-shrinkage)*variance[d] + shrinkage*average; mixed > 0 {
			c.scale[d] = float32(1 / math.Sqrt(mixed))
		}
	}
	return c
}

// project centres and scales x and makes it of unit length.
func (c centring) project(x learn.Vector) learn.Vector {
	out := make(learn.Vector, len(x))
	norm := 0.0
	for d := range x {
		out[d] = (x[d] - c.mean[d]) * c.scale[d]
		norm += float64(out[d]) * float64(out[d])
	}
	if norm = math.Sqrt(norm); norm > 0 {
		for d := range out {
			out[d] = float32(float64(out[d]) / norm)
		}
	}
	return out
}

func dot(a, b learn.Vector) float64 {
	total := 0.0
	for d := range a {
		total += float64(a[d]) * float64(b[d])
	}
	return total
}
