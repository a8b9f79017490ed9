package tools

import (
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
// can't pad. What the grammar admits parses, and validates but for what docs/tools.md lists: what a grammar can't know or
// would be too large for, Validate still refuses. That page also lists what is valid and isn't admitted.
//
// A keyword that can't be enforced at all is unsupported_schema, naming the tool and the parameter.
func (s *ActiveSet) Grammar(o GrammarOptions) (string, error) {
	g := &grammar{shared: map[string]string{}, named: map[namedKey]string{}}
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
	named   map[namedKey]string
	spans   string   // the rule for a span of the request, "" where nothing is grounded
	numbers []number // of the request
}

// namedKey is a shape that references point to, and where its values come from.
type namedKey struct {
	shape  *shape
	source Source
}

// rule writes a rule and gives its name.
func (g *grammar) rule(body string) string {
	name := g.name()
	g.define(name, body)
	return name
}

// name is a new rule's, which may be used before it is defined.
func (g *grammar) name() string {
	name := fmt.Sprintf("r%d", g.rules)
	g.rules++
	return name
}

func (g *grammar) define(name, body string) { fmt.Fprintf(&g.text, "%s ::= %s\n", name, body) }

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

// object writes an object's members in order, with commas right for every choice of optional ones. An object without
// declared members that isn't closed is a dict.
func (g *grammar) object(p place, s *shape, top bool) (string, error) {
	if s.unsupported != "" {
		return "", p.unsupported("%s", s.unsupported)
	}
	if len(s.properties) == 0 && !s.closed && !top {
		return g.dict(p, s)
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
