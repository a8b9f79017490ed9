package evolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"edge/internal/canon"
)

// NormaliseSchema mends what models get wrong most often in a tool's parameters: anything but an object becomes a schema
// without parameters; a schema with properties whose type is missing or wrong keeps properties and required; and an
// object without properties is taken for the map of properties itself, but for members that can't be a schema.
func NormaliseSchema(raw json.RawMessage) json.RawMessage {
	empty := json.RawMessage(`{"properties":{},"type":"object"}`)
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return empty
	}
	out := members
	if properties, ok := members["properties"]; !ok {
		for name, member := range members {
			if trimmed := bytes.TrimSpace(member); trimmed[0] != '{' {
				delete(members, name) // {"type":"object"} alone declares nothing
			}
		}
		return mapped(members, empty)
	} else if !bytes.Equal(bytes.TrimSpace(members["type"]), []byte(`"object"`)) {
		out = map[string]json.RawMessage{"type": json.RawMessage(`"object"`), "properties": properties}
		if required, ok := members["required"]; ok {
			out["required"] = required
		}
	}
	text, err := canon.Marshal(out)
	if err != nil {
		return empty
	}
	return text
}

// mapped is the schema of an object with these properties.
func mapped(properties map[string]json.RawMessage, empty json.RawMessage) json.RawMessage {
	text, err := canon.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		return empty
	}
	return text
}

// parameter is one parameter of a tool as its generated function declares it.
type parameter struct {
	Name     string
	Hint     string // its annotation in Python
	Optional bool   // it may be left out
	JSON     bool   // it goes in as JSON text: its schema has no annotation of its own
}

// signature gives the parameters of a normalised schema, those that are required first, as the schema lists them.
func signature(schema json.RawMessage) ([]parameter, error) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the parameters aren't a JSON Schema of an object: %w", err)
	}
	if len(s.Properties) > MaxParameters {
		return nil, fmt.Errorf("%d parameters are more than %d", len(s.Properties), MaxParameters)
	}
	var list []parameter
	for _, name := range orderOf(s.Properties, s.Required) {
		if !isParameterName(name) {
			return nil, fmt.Errorf("the parameter name %q isn't a plain Python identifier", clip(name, 60))
		}
		p := parameter{Name: name, Optional: !slices.Contains(s.Required, name)}
		hint, nullable, ok := hintOf(s.Properties[name], 0)
		if p.Hint = hint; !ok {
			p.Hint, p.JSON = "str", true
		}
		if nullable || p.Optional {
			p.Hint = "Optional[" + p.Hint + "]"
		}
		list = append(list, p)
	}
	return list, nil
}

func orderOf(properties map[string]json.RawMessage, required []string) []string {
	var names, rest []string
	for _, name := range required {
		if _, ok := properties[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name := range properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

// hintOf gives the annotation that says the same as a schema, if there is one.
func hintOf(raw json.RawMessage, depth int) (hint string, nullable, ok bool) {
	var s struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		Items json.RawMessage   `json:"items"`
	}
	if json.Unmarshal(raw, &s) != nil || depth > 4 {
		return "", false, false
	}
	types := typesOf(s.Type)
	if i := slices.Index(types, "null"); i >= 0 && len(types) == 2 {
		nullable, types = true, slices.Delete(types, i, i+1)
	}
	if len(types) != 1 {
		return "", false, false
	}
	primitive := map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
	switch kind := types[0]; {
	case len(s.Enum) > 0:
		hint, ok = literal(s.Enum, kind)
		return hint, nullable, ok
	case primitive[kind] != "":
		return primitive[kind], nullable, true
	case kind == "array" && len(s.Items) > 0:
		inner, null, ok := hintOf(s.Items, depth+1)
		if null {
			inner = "Optional[" + inner + "]"
		}
		return "list[" + inner + "]", nullable, ok
	}
	return "", false, false
}

func typesOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(raw, &several) != nil {
		return nil
	}
	return several
}

// literal writes texts of an enum as Literal[…]; numbers in an enum are rare, and stay free.
func literal(values []json.RawMessage, kind string) (string, bool) {
	if kind != "string" || len(values) > 64 {
		return "", false
	}
	var texts []string
	for _, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			return "", false
		}
		texts = append(texts, pythonText(text))
	}
	return "Literal[" + strings.Join(texts, ", ") + "]", true
}

// pythonText is a text as a Python literal: JSON's escapes are Python's, and nothing but ASCII is left.
func pythonText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// identifier is shorter than a SHA-256, so that a receipt never takes a name for one.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// isParameterName keeps generated code free of surprises: ASCII, no leading underscore, no word of Python.
func isParameterName(name string) bool { return identifier.MatchString(name) && !isKeyword(name) }

func isKeyword(name string) bool {
	const words = " False None True and as assert async await break class continue def del elif else except finally for from " +
		"global if import in is lambda nonlocal not or pass raise return try while with yield "
	return strings.Contains(words, " "+name+" ")
}

// adapt puts arguments into the form that the generated function takes: JSON text where its schema has no annotation.
func adapt(args map[string]json.RawMessage, list []parameter) (json.RawMessage, error) {
	out := map[string]any{}
	for name, value := range args {
		out[name] = value
		i := slices.IndexFunc(list, func(p parameter) bool { return p.Name == name })
		var text string
		if i >= 0 && list[i].JSON && string(value) != "null" && json.Unmarshal(value, &text) != nil {
			out[name] = string(value)
		}
	}
	return canon.Marshal(out)
}

func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + "…"
}

// lastChars gives the end of a text.
func lastChars(text string, n int) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-n):])
}
