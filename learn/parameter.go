package learn

import (
	"encoding/json"
	"slices"
	"strings"

	"edge/tools"
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
	entire               // the request, as it stands
)

// schemaOf is what learning looks at in a parameter's schema.
type schemaOf struct {
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Items       *schemaOf         `json:"items"`
	Format      string            `json:"format"`
	Description string            `json:"description"`
	limits
}

// limits are what a value of the type may still break.
type limits struct {
	Minimum          json.RawMessage `json:"minimum"`
	Maximum          json.RawMessage `json:"maximum"`
	ExclusiveMinimum json.RawMessage `json:"exclusiveMinimum"`
	ExclusiveMaximum json.RawMessage `json:"exclusiveMaximum"`
	MultipleOf       json.RawMessage `json:"multipleOf"`
	MinLength        json.RawMessage `json:"minLength"`
	MaxLength        json.RawMessage `json:"maxLength"`
	Pattern          json.RawMessage `json:"pattern"`
	MinItems         json.RawMessage `json:"minItems"`
	MaxItems         json.RawMessage `json:"maxItems"`
	UniqueItems      json.RawMessage `json:"uniqueItems"`
}

// limited reports whether a value of the right type may be wrong.
func (s schemaOf) limited() bool {
	l := s.limits
	some := slices.Concat(l.Minimum, l.Maximum, l.ExclusiveMinimum, l.ExclusiveMaximum, l.MultipleOf, l.MinLength, l.MaxLength, l.Pattern, l.MinItems, l.MaxItems, l.UniqueItems)
	return len(some) > 0 || s.Items != nil && s.Items.limited()
}

// only reads what the schema admits.
func (read reader) only(admits func(json.RawMessage) bool) reader {
	return func(request string, words []word) (json.RawMessage, []string, bool) {
		value, items, ok := read(request, words)
		return value, items, ok && admits(value)
	}
}

// schemasOf reads what the tool says of its parameters, and which are required. A tool whose parameters can't be read has
// none; Freeze lets only readable ones through.
func schemasOf(t tools.Tool) (schemas map[string]schemaOf, required []string) {
	properties, _, err := t.PlainProperties()
	var top struct {
		Required []string `json:"required"`
	}
	if err != nil || json.Unmarshal(t.Parameters, &top) != nil {
		return nil, nil
	}
	schemas = map[string]schemaOf{}
	for name, raw := range properties {
		var s schemaOf
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		if s.Const != nil && !isNull(s.Const) {
			s.Enum = []json.RawMessage{s.Const}
		}
		schemas[name] = s
	}
	return schemas, top.Required
}

// is reports whether the schema admits a JSON type.
func (s schemaOf) is(name string) bool { return strings.Contains(string(s.Type), `"`+name+`"`) }

type parameter struct {
	name     string
	required bool // a value must be given
	orNull   bool // a value or null must be given: null where nothing speaks for a value
	source   source
	whole    bool // integers only
	untaught bool // no example of the tool gives it: all that is known is what the tool says of itself
	boolean  bool
	about    map[string]bool // stems of what the tool says of itself
	alone    bool            // the only number of its tool
	place    int             // among the tool's parameters
	reader   reader          // of a copied value
	admits   func(json.RawMessage) bool
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
	case p.given > 1 && p.passesOn(lessons):
		p.source = entire
	default:
		p.source, p.reader = p.find(schema, values, lessons)
	}
	if schema.limited() && p.reader != nil {
		p.reader = p.reader.only(p.admits)
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

// passesOn reports whether each example gives its whole request on, as one agent does to another.
func (p *parameter) passesOn(lessons []*lesson) bool {
	return !slices.ContainsFunc(lessons, func(e *lesson) bool {
		value, given := argument(e.Example, p.name)
		request, err := quoted(e.Prompt)
		return given && (err != nil || string(value) != string(request))
	})
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
