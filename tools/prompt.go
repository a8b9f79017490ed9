package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"edge/internal/canon"
)

// PromptJSON is the tool as a model reads it, as short as it can be: one line of
// {"name":…,"description":…,"parameters":{"properties":{…},"required":[…]}}, every value in canonical form, the members
// in this order. What is the same for every tool (closed, of type object) and what a model can't act on (level, output
// schema) is left out, and schemas are those of PlainProperties; definitions that hold themselves follow as "$defs". A
// tool without parameters has "parameters":{}.
func (t Tool) PromptJSON() ([]byte, error) {
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(t.Parameters, &schema); err != nil {
		return nil, fmt.Errorf("prompt text of tool %s: %w", t.Name, err)
	}
	properties, definitions, err := t.PlainProperties()
	if err != nil {
		return nil, fmt.Errorf("prompt text of tool %s: %w", t.Name, err)
	}
	var parameters, w objectWriter
	if len(properties) > 0 {
		parameters.member("properties", properties)
	}
	if len(schema.Required) > 0 {
		parameters.member("required", schema.Required)
	}
	if len(definitions) > 0 {
		named := map[string]json.RawMessage{}
		for ref, definition := range definitions {
			named[ref[strings.LastIndexByte(ref, '/')+1:]] = definition
		}
		parameters.member("$defs", named)
	}
	w.member("name", t.Name)
	w.member("description", t.Description)
	w.member("parameters", parameters.bytes())
	if err := cmp.Or(parameters.err, w.err); err != nil {
		return nil, fmt.Errorf("prompt text of tool %s: %w", t.Name, err)
	}
	return w.bytes(), nil
}

// CallText writes a valid call exactly as the grammar makes a model write it: "tool_name" first, required arguments in
// the order of the schema, then the optional ones by name, no space anywhere. Examples and the history of a chat are
// written by it, so that a model never reads one form and is held to another.
func (s *ActiveSet) CallText(c Call) (string, error) {
	if err := s.Validate(c); err != nil {
		return "", err
	}
	arguments, err := s.find(c.ToolName).shape.arrange(c.Arguments)
	if err != nil {
		return "", fmt.Errorf("call text of %s: %w", c.ToolName, err)
	}
	var w objectWriter
	w.member("tool_name", c.ToolName)
	w.member("arguments", arguments)
	return string(w.bytes()), w.err
}

// objectWriter writes a compact JSON object whose members keep the order they came in. A json.RawMessage is written as
// it is, everything else in canonical form.
type objectWriter struct {
	text []byte
	err  error
}

func (w *objectWriter) member(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw = w.canonical(value)
	}
	separator := byte(',')
	if len(w.text) == 0 {
		separator = '{'
	}
	w.text = append(w.text, separator)
	w.text = append(w.text, w.canonical(name)...)
	w.text = append(w.text, ':')
	w.text = append(w.text, raw...)
}

func (w *objectWriter) canonical(v any) json.RawMessage {
	text, err := canon.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	return text
}

// bytes closes the object.
func (w *objectWriter) bytes() json.RawMessage {
	if len(w.text) == 0 {
		return json.RawMessage("{}")
	}
	return append(w.text[:len(w.text):len(w.text)], '}')
}
