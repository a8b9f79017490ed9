package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/fault"
)

// GrammarOptions say what a model may write next. At least one of AllowCall and AllowAnswer must be set.
type GrammarOptions struct {
	// Tools are the names that may be called; empty is the whole active set.
	Tools []string
	// AllowAnswer admits text for the user: anything that starts with neither "{" nor white space.
	AllowAnswer bool
	// AllowCall admits one call.
	AllowCall bool
	// Ground ties values to the request; nil leaves them free.
	Ground *Grounding
}

// Grammar writes llama.cpp's grammar language (GBNF) for the options; its first rule is "root".
//
// A call is compact JSON without any free white space, its members in the order of CallText, so that a stuck model
// can't pad. What the grammar admits parses and validates, but for three things that a grammar can't know and Validate
// still refuses: integers of 16 digits beyond ±(2^53−1), text that isn't UTF-8, and numbers whose digits amount to such
// integers. What it doesn't admit though it is valid: numbers longer than 16 digits on a side, and exponents below −99 or
// above 9, where a number without one is as short or no longer exact.
//
// A keyword that can't be enforced while decoding is unsupported_schema, naming the tool and the parameter.
func (s *ActiveSet) Grammar(o GrammarOptions) (string, error) {
	g := &grammar{shared: map[string]string{}}
	if o.Ground != nil {
		if err := g.ground(o.Ground.Request); err != nil {
			return "", err
		}
	}
	var roots []string
	if o.AllowCall {
		call, err := g.call(s, o)
		if err != nil {
			return "", err
		}
		roots = append(roots, call)
	}
	if o.AllowAnswer {
		roots = append(roots, g.rule(`[^{ \t\r\n] .*`))
	}
	if len(roots) == 0 {
		return "", fmt.Errorf("grammar: neither a call nor an answer is allowed")
	}
	return "root ::= " + strings.Join(roots, " | ") + "\n" + g.text.String(), nil
}

// grammar collects rules. Their names are numbers, so that names of tools and parameters, however alike, never meet.
type grammar struct {
	text    strings.Builder
	rules   int
	shared  map[string]string // body → name, of rules that are written once
	spans   string            // the rule for a span of the request, "" where nothing is grounded
	numbers []number          // of the request
}

// rule writes a rule and gives its name.
func (g *grammar) rule(body string) string {
	name := fmt.Sprintf("r%d", g.rules)
	g.rules++
	fmt.Fprintf(&g.text, "%s ::= %s\n", name, body)
	return name
}

// share is rule, once for each body.
func (g *grammar) share(body string) string {
	name, ok := g.shared[body]
	if !ok {
		name = g.rule(body)
		g.shared[body] = name
	}
	return name
}

func (g *grammar) call(s *ActiveSet, o GrammarOptions) (string, error) {
	for _, name := range o.Tools {
		if s.find(name) == nil {
			return "", s.unknownTool(name)
		}
	}
	var choices []string
	for i := range s.tools {
		t := &s.tools[i]
		if len(o.Tools) > 0 && !slices.Contains(o.Tools, t.Name) {
			continue
		}
		arguments, err := g.object(place{tool: t, ground: o.Ground}, t.shape, true)
		if err != nil {
			return "", err
		}
		choices = append(choices, quote(t.Name+`","arguments":`)+" "+arguments)
	}
	return g.rule(quote(`{"tool_name":"`) + " " + g.rule(strings.Join(choices, " | ")) + " " + quote("}")), nil
}

// place is where in a tool's parameters a value stands.
type place struct {
	tool   *frozenTool
	ground *Grounding
	path   []string
	policy ParamPolicy
}

func (p place) at(part string) place {
	p.path = append(p.path[:len(p.path):len(p.path)], part)
	return p
}

func (p place) unsupported(format string, args ...any) error {
	where := "the parameters"
	if len(p.path) > 0 {
		where = "parameter " + pathText(p.path)
	}
	return fault.New(fault.CodeUnsupportedSchema, "tool %s: %s: %s can't be enforced while decoding", p.tool.Name, where, fmt.Sprintf(format, args...))
}

// member is one member of an object in the grammar.
type member struct {
	text      string // "name":value
	mandatory bool
}

// object writes an object's members in order, with commas right for every choice of optional ones.
func (g *grammar) object(p place, s *shape, top bool) (string, error) {
	switch {
	case s.unsupported != "":
		return "", p.unsupported("%s", s.unsupported)
	case !s.closed:
		return "", p.unsupported("an object that lacks \"additionalProperties\": false")
	}
	var members []member
	for _, name := range s.order() {
		at := p.at(name)
		property, ok := s.properties[name]
		if !ok {
			return "", at.unsupported("a required member that isn't declared")
		}
		mandatory := slices.Contains(s.required, name)
		if top {
			at.policy = p.ground.policy(p.tool.Name, name)
			switch at.policy.Include {
			case IncludeRequired:
				mandatory = true
			case IncludeAbsent:
				if mandatory {
					return "", fmt.Errorf("grammar: tool %s: parameter %s is required and can't be left out", p.tool.Name, name)
				}
				continue
			}
		}
		value, err := g.value(at, property)
		if err != nil {
			return "", err
		}
		key, err := canon.Marshal(name)
		if err != nil {
			return "", at.unsupported("its name: %s", err)
		}
		members = append(members, member{quote(string(key)+":") + " " + value, mandatory})
	}
	if len(members) == 0 {
		return quote("{}"), nil
	}
	return quote("{") + " " + g.firstOf(members) + " " + quote("}"), nil
}

// firstOf starts a list of members: it ends with the first mandatory one, or may be empty where there is none.
func (g *grammar) firstOf(members []member) string {
	rest := make([]string, len(members)+1) // rest[i]: what may follow once a member before i is there
	for i := len(members) - 1; i > 0; i-- {
		next := members[i]
		following := strings.TrimSpace(quote(",") + " " + next.text)
		if !next.mandatory {
			following = "(" + following + ")?"
		}
		rest[i] = g.rule(strings.TrimSpace(following + " " + rest[i+1]))
	}
	var choices []string
	for i, m := range members {
		choices = append(choices, strings.TrimSpace(m.text+" "+rest[i+1]))
		if m.mandatory {
			return g.rule(strings.Join(choices, " | "))
		}
	}
	return g.rule("(" + strings.Join(choices, " | ") + ")?")
}

// value writes one value, as one symbol or a group.
func (g *grammar) value(p place, s *shape) (string, error) {
	if len(p.policy.Candidates) > 0 {
		return g.candidates(p, s)
	}
	if s.unsupported != "" {
		return "", p.unsupported("%s", s.unsupported)
	}
	if s.enum != nil {
		return g.enum(p, s)
	}
	if len(s.types) == 0 {
		return "", p.unsupported("a value without a type")
	}
	var choices []string
	for _, t := range s.types {
		choice, err := g.typed(p, s, t)
		if err != nil {
			return "", err
		}
		choices = append(choices, choice)
	}
	if len(choices) == 1 {
		return choices[0], nil
	}
	return "(" + strings.Join(choices, " | ") + ")", nil
}

func (g *grammar) typed(p place, s *shape, jsonType string) (string, error) {
	fromRequest := p.policy.Source == FromRequest
	switch jsonType {
	case "string":
		if fromRequest && g.spans != "" {
			return g.spans, nil
		}
		return g.share(freeString), nil
	case "integer", "number":
		if texts := candidateNumbers(g.numbers, jsonType == "integer"); fromRequest && len(texts) > 0 {
			return g.share(alternatives(texts)), nil
		}
		if jsonType == "integer" {
			return g.share(freeInteger), nil
		}
		return g.share(freeNumber), nil
	case "boolean":
		return `("true" | "false")`, nil
	case "null":
		return quote("null"), nil
	case "array":
		if s.items == nil {
			return "", p.unsupported("an array without \"items\"")
		}
		item, err := g.value(p.at("0"), s.items)
		if err != nil {
			return "", err
		}
		return g.rule(`"[" (` + item + ` ("," ` + item + `)*)? "]"`), nil
	case "object":
		nested, err := g.object(p, s, false)
		if err != nil {
			return "", err
		}
		return g.rule(nested), nil
	}
	return "", p.unsupported("the type %q", clip(jsonType))
}

// enum admits exactly the canonical texts of the values, those that the schema's type admits as well.
func (g *grammar) enum(p place, s *shape) (string, error) {
	var texts []string
	for _, raw := range s.enum {
		if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(t string) bool { return hasType(raw, t) }) {
			continue
		}
		texts = append(texts, string(raw))
	}
	if len(texts) == 0 {
		return "", p.unsupported("an enum without a value")
	}
	return "(" + alternatives(texts) + ")", nil
}

// candidates admits the listed values. They come from learning, so each is checked against the schema first.
func (g *grammar) candidates(p place, s *shape) (string, error) {
	sch := p.tool.parameters.Properties[p.path[0]]
	var texts []string
	for _, candidate := range p.policy.Candidates {
		text, err := canon.Transform([]byte(candidate))
		if err != nil {
			return "", fmt.Errorf("grammar: tool %s: parameter %s: candidate %s: %w", p.tool.Name, p.path[0], clip(candidate), err)
		}
		value, err := decode(text)
		if err != nil {
			return "", fmt.Errorf("grammar: tool %s: parameter %s: candidate %s: %w", p.tool.Name, p.path[0], clip(candidate), err)
		}
		if err := sch.Validate(value); err != nil {
			return "", fmt.Errorf("grammar: tool %s: parameter %s: the candidate %s isn't valid there", p.tool.Name, p.path[0], clip(candidate))
		}
		arranged, err := s.arrange(text)
		if err != nil {
			return "", fmt.Errorf("grammar: tool %s: parameter %s: %w", p.tool.Name, p.path[0], err)
		}
		texts = append(texts, string(arranged))
	}
	return "(" + alternatives(texts) + ")", nil
}

// hasType reports whether a canonical JSON text is of a schema's type.
func hasType(text json.RawMessage, jsonType string) bool {
	switch text[0] {
	case '"':
		return jsonType == "string"
	case '[':
		return jsonType == "array"
	case '{':
		return jsonType == "object"
	case 't', 'f':
		return jsonType == "boolean"
	case 'n':
		return jsonType == "null"
	}
	return jsonType == "number" || jsonType == "integer" && !bytes.ContainsAny(text, ".e")
}

// The texts of free values. Repetition is bounded where a value has a sensible length and left to the token limit for
// strings: the engine copies a rule once for each repetition that is counted.
const (
	freeString = `"\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ` +
		// four hex digits that aren't a surrogate
		`([0-9a-cA-CefEF] [0-9a-fA-F] | [dD] [0-7]) [0-9a-fA-F] [0-9a-fA-F]))* "\""`
	freeInteger = `"-"? ("0" | [1-9] [0-9]{0,15})`
	freeNumber  = freeInteger + ` ("." [0-9]{1,16})? ([eE] ("-" "0"? [1-9] [0-9]? | "+"? [1-9]))?`
)

// alternatives lists literal texts, each once.
func alternatives(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, text := range texts {
		if q := quote(text); !slices.Contains(quoted, q) {
			quoted = append(quoted, q)
		}
	}
	return strings.Join(quoted, " | ")
}

// quote writes text as a GBNF literal. Control characters never occur: what is quoted is JSON.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
