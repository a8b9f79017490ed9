package tools

import (
	"encoding/json"
	"maps"
	"slices"
)

// PlainProperties are the parameters' schemas as they are told to a model and read for learning: what a definition holds
// stands where it is referred to, "anyOf" of one type and null is that type or null, and titles, marks of closed objects
// and discriminators, which say nothing new, are left out. Definitions that hold themselves stay references, and are given
// apart.
func (t Tool) PlainProperties() (properties, definitions map[string]json.RawMessage, err error) {
	doc, err := decode(t.Parameters)
	if err != nil {
		return nil, nil, err
	}
	top, ok := doc.(map[string]any)
	if !ok {
		return nil, nil, nil // Freeze lets only objects through
	}
	p := &plainer{root: t.Parameters, kept: map[string]any{}}
	members, _ := top["properties"].(map[string]any)
	if properties, err = written(p.all(members, nil)); err != nil {
		return nil, nil, err
	}
	definitions, err = written(p.kept)
	return properties, definitions, err
}

func written(schemas map[string]any) (map[string]json.RawMessage, error) {
	texts := map[string]json.RawMessage{}
	for name, schema := range schemas {
		var w objectWriter
		if texts[name] = w.canonical(schema); w.err != nil {
			return nil, w.err
		}
	}
	return texts, nil
}

type plainer struct {
	root json.RawMessage
	kept map[string]any // definitions that hold themselves, by reference
	size int            // how many schemas were written
}

// mostPlain is how many schemas are written where they are used. References that fan out would grow without end; beyond
// it each definition is written once.
const mostPlain = 500

func (p *plainer) all(schemas map[string]any, open []string) map[string]any {
	plain := map[string]any{}
	for name, schema := range schemas {
		plain[name] = p.plain(schema, open)
	}
	return plain
}

// plain rewrites one schema; open are the references that it stands inside of.
func (p *plainer) plain(schema any, open []string) any {
	given, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	p.size++
	s := map[string]any{}
	for key, value := range given {
		switch key {
		case "title", "discriminator", "$defs", "definitions", "$comment":
		case "additionalProperties":
			if value != false && value != true {
				s[key] = p.plain(value, open)
			}
		case "properties", "patternProperties":
			members, _ := value.(map[string]any)
			s[key] = p.all(members, open)
		case "items", "propertyNames":
			s[key] = p.plain(value, open)
		case "anyOf", "oneOf", "prefixItems", "allOf":
			list, _ := value.([]any)
			plain := make([]any, len(list))
			for i, part := range list {
				plain[i] = p.plain(part, open)
			}
			s[key] = plain
		default:
			s[key] = value
		}
	}
	if all, ok := s["allOf"].([]any); ok && len(all) == 1 {
		s = over(all[0], s, "allOf")
	}
	if ref, ok := s["$ref"].(string); ok {
		s = p.reference(ref, s, open)
	}
	return orNull(s)
}

func (p *plainer) reference(ref string, s map[string]any, open []string) map[string]any {
	raw, found := follow(p.root, ref)
	if !found {
		return s
	}
	target, err := decode(raw)
	if err != nil {
		return s
	}
	if slices.Contains(open, ref) {
		p.kept[ref] = nil // the definition is being written further out
		return s
	}
	if p.size > mostPlain {
		if _, written := p.kept[ref]; !written {
			p.kept[ref] = nil
			p.kept[ref] = p.plain(target, append(open[:len(open):len(open)], ref))
		}
		return s
	}
	inner := p.plain(target, append(open[:len(open):len(open)], ref))
	if _, holdsItself := p.kept[ref]; holdsItself {
		p.kept[ref] = inner
		return s
	}
	return over(inner, s, "$ref")
}

// over puts what stands beside a reference over what it points to.
func over(target any, s map[string]any, without string) map[string]any {
	inner, ok := target.(map[string]any)
	if !ok {
		return s
	}
	merged := maps.Clone(inner)
	for key, value := range s {
		if key != without {
			merged[key] = value
		}
	}
	return merged
}

// orNull writes "anyOf" of one type and null as that type or null.
func orNull(s map[string]any) map[string]any {
	union, _ := s["anyOf"].([]any)
	if len(union) != 2 {
		return s
	}
	null := slices.IndexFunc(union, func(b any) bool {
		schema, ok := b.(map[string]any)
		return ok && len(schema) == 1 && schema["type"] == "null"
	})
	if null < 0 {
		return s
	}
	base, ok := union[1-null].(map[string]any)
	kind, single := base["type"].(string)
	if !ok || !single {
		return s
	}
	merged := over(base, s, "anyOf")
	merged["type"] = []any{kind, "null"}
	if values, ok := merged["enum"].([]any); ok {
		merged["enum"] = append(slices.Clone(values), nil)
	}
	if value, ok := merged["const"]; ok {
		delete(merged, "const")
		merged["enum"] = []any{value, nil}
	}
	return merged
}
