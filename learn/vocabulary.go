package learn

import (
	"math"
	"slices"
	"strings"
)

// vocabulary is the words that examples have outside of their values: "how", "please", "order". A word that no example
// has there is most likely part of a value; by how much is counted on examples that are left out in turn.
type vocabulary struct {
	outside map[string]map[string]int // tool → word → in how many examples
	all     map[string]int            // word → in how many examples of any tool
}

// familiarity says where a word is known from outside of values.
type familiarity int

const (
	unknown     familiarity = iota
	knownAbroad             // from examples of other tools, or without one
	knownHere               // from examples of the same tool
	familiarities
)

// odds are, per familiarity, the log-odds that a word of a request is inside a value.
type odds [familiarities]float64

func (o odds) weigh(words []familiarity) float64 {
	sum := 0.0
	for _, f := range words {
		sum += o[f]
	}
	return sum
}

// of tells how familiar each word is; own are words that were counted and that it isn't to know.
func (v vocabulary) of(tool string, words []word, own map[string]bool) []familiarity {
	list := make([]familiarity, len(words))
	for i, w := range words {
		text := strings.ToLower(w.text)
		here, all := v.outside[tool][text], v.all[text]
		if own[text] {
			here, all = here-1, all-1
		}
		switch {
		case here > 0:
			list[i] = knownHere
		case all > 0:
			list[i] = knownAbroad
		}
	}
	return list
}

func (v vocabulary) add(tool, text string) {
	if v.outside[tool] == nil {
		v.outside[tool] = map[string]int{}
	}
	v.outside[tool][text]++
	v.all[text]++
}

// learnVocabulary notes the words of the examples that stand in none of their values, and sets each copied parameter's
// odds.
func learnVocabulary(all map[string]*toolArguments, lessons []*lesson) vocabulary {
	v := vocabulary{outside: map[string]map[string]int{}, all: map[string]int{}}
	for name, known := range all { // what names the tool and its parameters is no value
		for _, text := range known.names(name) {
			v.add(name, text)
		}
	}
	for _, e := range lessons {
		for text := range e.outside() {
			v.add(e.label(), text)
		}
	}
	var outside, inside [familiarities]float64
	per := map[*parameter]*[familiarities]float64{}
	for _, e := range lessons {
		if e.label() == NoTool {
			continue
		}
		for i, f := range v.of(e.label(), e.words, e.outside()) {
			p := e.inside[i]
			if p == nil {
				outside[f]++
				continue
			}
			if per[p] == nil {
				per[p] = &[familiarities]float64{}
			}
			per[p][f]++
			inside[f]++
		}
	}
	even := [familiarities]float64{1. / 3, 1. / 3, 1. / 3}
	out, in := shares(outside, even, 8), shares(inside, even, 8)
	for _, known := range all {
		for _, p := range known.parameters {
			own := in
			if per[p] != nil {
				own = shares(*per[p], in, 4)
			}
			for f := range own {
				p.inside[f] = math.Log(own[f] / out[f])
			}
		}
	}
	return v
}

// shares brings counts to a sum of 1, drawn towards a prior by weight words.
func shares(n, prior [familiarities]float64, weight float64) (s [familiarities]float64) {
	total := weight
	for _, x := range n {
		total += x
	}
	for f := range n {
		s[f] = (n[f] + weight*prior[f]) / total
	}
	return s
}

// names are the words of the names of the tool and its parameters, each once.
func (t *toolArguments) names(name string) []string {
	names := strings.Split(strings.ToLower(name), "_")
	for _, p := range t.parameters {
		names = append(names, strings.Split(strings.ToLower(p.name), "_")...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outside is the words that stand in none of the example's values.
func (e *lesson) outside() map[string]bool {
	set := map[string]bool{}
	for i, w := range e.words {
		if e.inside[i] == nil {
			set[strings.ToLower(w.text)] = true
		}
	}
	return set
}

// insides tells which parameter's value each word of an example is part of.
func insides(known *toolArguments, e *lesson) []*parameter {
	inside := make([]*parameter, len(e.words))
	if known == nil {
		return inside
	}
	for _, p := range known.parameters {
		value, ok := argument(e.Example, p.name)
		if !ok || !p.copied() {
			continue
		}
		for _, s := range p.stretches(e.Prompt, e.words) {
			if string(s.value) == string(value) {
				for i := s.i; i < s.j; i++ {
					inside[i] = p
				}
			}
		}
	}
	return inside
}
