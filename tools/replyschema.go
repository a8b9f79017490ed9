package tools

import (
	"encoding/json"
	"fmt"
	"slices"

	"edge/internal/canon"
)

// maxSpans bounds the spans of a request that a schema lists; beyond it a string is free, and validation alone judges it.
const maxSpans = 400

// CallSchema writes the JSON Schema of a call, for servers that hold a reply to one: what Grammar admits of calls, as far as
// a schema can say it. Members stand in the order of CallText, which servers keep. Options.AllowAnswer doesn't matter: a
// schema can't admit words.
//
// Errors: unknown_tool; a candidate that isn't JSON.
func (s *ActiveSet) CallSchema(o GrammarOptions) (json.RawMessage, error) {
	for _, name := range o.Tools {
		if s.find(name) == nil {
			return nil, s.unknownTool(name)
		}
	}
	var calls []json.RawMessage
	for i := range s.tools {
		t := &s.tools[i]
		if len(o.Tools) > 0 && !slices.Contains(o.Tools, t.Name) {
			continue
		}
		arguments, err := t.argumentsSchema(o.Ground)
		if err != nil {
			return nil, err
		}
		name, err := canon.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		calls = append(calls, closedObject([]property{{"tool_name", json.RawMessage(`{"enum":[` + string(name) + `],"type":"string"}`), true}, {"arguments", arguments, true}}))
	}
	switch len(calls) {
	case 0:
		return nil, fmt.Errorf("call schema: no tools")
	case 1:
		return calls[0], nil
	}
	all, err := json.Marshal(calls)
	return json.RawMessage(`{"anyOf":` + string(all) + `}`), err
}

// property is one member of an object's schema.
type property struct {
	name     string
	schema   json.RawMessage
	required bool
}

func closedObject(members []property) json.RawMessage {
	w, required := objectWriter{}, []string{}
	for _, m := range members {
		w.member(m.name, m.schema)
		if m.required {
			required = append(required, m.name)
		}
	}
	names, _ := json.Marshal(required) // strings always encode
	return json.RawMessage(`{"type":"object","properties":` + string(w.bytes()) + `,"required":` + string(names) + `,"additionalProperties":false}`)
}

func (t *frozenTool) argumentsSchema(ground *Grounding) (json.RawMessage, error) {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(t.Parameters, &doc); err != nil {
		return nil, fmt.Errorf("call schema: tool %s: %w", t.Name, err)
	}
	names := slices.Clone(doc.Required)
	for _, name := range sortedKeys(doc.Properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var members []property
	for _, name := range names {
		policy := ground.policy(t.Name, name)
		required := slices.Contains(doc.Required, name)
		if policy.Include == IncludeAbsent && !required {
			continue
		}
		schema, err := valueSchema(doc.Properties[name], policy, ground)
		if err != nil {
			return nil, fmt.Errorf("call schema: tool %s: parameter %s: %w", t.Name, name, err)
		}
		members = append(members, property{name, schema, required || policy.Include == IncludeRequired})
	}
	return closedObject(members), nil
}

// valueSchema narrows a parameter's schema to its candidates, or to what the request holds.
func valueSchema(declared json.RawMessage, policy ParamPolicy, ground *Grounding) (json.RawMessage, error) {
	values := policy.Candidates
	if len(values) == 0 && policy.Source == FromRequest {
		var s struct {
			Type json.RawMessage   `json:"type"`
			Enum []json.RawMessage `json:"enum"`
		}
		if err := json.Unmarshal(declared, &s); err != nil {
			return nil, err
		}
		switch t := string(s.Type); {
		case s.Enum != nil:
		case t == `"string"`:
			values = spanTexts(ground.Request)
		case t == `"integer"`, t == `"number"`:
			values = candidateNumbers(findNumbers(ground.Request), t == `"integer"`)
		}
	}
	if len(values) == 0 {
		return declared, nil
	}
	var list []json.RawMessage
	for _, v := range values {
		text, err := canon.Transform([]byte(v))
		if err != nil {
			return nil, fmt.Errorf("candidate %s: %w", clip(v), err)
		}
		if !slices.ContainsFunc(list, func(o json.RawMessage) bool { return string(o) == string(text) }) {
			list = append(list, text)
		}
	}
	all, err := json.Marshal(list)
	return json.RawMessage(`{"enum":` + string(all) + `}`), err
}

// spanTexts lists the spans of a request as JSON strings; none where there are too many to list.
func spanTexts(request string) []string {
	words := splitWords(request)
	var list []string
	for i, first := range words {
		for _, start := range first.starts {
			text := first.text[start:]
			lead := len(first.text) - len(text)
			for _, end := range first.ends {
				if end > lead {
					list = append(list, first.text[lead:end])
				}
			}
			for _, w := range words[i+1:] {
				text += w.gap
				for _, end := range w.ends {
					list = append(list, text+w.text[:end])
				}
				text += w.text
				if len(list) > maxSpans {
					return nil
				}
			}
		}
	}
	for i, text := range list {
		quoted, err := canon.Marshal(text)
		if err != nil {
			return nil
		}
		list[i] = string(quoted)
	}
	return list
}
