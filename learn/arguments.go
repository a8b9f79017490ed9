package learn

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"edge/internal/canon"
	"edge/tools"
)

// Arguments knows, per tool and parameter, where values come from: which stretch of the request is copied, which enum
// value is named, when an optional parameter has a reason. It is learned from the examples alone, by counting: a naive
// Bayes classifier over the words around a stretch and its shape tells the right stretches of the examples from all
// others (wrapper induction: Kushmerick, AIJ 2000). It only narrows what the model may write; where the examples give
// no ground, the model writes freely.
type Arguments struct {
	tools    map[string]*toolArguments
	carriers map[string]bool // words of any example that belong to no argument: "how", "please", "order"
}

type toolArguments struct {
	parameters []*parameter
}

// source says where a parameter's values come from.
type source int

const (
	free   source = iota // the model writes it
	span                 // a stretch of the request, as it stands
	figure               // a number of the request
	enum                 // one of the schema's values
	never                // optional, and no example ever gives it
)

type parameter struct {
	name     string
	required bool
	source   source
	whole    bool              // integers only
	values   []json.RawMessage // of an enum
	counts   counts
	given    int // in how many examples
}

// counts are how often each feature was seen on right and on wrong stretches.
type counts struct {
	right, wrong map[string]float64
	nRight       float64
	nWrong       float64
}

// stretch is a candidate value: words [i,j) of the request.
type stretch struct {
	i, j  int
	value json.RawMessage
}

// longestStretch bounds the words of one copied value.
const longestStretch = 32

// LearnArguments counts over the examples that call a tool of the set.
func LearnArguments(set *tools.ActiveSet, examples []Example) *Arguments {
	a := &Arguments{tools: map[string]*toolArguments{}, carriers: map[string]bool{}}
	for _, t := range set.Tools() {
		var schema struct {
			Properties map[string]struct {
				Type json.RawMessage   `json:"type"`
				Enum []json.RawMessage `json:"enum"`
			} `json:"properties"`
			Required []string `json:"required"`
		}
		if json.Unmarshal(t.Parameters, &schema) != nil {
			continue // Freeze lets only readable schemas through
		}
		var own []Example
		for _, e := range examples {
			if e.label() == t.Name {
				own = append(own, e)
			}
		}
		known := &toolArguments{}
		a.tools[t.Name] = known
		for _, name := range t.ArgumentOrder() {
			property := schema.Properties[name]
			p := &parameter{name: name, required: slices.Contains(schema.Required, name), values: property.Enum}
			p.learn(string(property.Type), own)
			known.parameters = append(known.parameters, p)
		}
	}
	for _, e := range examples {
		a.learnCarriers(e)
	}
	return a
}

// learnCarriers notes the words of an example that stand in none of its values.
func (a *Arguments) learnCarriers(e Example) {
	words := split(e.Prompt)
	covered := make([]bool, len(words))
	var parameters []*parameter
	if known := a.tools[e.label()]; known != nil {
		parameters = known.parameters
	}
	for _, p := range parameters {
		value, ok := argument(e, p.name)
		if !ok || p.source != span && p.source != figure {
			continue
		}
		for _, s := range stretches(p.source, e.Prompt, words) {
			if string(s.value) == string(value) {
				for i := s.i; i < s.j; i++ {
					covered[i] = true
				}
			}
		}
	}
	for i, w := range words {
		if !covered[i] {
			a.carriers[strings.ToLower(w.text)] = true
		}
	}
}

func (p *parameter) learn(schemaType string, examples []Example) {
	kind := free
	switch {
	case len(p.values) > 0:
		kind = enum
	case strings.Contains(schemaType, `"string"`):
		kind = span
	case strings.Contains(schemaType, `"integer"`), strings.Contains(schemaType, `"number"`):
		kind = figure
		p.whole = strings.Contains(schemaType, `"integer"`)
	}
	p.counts = counts{right: map[string]float64{}, wrong: map[string]float64{}}
	for _, e := range examples {
		value, ok := argument(e, p.name)
		if !ok { // then nothing of its request is the value
			if kind == span || kind == figure {
				p.count(kind, e.Prompt, nil)
			}
			continue
		}
		p.given++
		if kind == span || kind == figure {
			if !p.count(kind, e.Prompt, value) {
				kind = free // one value that isn't in its request: the model has to make values up
			}
		}
	}
	if p.given == 0 && kind != enum {
		kind = free
		if !p.required && len(examples) > 0 {
			kind = never
		}
	}
	p.source = kind
}

func argument(e Example, name string) (json.RawMessage, bool) {
	var args map[string]json.RawMessage
	if e.Call == nil || json.Unmarshal(e.Call.Arguments, &args) != nil {
		return nil, false
	}
	value, ok := args[name]
	return value, ok
}

// count adds one example and reports whether its value stands in the request.
func (p *parameter) count(kind source, request string, value json.RawMessage) bool {
	words := split(request)
	all := stretches(kind, request, words)
	found := slices.ContainsFunc(all, func(s stretch) bool { return string(s.value) == string(value) })
	for _, s := range all {
		into, n := p.counts.wrong, &p.counts.nWrong
		if string(s.value) == string(value) {
			into, n = p.counts.right, &p.counts.nRight
		}
		*n++
		for _, f := range features(words, s) {
			into[f]++
		}
	}
	return found
}

// stretches lists the candidates of a request.
func stretches(kind source, request string, words []word) []stretch {
	var list []stretch
	for i := range words {
		if kind == figure {
			if text, ok := number(words[i]); ok {
				list = append(list, stretch{i, i + 1, json.RawMessage(text)})
			}
			continue
		}
		for j := i + 1; j <= len(words) && j-i <= longestStretch; j++ {
			value, err := quoted(request[words[i].start:words[j-1].end])
			if err == nil {
				list = append(list, stretch{i, j, value})
			}
		}
	}
	return list
}

// quoted is canon.Marshal of a text, without its cost where the text needs no escape: a long request has thousands of
// stretches.
func quoted(text string) (json.RawMessage, error) {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }) < 0 {
		return json.RawMessage(`"` + text + `"`), nil
	}
	return canon.Marshal(text)
}

// features describe a stretch by what is around it and by its shape.
func features(words []word, s stretch) []string {
	before, after, separator := "^", "$", ""
	if s.i > 0 {
		before = strings.ToLower(words[s.i-1].text)
		separator = words[s.i-1].trail
	}
	if s.j < len(words) {
		after = strings.ToLower(words[s.j].text)
	}
	inner := make([]string, 0, s.j-s.i)
	for _, w := range words[s.i:s.j] {
		inner = append(inner, w.text)
	}
	list := []string{
		"before " + before, "after " + after, "separator " + separator, "trail " + words[s.j-1].trail,
		"lead " + words[s.i].lead, "shape " + shape(strings.Join(inner, " ")), "words " + strconv.Itoa(min(s.j-s.i, 4)),
		"first " + strings.ToLower(inner[0]), "last " + strings.ToLower(inner[len(inner)-1]),
	}
	for _, w := range words[s.i : s.j-1] {
		if w.trail != "" {
			list = append(list, "crosses "+w.trail)
		}
	}
	return list
}

// score is the log-odds of a stretch being right. Wrong stretches are many and right ones few, so their counts are
// brought to the same weight; a feature never seen counts for nothing.
func (c *counts) score(words []word, s stretch) float64 {
	const prior = 0.3 // pseudo-count
	weight := c.nRight / max(c.nWrong, 1)
	sum := 0.0
	for _, f := range features(words, s) {
		sum += math.Log((c.right[f] + prior) / (c.wrong[f]*weight + prior))
	}
	return sum
}

// assignment is a choice of stretches for several parameters that don't share a word.
type assignment struct {
	score  float64
	chosen map[string]stretch
}

// beam bounds how many assignments, and how many stretches per parameter, are followed.
const beam = 24

// Ground says what may stand in a call of the tool for this request.
func (a *Arguments) Ground(toolName, request string) []Grounded {
	known := a.tools[toolName]
	if known == nil {
		return nil
	}
	words := split(request)
	best := a.assign(known, request, words)
	var out []Grounded
	for _, p := range known.parameters {
		g := Grounded{Parameter: p.name, Include: true}
		switch p.source {
		case free:
			g.Optional = !p.required
		case never:
			g.Include = p.named(words)
			g.Optional = true
		case enum:
			g.Values = p.mentioned(words)
			if !p.required {
				g.Include = len(g.Values) > 0
			} else if len(g.Values) == 0 {
				g.Values = p.values
			}
		default:
			s, ok := best.chosen[p.name]
			if ok {
				g.Values = []json.RawMessage{s.value}
			} else {
				g.Include = p.required
			}
		}
		out = append(out, g)
	}
	return out
}

// assign finds the best stretches for all copied parameters together. A word that is in none of them, and that no
// example has outside of its values, is most likely a piece of a value that was cut too short.
func (a *Arguments) assign(known *toolArguments, request string, words []word) assignment {
	const leftOut = 1.0
	list := []assignment{{chosen: map[string]stretch{}}}
	copies := false
	for _, p := range known.parameters {
		if p.source == span || p.source == figure {
			list = p.extend(list, request, words)
			copies = copies || p.source == span
		}
	}
	for n := range list {
		if !copies {
			break
		}
		for i, w := range words {
			if !a.carriers[strings.ToLower(w.text)] && !list[n].overlaps(stretch{i: i, j: i + 1}) {
				list[n].score -= leftOut
			}
		}
	}
	return slices.MaxFunc(list, func(x, y assignment) int { return compare(x.score, y.score) })
}

// Score tells how well a request fills the tool's copied required arguments: the mean log-odds of the stretches that
// would be copied, −∞ where one has no candidate. copies is false for a tool that copies nothing.
func (a *Arguments) Score(toolName, request string) (score float64, copies bool) {
	known := a.tools[toolName]
	if known == nil {
		return 0, false
	}
	needed := 0
	best := a.assign(known, request, split(request))
	for _, p := range known.parameters {
		if !p.required || p.source != span && p.source != figure {
			continue
		}
		needed++
		if _, ok := best.chosen[p.name]; !ok {
			return math.Inf(-1), true
		}
	}
	if needed == 0 {
		return 0, false
	}
	return best.score / float64(needed), true
}

// Grounded is what is known of one parameter for one request.
type Grounded struct {
	Parameter string
	Include   bool              // false: left out of the call
	Optional  bool              // the model decides whether to give it
	Values    []json.RawMessage // what it may be, canonical JSON; empty: anything that the schema allows
}

// extend gives every assignment each good stretch for p that is still free, and for an optional parameter also none.
func (p *parameter) extend(from []assignment, request string, words []word) []assignment {
	type scored struct {
		stretch
		score float64
	}
	var list []scored
	for _, s := range stretches(p.source, request, words) {
		if p.whole && strings.Contains(string(s.value), ".") {
			continue
		}
		list = append(list, scored{s, p.counts.score(words, s)})
	}
	slices.SortStableFunc(list, func(x, y scored) int { return compare(y.score, x.score) })
	list = list[:min(len(list), beam)]
	var next []assignment
	for _, base := range from {
		taken := 0
		for _, s := range list {
			if base.overlaps(s.stretch) || !p.required && s.score <= 0 {
				continue
			}
			taken++
			chosen := map[string]stretch{p.name: s.stretch}
			for name, other := range base.chosen {
				chosen[name] = other
			}
			next = append(next, assignment{base.score + s.score, chosen})
		}
		if !p.required || taken == 0 {
			next = append(next, base)
		}
	}
	slices.SortStableFunc(next, func(x, y assignment) int { return compare(y.score, x.score) })
	return next[:min(len(next), beam*4)]
}

func compare(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (a assignment) overlaps(s stretch) bool {
	for _, other := range a.chosen {
		if s.i < other.j && other.i < s.j {
			return true
		}
	}
	return false
}

// mentioned gives the enum values that the request names as whole words, ignoring case.
func (p *parameter) mentioned(words []word) []json.RawMessage {
	var list []json.RawMessage
	for _, v := range p.values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v) // numbers and booleans
		}
		if text != "null" && mentions(words, text) {
			list = append(list, v)
		}
	}
	return list
}

// named reports whether the request names the parameter itself.
func (p *parameter) named(words []word) bool {
	return mentions(words, strings.ReplaceAll(p.name, "_", " "))
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
