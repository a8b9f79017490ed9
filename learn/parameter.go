package learn

import (
	"encoding/json"
	"slices"
	"strings"
)

// source says where a parameter's values come from.
type source int

const (
	free   source = iota // the model writes it
	span                 // a stretch of the request, as it stands
	figure               // a number of the request
	day                  // a date of the request, however it is written
	clock                // a time of the request, however it is written
	list                 // several stretches of the request
	closed               // one of the schema's values
)

// schemaOf is what learning looks at in a parameter's schema.
type schemaOf struct {
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *schemaOf         `json:"items"`
	Format      string            `json:"format"`
	Description string            `json:"description"`
}

// is reports whether the schema admits a JSON type.
func (s schemaOf) is(name string) bool { return strings.Contains(string(s.Type), `"`+name+`"`) }

type parameter struct {
	name     string
	required bool
	source   source
	whole    bool // integers only
	untaught bool // no example of the tool gives it: all that is known is what the tool says of itself
	boolean  bool
	about    map[string]bool   // stems of what the tool says of itself
	alone    bool              // the only number of its tool
	place    int               // among the tool's parameters
	reader   reader            // of a copied value
	values   []json.RawMessage // of a closed set
	counts   counts
	labels   labels
	given    int  // in how many examples
	tail     bool // texts of several words that end each example's request
}

// learn finds the source that accounts for every value of the lessons, and counts their stretches; about is what the
// tool says of itself.
func (p *parameter) learn(schema schemaOf, about string, lessons []*lesson) {
	var values []json.RawMessage
	for _, e := range lessons {
		if value, ok := argument(e.Example, p.name); ok {
			values = append(values, value)
		}
	}
	p.given = len(values)
	p.whole = schema.is("integer")
	p.untaught = p.given == 0
	switch {
	case len(schema.Enum) > 0:
		p.source, p.values = closed, slices.DeleteFunc(slices.Clone(schema.Enum), isNull)
	case schema.is("boolean"):
		p.source, p.boolean, p.values = closed, true, []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case p.untaught:
		p.source, p.reader = p.told(schema, about)
	default:
		p.source, p.reader = p.find(schema, values, lessons)
	}
	p.tail = p.source == span && p.given > few && p.ends(lessons)
	if p.copied() {
		for _, e := range lessons {
			value, _ := argument(e.Example, p.name)
			p.counts.add(p, e, value, 1)
		}
	}
}

// ends reports whether the values are texts, most of several words, and each ends its request.
func (p *parameter) ends(lessons []*lesson) bool {
	several := 0
	for _, e := range lessons {
		value, ok := argument(e.Example, p.name)
		if !ok {
			continue
		}
		all := p.stretches(e.Prompt, e.words)
		i := slices.IndexFunc(all, func(s stretch) bool { return s.j == len(e.words) && string(s.value) == string(value) })
		if i < 0 {
			return false
		}
		if all[i].i+1 < all[i].j {
			several++
		}
	}
	return 2*several > p.given
}

// find tries the readers that the schema allows.
func (p *parameter) find(schema schemaOf, values []json.RawMessage, lessons []*lesson) (source, reader) {
	for _, c := range p.candidates(schema, values, lessons) {
		reads := true
		for _, e := range lessons {
			value, ok := argument(e.Example, p.name)
			reads = reads && (!ok || slices.ContainsFunc(stretches(c.reader, e.Prompt, e.words), func(s stretch) bool { return string(s.value) == string(value) }))
		}
		if reads {
			return c.source, c.reader
		}
	}
	return free, nil // one value isn't in its request: the model has to make values up
}

type candidate struct {
	source source
	reader reader
}

func (p *parameter) candidates(schema schemaOf, values []json.RawMessage, lessons []*lesson) []candidate {
	switch {
	case schema.is("array") && schema.Items != nil:
		if r := learnList(*schema.Items, p.name, lessons); r != nil {
			return []candidate{{list, r}}
		}
	case schema.is("string"):
		var all []candidate
		if !slices.ContainsFunc(values, func(v json.RawMessage) bool { return !isDay(v) }) {
			all = append(all, candidate{day, readDay})
		}
		if !slices.ContainsFunc(values, func(v json.RawMessage) bool { return !isClock(v) }) {
			all = append(all, candidate{clock, readClock})
		}
		return append(all, candidate{span, readText})
	case schema.is("integer"):
		return []candidate{{figure, readWhole}}
	case schema.is("number"):
		return []candidate{{figure, readNumber}}
	}
	return nil
}

// copied reports whether values are read out of the request.
func (p *parameter) copied() bool {
	switch p.source {
	case span, figure, day, clock, list:
		return true
	}
	return false
}

// like reports whether q is called the same and takes the same kind of values.
func (p *parameter) like(q *parameter) bool {
	same := func(x, y json.RawMessage) bool { return string(x) == string(y) }
	return q.name == p.name && q.source == p.source && q.whole == p.whole && slices.EqualFunc(p.values, q.values, same)
}

// named reports whether the request names the parameter itself.
func (p *parameter) named(said map[string]bool) bool {
	all, negated := hasStems(said, p.name)
	return all && !negated
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }
