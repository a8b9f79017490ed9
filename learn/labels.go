package learn

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Which of a closed set of values is meant: the one that the request names, or else the one that its words speak for,
// as those of the examples do (naive Bayes with m-estimates: Cestnik, ECAI 1990). For an optional parameter "left out"
// is one more class.

// labels counts, per class, the examples and their words outside of copied values.
type labels struct {
	classes []*class // the values in the schema's order, then "left out"
	words   map[string]float64
	n       float64
}

type class struct {
	value json.RawMessage // nil: left out
	n     float64
	words map[string]float64
}

// talk is the words of requests outside of their values, over all examples: in how many each is.
type talk struct {
	in       map[string]int
	examples int
}

// weight is between 0, for a word that every example has, and 1, for one that a single example has.
func (t talk) weight(stem string) float64 {
	rarity := 1 - math.Log(float64(max(t.in[stem], 1)))/math.Log(float64(max(t.examples, 2)))
	return rarity * rarity
}

// cues counts, over all closed parameters of a kind, how often a request names what it gives, and names it without
// giving it.
type cues struct {
	given, named, left, vain float64
}

func (c *cues) add(given, named bool) {
	n := 0.0
	if named {
		n = 1
	}
	if given {
		c.given++
		c.named += n
	} else {
		c.left++
		c.vain += n
	}
}

// odds is how much more likely a request names a value, or doesn't, when it gives it.
func (c *cues) odds(named bool) float64 {
	given, left := (c.named+1)/(c.given+2), (c.vain+1)/(c.left+2)
	if !named {
		given, left = 1-given, 1-left
	}
	return math.Log(given / left)
}

// learnLabels counts for the closed parameters of all tools.
func (a *Arguments) learnLabels(set []string, lessons []*lesson) {
	a.talk = talk{in: map[string]int{}, examples: len(lessons)}
	for _, e := range lessons {
		for s := range e.said {
			a.talk.in[s]++
		}
	}
	for _, name := range set {
		known := a.tools[name]
		for _, p := range known.parameters {
			if p.source == closed {
				a.learnLabel(name, p)
			}
		}
	}
}

func (a *Arguments) learnLabel(tool string, p *parameter) {
	if a.cues[p.boolean] == nil {
		a.cues[p.boolean] = &cues{}
	}
	p.labels = labels{words: map[string]float64{}}
	for _, v := range p.values {
		p.labels.classes = append(p.labels.classes, &class{value: v, words: map[string]float64{}})
	}
	if !p.required {
		p.labels.classes = append(p.labels.classes, &class{words: map[string]float64{}})
	}
	for _, e := range a.tools[tool].lessons {
		value, _ := argument(e.Example, p.name)
		p.labels.add(value, e.said, 1)
		for _, v := range p.values {
			a.cues[p.boolean].add(string(v) == string(value), p.names(v, e.rest, e.said))
		}
	}
	for e, value := range a.namesakes(tool, p) {
		p.labels.add(value, e.said, namesakeWeight)
	}
}

func (l *labels) add(value json.RawMessage, said map[string]bool, weight float64) {
	at := slices.IndexFunc(l.classes, func(c *class) bool { return string(c.value) == string(value) })
	if at < 0 {
		return // null
	}
	l.n += weight
	l.classes[at].n += weight
	for s := range said {
		l.words[s] += weight
		l.classes[at].words[s] += weight
	}
}

// names reports whether a request names a value: an enum's by itself, true by the parameter's name, and false by that
// name with a negation.
func (p *parameter) names(value json.RawMessage, words []word, said map[string]bool) bool {
	if !p.boolean {
		return slices.ContainsFunc(p.mentioned(words, said), func(v json.RawMessage) bool { return string(v) == string(value) })
	}
	named, negated := hasStems(said, p.name)
	return named && negated == (string(value) == "false")
}

// choose gives the values that a request may mean, and whether to give one at all.
func (a *Arguments) choose(p *parameter, words []word, copied assignment) (include bool, values []json.RawMessage) {
	rest := without(words, copied.covers)
	said := stems(rest)
	if values = p.mentioned(rest, said); len(values) > 0 {
		return true, values
	}
	if p.untaught && p.boolean { // no example says when else
		for _, v := range p.values {
			if p.names(v, rest, said) {
				return true, []json.RawMessage{v}
			}
		}
		return p.required, p.values
	}
	if value, sure := a.judge(p, rest, said); sure {
		if value == nil {
			return false, nil
		}
		return true, []json.RawMessage{value}
	}
	return p.required, p.values
}

// judge finds the class that the request's words speak for, and whether they do so clearly.
func (a *Arguments) judge(p *parameter, words []word, said map[string]bool) (value json.RawMessage, sure bool) {
	const decisive = 0.7 // log-odds by which the best class has to be ahead
	m := 2.0             // examples by which a class's shares are drawn towards those of all classes
	if p.required {
		m = 1 // nothing can be left out, so less speaks for doubt
	}
	var seen []string
	for s := range said {
		if p.labels.words[s] > 0 {
			seen = append(seen, s)
		}
	}
	slices.Sort(seen) // sums of floats depend on their order
	best, second := math.Inf(-1), math.Inf(-1)
	for _, c := range p.labels.classes {
		score := 0.0
		if !p.required { // how often the examples leave it out means something; which value they happen to give doesn't
			score = math.Log((c.n + 1) / (p.labels.n + float64(len(p.labels.classes))))
		}
		for _, s := range seen {
			rate := p.labels.words[s] / p.labels.n
			score += a.talk.weight(s) * math.Log((c.words[s]/rate+m)/(c.n+m))
		}
		if c.value != nil {
			score += a.cues[p.boolean].odds(p.names(c.value, words, said))
		}
		switch {
		case score > best:
			best, second, value = score, best, c.value
		case score > second:
			second = score
		}
	}
	return value, best-second > decisive
}

// mentioned gives the enum values that the request names, ignoring case: as whole words, or else in another form.
func (p *parameter) mentioned(words []word, said map[string]bool) []json.RawMessage {
	var exact, alike []json.RawMessage
	for _, v := range p.values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v) // numbers and booleans
		}
		if mentions(words, text) {
			exact = append(exact, v)
		}
		if named, negated := hasStems(said, text); named && !negated {
			alike = append(alike, v)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return alike
}

// hasStems reports whether each word of a name or a value is among the stems, and whether one of them is negated.
func hasStems(said map[string]bool, name string) (all, negated bool) {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for _, part := range parts {
		if !said[stem(part)] {
			if !said[negation+stem(part)] {
				return false, false
			}
			negated = true
		}
	}
	return len(parts) > 0, negated
}

func mentions(words []word, text string) bool {
	wanted := split(text)
	for i := 0; len(wanted) > 0 && i+len(wanted) <= len(words); i++ {
		same := true
		for k, w := range wanted {
			same = same && strings.ToLower(words[i+k].text) == strings.ToLower(w.text)
		}
		if same {
			return true
		}
	}
	return false
}
