package learn

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"

	"edge/tools"
)

// Arguments knows, per tool and parameter, where values come from: which stretch of the request is copied, which of a
// closed set of values is meant, when an optional parameter has a reason. It is learned from the examples alone, by
// counting: naive Bayes classifiers over the words around a stretch and its shape tell the right stretches of the
// examples from all others (wrapper induction: Kushmerick, AIJ 2000), and the words of a request tell which value it
// means. Where no example gives a parameter, its schema and its name say what little they can. It only narrows what the
// model may write; where nothing gives ground, the model writes freely.
type Arguments struct {
	tools map[string]*toolArguments
	outer vocabulary
	talk  talk
	cues  map[bool]*cues // of booleans (true) and of enums (false), over all tools
}

type toolArguments struct {
	parameters []*parameter
	lessons    []*lesson // the examples that call it
}

// lesson is an example with what is found out about it.
type lesson struct {
	Example
	words  []word
	inside []*parameter    // per word, the parameter whose value it is part of; nil for none
	rest   []word          // the words, with those inside of values made empty
	said   map[string]bool // stems of the rest
}

// LearnArguments counts over the examples that call a tool of the set.
func LearnArguments(set *tools.ActiveSet, examples []Example) *Arguments {
	a := &Arguments{tools: map[string]*toolArguments{}, cues: map[bool]*cues{}}
	lessons := make([]*lesson, len(examples))
	for i, e := range examples {
		lessons[i] = &lesson{Example: e, words: split(e.Prompt)}
	}
	for _, t := range set.Tools() {
		known := &toolArguments{}
		a.tools[t.Name] = known
		schemas, required := schemasOf(t)
		for _, e := range lessons {
			if e.label() == t.Name {
				known.lessons = append(known.lessons, e)
			}
		}
		about, numbers := contentWords(ownWords(t)), 0
		for _, property := range schemas {
			if property.is("integer") || property.is("number") {
				numbers++
			}
		}
		for i, name := range t.ArgumentOrder() {
			p := &parameter{name: name, about: about, alone: numbers == 1, place: i}
			must, nullable := slices.Contains(required, name), schemas[name].is("null")
			p.required, p.orNull = must && !nullable, must && nullable
			p.admits = func(value json.RawMessage) bool { return set.Admits(t.Name, name, value) }
			p.learn(schemas[name], t.Description, known.lessons)
			known.parameters = append(known.parameters, p)
		}
	}
	for _, name := range set.Names() {
		for _, p := range a.tools[name].parameters {
			if p.copied() {
				for e, value := range a.namesakes(name, p) {
					p.counts.add(p, e, value, namesakeWeight)
				}
			}
		}
	}
	for _, e := range lessons {
		e.inside = insides(a.tools[e.label()], e)
		e.rest = without(e.words, func(i int) bool { return e.inside[i] != nil })
		e.said = stems(e.rest)
	}
	a.outer = learnVocabulary(a.tools, lessons)
	a.learnLabels(set.Names(), lessons)
	return a
}

// namesakeWeight is what an example of a parameter counts for another tool's parameter of the same name and kind.
const namesakeWeight = 0.5

// namesakes are the examples of other tools that give a parameter of the same name and kind, and their values.
func (a *Arguments) namesakes(tool string, p *parameter) iter.Seq2[*lesson, json.RawMessage] {
	return func(yield func(*lesson, json.RawMessage) bool) {
		for _, name := range slices.Sorted(maps.Keys(a.tools)) {
			other := a.tools[name]
			if name == tool || !slices.ContainsFunc(other.parameters, p.like) {
				continue
			}
			for _, e := range other.lessons {
				if value, ok := argument(e.Example, p.name); ok && !yield(e, value) {
					return
				}
			}
		}
	}
}

// argument is the value that an example gives to a parameter; null is none.
func argument(e Example, name string) (json.RawMessage, bool) {
	var args map[string]json.RawMessage
	if e.Call == nil || json.Unmarshal(e.Call.Arguments, &args) != nil {
		return nil, false
	}
	value, ok := args[name]
	return value, ok && !isNull(value)
}

// Grounded is what is known of one parameter for one request.
type Grounded struct {
	Parameter string
	Include   bool              // false: left out of the call
	Optional  bool              // the model decides whether to give it
	Values    []json.RawMessage // what it may be, canonical JSON; empty: anything that the schema allows
	Within    bool              // texts and numbers that are in the request, where it has any
}

// Ground says what may stand in a call of the tool for this request.
func (a *Arguments) Ground(toolName, request string) []Grounded {
	known := a.tools[toolName]
	if known == nil {
		return nil
	}
	words := split(request)
	best := a.assign(toolName, request, words)
	var out []Grounded
	for _, p := range known.parameters {
		g := Grounded{Parameter: p.name, Include: true}
		switch p.source {
		case free:
			g.Optional = !p.required
		case entire:
			g.Optional = !p.required
			if value, err := quoted(request); err == nil {
				g.Values = []json.RawMessage{value}
			}
		case closed:
			g.Include, g.Values = a.choose(p, words, best)
		default:
			s, ok := best.chosen[p.name]
			if ok {
				g.Values = []json.RawMessage{s.value}
			} else {
				g.Include, g.Within = p.required, p.untaught
			}
		}
		if p.orNull {
			if g.Optional = false; !g.Include {
				g.Include, g.Values = true, []json.RawMessage{json.RawMessage("null")}
			}
		}
		out = append(out, g)
	}
	return out
}

// Score tells how well a request fills the tool's copied required arguments: the mean log-odds of the stretches that
// would be copied, −∞ where one has no candidate. copies is false for a tool that copies nothing.
func (a *Arguments) Score(toolName, request string) (score float64, copies bool) {
	known := a.tools[toolName]
	if known == nil {
		return 0, false
	}
	needed := 0
	best := a.assign(toolName, request, split(request))
	for _, p := range known.parameters {
		if !p.required || !p.copied() {
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
