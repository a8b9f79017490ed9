package learn

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// vocabulary is the words that examples have outside of their values: "how", "please", "order". A word that no example
// has there is most likely part of a value; by how much is counted on examples that are left out in turn.
type vocabulary struct {
	outside map[string]map[string]int // tool → word → in how many examples
	all     map[string]int            // word → in how many examples of any tool
	odds    [familiarities]float64    // log-odds that a word of a request is inside a value
}

// familiarity says where a word is known from outside of values.
type familiarity int

const (
	unknown     familiarity = iota
	knownAbroad             // from examples of other tools, or without one
	knownHere               // from examples of the same tool
	familiarities
)

// weigh adds up what the words speak for being inside a value.
func (v vocabulary) weigh(words []familiarity) float64 {
	sum := 0.0
	for _, f := range words {
		sum += v.odds[f]
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
	for i, j := 0, 0; i < len(words); i = j { // a name is as familiar as its rarest word: Mexico City, and not the city
		for j = i + 1; j < len(words) && oneName(words[j-1], words[j]); j++ {
		}
		rarest := slices.Min(list[i:j])
		for k := i; k < j; k++ {
			list[k] = rarest
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

// learnVocabulary notes the words of the examples that stand in none of their values, and what knowing a word says.
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
	for _, e := range lessons {
		if e.label() == NoTool {
			continue
		}
		for i, f := range v.of(e.label(), e.words, e.outside()) {
			if e.inside[i] == nil {
				outside[f]++
			} else {
				inside[f]++
			}
		}
	}
	out, in := shares(outside), shares(inside)
	for f := range v.odds {
		v.odds[f] = math.Log(in[f] / out[f])
	}
	return v
}

// shares brings counts to a sum of 1, drawn towards even shares as if a few words more had been seen.
func shares(n [familiarities]float64) (s [familiarities]float64) {
	const more = 8
	total := float64(more)
	for _, x := range n {
		total += x
	}
	for f := range n {
		s[f] = (n[f] + more/float64(familiarities)) / total
	}
	return s
}

// names are the words of the names of the tool, its parameters and their listed values, each once.
func (t *toolArguments) names(name string) []string {
	text := name
	for _, p := range t.parameters {
		text += " " + p.name
		for _, v := range p.values {
			if !p.boolean {
				text += " " + string(v)
			}
		}
	}
	names := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
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
