package tools

import (
	"encoding/json"
	"strings"

	"edge/internal/canon"
	"edge/internal/fault"
)

// A function tool that isn't strict comes with a schema that JSON Schema takes for open: it declares members and says
// nothing of others. Only what is declared can be written under a grammar, so such an object is closed. One that declares
// members and is open on purpose is refused as any other; one that declares none takes any.

// closeObjects gives a schema in which every object that declares members says that there are no others.
func closeObjects(raw json.RawMessage) (json.RawMessage, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	top, ok := doc.(map[string]any)
	if !ok {
		return raw, nil // whoever checks schemas says so
	}
	if _, said := top["additionalProperties"]; !said && top["type"] == "object" {
		top["additionalProperties"] = false
	}
	closeBelow(top)
	return canon.Marshal(doc)
}

func closeBelow(schema map[string]any) {
	_, said := schema["additionalProperties"]
	if _, declares := schema["properties"]; declares && !said {
		schema["additionalProperties"] = false
	} else if more, said := schema["additionalProperties"]; !declares && (more == true || !said && describesObject(schema)) {
		schema["additionalProperties"] = map[string]any{} // a dict of anything, which is said on purpose
	}
	for key, value := range schema {
		switch value := value.(type) {
		case map[string]any:
			switch key {
			case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
				for _, member := range value {
					closeAny(member)
				}
			case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "then", "else":
				closeAny(value)
			}
		case []any:
			switch key {
			case "prefixItems", "anyOf", "oneOf": // not allOf: its parts describe one object together
				for _, member := range value {
					closeAny(member)
				}
			}
		}
	}
}

func closeAny(schema any) {
	if schema, ok := schema.(map[string]any); ok {
		closeBelow(schema)
	}
}

// writable reports why no model could be held to a tool's parameters while it writes a call, naming the parameter.
func writable(t frozenTool) *fault.Problem {
	_, err := (&ActiveSet{tools: []frozenTool{t}}).Grammar(GrammarOptions{AllowCall: true})
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(fault.From(err).Message, "tool "+t.Name+": ")
	p := problem(t.Tool, fault.CodeUnsupportedSchema, "%s", text)
	if rest, ok := strings.CutPrefix(text, "parameter "); ok {
		p.Parameter, _, _ = strings.Cut(rest, ":")
	}
	return &p
}

// parameterAt names the first parameter that openPart finds open, itself or in a definition that it refers to.
func parameterAt(doc any) string {
	top, _ := doc.(map[string]any)
	properties, _ := top["properties"].(map[string]any)
	definitions, _ := top["$defs"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		if open := openWithin(properties[name], definitions, map[string]bool{}); open {
			return name
		}
	}
	return ""
}

func openWithin(schema any, definitions map[string]any, seen map[string]bool) bool {
	switch schema := schema.(type) {
	case map[string]any:
		if openBelow(map[string]any{"items": schema}, nil) != "" {
			return true
		}
		if ref, ok := schema["$ref"].(string); ok {
			if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok && !seen[name] {
				seen[name] = true
				return openWithin(definitions[name], definitions, seen)
			}
		}
		for _, key := range sortedKeys(schema) {
			if openWithin(schema[key], definitions, seen) {
				return true
			}
		}
	case []any:
		for _, part := range schema {
			if openWithin(part, definitions, seen) {
				return true
			}
		}
	}
	return false
}
