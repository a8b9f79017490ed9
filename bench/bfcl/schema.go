package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"edge/internal/canon"
	"edge/internal/fault"
	"edge/tools"
)

// translate writes the leaderboard's description of parameters as JSON Schema 2020-12. It only changes words: what edge
// can't enforce stays as it is or without a type, and is for edge to refuse by name.
//
//   - dict is object, closed where its properties are listed. A dict without them stays open, which edge refuses.
//   - float is number, bool boolean, list and tuple array; string, integer, number, boolean, array, object are themselves.
//   - any has no counterpart: the type is left away, which edge refuses. (The package tells models that any is a string.)
//   - a default of null makes the type nullable, since leaving the value away and giving null are then the same.
//   - optional, which isn't a keyword of JSON Schema, is left away: required says the same.
func translate(parameters json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(parameters))
	decoder.UseNumber()
	var schema map[string]any
	if err := decoder.Decode(&schema); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	return canon.Marshal(translateSchema(schema))
}

func translateSchema(in map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range in {
		switch key {
		case "optional":
		case "type":
			if name, ok := jsonType(value); ok {
				out["type"] = name
			}
		case "items":
			out["items"] = translateAny(value)
		case "properties":
			members, ok := value.(map[string]any)
			if !ok {
				out["properties"] = value // for edge to refuse
				continue
			}
			properties := map[string]any{}
			for name, member := range members {
				properties[name] = translateAny(member)
			}
			out["properties"] = properties
			out["additionalProperties"] = false
		default:
			out[key] = value
		}
	}
	if value, given := in["default"]; given && value == nil && out["type"] != nil {
		out["type"] = []any{out["type"], "null"}
		if values, ok := out["enum"].([]any); ok {
			out["enum"] = append(values[:len(values):len(values)], nil)
		}
	}
	return out
}

func translateAny(schema any) any {
	if members, ok := schema.(map[string]any); ok {
		return translateSchema(members)
	}
	return schema
}

// jsonType gives the type's name in JSON Schema; ok is false for a type that leaves the value open.
func jsonType(value any) (name any, ok bool) {
	switch value {
	case "dict":
		return "object", true
	case "float":
		return "number", true
	case "bool":
		return "boolean", true
	case "list", "tuple":
		return "array", true
	case "any":
		return nil, false
	}
	return value, true
}

// freeze makes an active set of functions, as a tools file of them would.
func freeze(functions []function) (*tools.ActiveSet, error) {
	in := tools.Inspection{Path: "functions", GeneratorVersion: "bfcl"}
	for i, f := range functions {
		parameters, err := translate(f.Parameters)
		if err != nil {
			return nil, err
		}
		in.Tools = append(in.Tools, tools.Tool{
			Name: toolName(f.Name), Description: f.Description, Parameters: parameters, ExecutionLevel: tools.Read, Line: i + 1,
		})
	}
	return tools.Freeze(in, tools.Selection{})
}

// refusal says why edge refused, without the names that are another for each function.
func refusal(err error) string {
	var e *fault.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Code == fault.CodeActiveToolLimitExceeded {
		return fmt.Sprintf("%s: more than %d functions", e.Code, tools.MaxActive)
	}
	text := e.Message
	if len(e.Problems) > 0 {
		text = e.Problems[0].Message
	}
	return fmt.Sprintf("%s: %s", e.Code, withoutNames(text))
}
