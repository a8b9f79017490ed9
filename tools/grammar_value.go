package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"edge/internal/canon"
)

// value writes one value, as one symbol or a group.
func (g *grammar) value(p place, s *shape) (string, error) {
	switch {
	case len(p.policy.Candidates) > 0:
		return g.candidates(p, s)
	case s.unsupported != "":
		return "", p.unsupported("%s", s.unsupported)
	case s.ref != nil:
		return g.reference(p, s.ref)
	case s.union != nil:
		return anyOf(s.union, func(b *shape) (string, error) { return g.value(p, b) })
	case s.enum != nil:
		return g.enum(p, s)
	}
	kinds := s.kinds()
	if kinds == nil {
		return g.anything(), nil
	}
	return anyOf(kinds, func(t string) (string, error) { return g.typed(p, s, t) })
}

// reference writes the rule of a shape that references point to, once, so that it may hold itself.
func (g *grammar) reference(p place, s *shape) (string, error) {
	key := namedKey{s, p.policy.Source}
	if name, ok := g.named[key]; ok {
		return name, nil
	}
	name := g.name()
	g.named[key] = name
	body, err := g.value(p, s)
	if err != nil {
		return "", err
	}
	g.define(name, body)
	return name, nil
}

func anyOf[T any](list []T, write func(T) (string, error)) (string, error) {
	var choices []string
	for _, one := range list {
		choice, err := write(one)
		if err != nil {
			return "", err
		}
		if !slices.Contains(choices, choice) {
			choices = append(choices, choice)
		}
	}
	if len(choices) == 1 {
		return choices[0], nil
	}
	return "(" + strings.Join(choices, " | ") + ")", nil
}

func (g *grammar) typed(p place, s *shape, jsonType string) (string, error) {
	switch jsonType {
	case "string":
		return g.string(p, s), nil
	case "integer", "number":
		return g.number(p, s, jsonType == "integer")
	case "boolean":
		return `("true" | "false")`, nil
	case "null":
		return quote("null"), nil
	case "array":
		return g.array(p, s)
	case "object":
		nested, err := g.object(p, s, false)
		if err != nil {
			return "", err
		}
		return g.rule(nested), nil
	}
	return "", p.unsupported("the type %q", clip(jsonType))
}

// anything admits every JSON value.
func (g *grammar) anything() string {
	key := namedKey{nil, Free}
	if name, ok := g.named[key]; ok {
		return name
	}
	name := g.name()
	g.named[key] = name
	text := g.share(freeString)
	entry := text + ` ":" ` + name
	g.define(name, text+" | "+g.share(freeNumber)+` | "true" | "false" | "null" | "[" `+list(name, 0, -1)+` "]" | "{" `+list(entry, 0, -1)+` "}"`)
	return name
}

// dict writes an object of any number of members. Where their names are listed, each comes once at most.
func (g *grammar) dict(p place, s *shape) (string, error) {
	if len(s.required) > 0 {
		return "", p.at(s.required[0]).unsupported("a required member that isn't declared")
	}
	value := g.anything()
	if s.extra != nil {
		var err error
		if value, err = g.value(p.at("*"), s.extra); err != nil {
			return "", err
		}
	}
	key := g.share(freeString)
	if names := s.names.end(); names != nil {
		if names.unsupported != "" {
			return "", p.unsupported("names: %s", names.unsupported)
		}
		if names.enum != nil {
			var members []member
			for _, name := range names.enum {
				members = append(members, member{text: quote(string(name)+":") + " " + value})
			}
			return join(quote("{"), g.firstOf(members), quote("}")), nil
		}
		key = g.string(place{}, names)
	}
	least, most := limits(s.schema.MinProperties, s.schema.MaxProperties)
	return join(quote("{"), list(g.rule(key+` ":" `+value), least, most), quote("}")), nil
}

// array writes its first items one by one, and the others as often as the limits say.
func (g *grammar) array(p place, s *shape) (string, error) {
	least, most := limits(s.schema.MinItems, s.schema.MaxItems)
	item := ""
	switch {
	case s.items != nil:
		var err error
		if item, err = g.value(p.at(fmt.Sprint(len(s.prefix))), s.items); err != nil {
			return "", err
		}
	case s.prefix == nil:
		item = g.anything()
	}
	n := len(s.prefix)
	if item == "" && least > n {
		return "", p.unsupported("an array of more items than are declared")
	}
	if n == 0 {
		return g.rule(join(`"["`, list(item, least, most), `"]"`)), nil
	}
	rest := ""
	if item != "" && (most < 0 || most > n) {
		above := most
		if most >= 0 {
			above = most - n
		}
		rest = times(`("," `+item+")", max(0, least-n), above)
	}
	for i := n - 1; i >= 0; i-- {
		if most >= 0 && i >= most {
			continue
		}
		value, err := g.value(p.at(fmt.Sprint(i)), s.prefix[i])
		if err != nil {
			return "", err
		}
		if i > 0 {
			value = `"," ` + value
		}
		if rest = join(value, rest); i >= least {
			rest = "(" + rest + ")?"
		}
	}
	return g.rule(join(`"["`, rest, `"]"`)), nil
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
