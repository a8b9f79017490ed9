package tools

import (
	"encoding/json"
	"fmt"
	"slices"
)

// shape is a schema as the grammar sees it: the few keywords that decoding can enforce, and the name of the first one
// that it can't. Parameters made from Python signatures have no others.
type shape struct {
	types       []string
	enum        []json.RawMessage // nil where there is none
	properties  map[string]*shape
	required    []string
	items       *shape
	closed      bool
	unsupported string
}

// parseShape reads a schema that compileSchema took.
func parseShape(raw json.RawMessage) (*shape, error) {
	if s := string(raw); s == "true" || s == "false" {
		return &shape{unsupported: "a schema that is just " + s}, nil
	}
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keywords); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &shape{}
	for _, key := range sortedKeys(keywords) {
		if err := s.read(key, keywords[key]); err != nil {
			return nil, fmt.Errorf("schema keyword %s: %w", key, err)
		}
	}
	return s, nil
}

func (s *shape) read(key string, value json.RawMessage) (err error) {
	switch key {
	case "$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format":
		// Annotations: they say nothing about which values are valid.
	case "type":
		if value[0] == '"' {
			s.types = []string{""}
			return json.Unmarshal(value, &s.types[0])
		}
		return json.Unmarshal(value, &s.types)
	case "enum":
		return json.Unmarshal(value, &s.enum)
	case "const":
		s.enum = []json.RawMessage{value}
	case "required":
		return json.Unmarshal(value, &s.required)
	case "additionalProperties":
		s.closed = string(value) == "false"
	case "items":
		s.items, err = parseShape(value)
	case "properties":
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return err
		}
		s.properties = map[string]*shape{}
		for name, member := range members {
			if s.properties[name], err = parseShape(member); err != nil {
				return err
			}
		}
	default:
		if s.unsupported == "" {
			s.unsupported = fmt.Sprintf("the keyword %q", clip(key))
		}
	}
	return err
}

// order is the one order in which an object's members are written: the required ones as the schema lists them, then
// the others by name.
func (s *shape) order() []string {
	names := slices.Clone(s.required)
	for _, name := range sortedKeys(s.properties) {
		if !slices.Contains(s.required, name) {
			names = append(names, name)
		}
	}
	return names
}

// arrange rewrites a valid canonical value with every object's members in the grammar's order.
func (s *shape) arrange(value json.RawMessage) (json.RawMessage, error) {
	switch {
	case s == nil:
		return value, nil
	case value[0] == '{' && len(s.properties) > 0:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return nil, err
		}
		w := objectWriter{}
		names := s.order()
		for _, name := range sortedKeys(members) {
			if s.properties[name] == nil && !slices.Contains(names, name) {
				names = append(names, name) // only an open object has these; no grammar is made for one
			}
		}
		for _, name := range names {
			if member, ok := members[name]; ok {
				arranged, err := s.properties[name].arrange(member)
				if err != nil {
					return nil, err
				}
				w.member(name, arranged)
			}
		}
		return w.bytes(), w.err
	case value[0] == '[' && s.items != nil:
		var items []json.RawMessage
		if err := json.Unmarshal(value, &items); err != nil {
			return nil, err
		}
		text := []byte{'['}
		for i, item := range items {
			arranged, err := s.items.arrange(item)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				text = append(text, ',')
			}
			text = append(text, arranged...)
		}
		return append(text, ']'), nil
	}
	return value, nil
}
