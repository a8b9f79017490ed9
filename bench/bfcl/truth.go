package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edge/internal/canon"
)

// truthCalls gives calls that the leaderboard counts as right: one with the first allowed value of every parameter, and
// then for each parameter one call for each other allowed value, and one without it where "" says that it may be left
// out. Between them each allowed value stands in a call.
func truthCalls(allowed map[string][]json.RawMessage, parameters json.RawMessage) ([]json.RawMessage, error) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		return nil, err
	}
	choices := map[string][]json.RawMessage{}
	for name, values := range allowed {
		list, err := truthValues(values, schema.Properties[name], !slices.Contains(schema.Required, name))
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		choices[name] = list
	}
	return vary(choices)
}

// vary makes the first object of first choices, and then one for each other choice. A nil choice leaves its member out.
func vary(choices map[string][]json.RawMessage) ([]json.RawMessage, error) {
	first := map[string]json.RawMessage{}
	for name, list := range choices {
		if len(list) > 0 && list[0] != nil {
			first[name] = list[0]
		}
	}
	objects := []map[string]json.RawMessage{first}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		for i, value := range choices[name] {
			if i == 0 {
				continue
			}
			other := maps.Clone(first)
			if delete(other, name); value != nil {
				other[name] = value
			}
			objects = append(objects, other)
		}
	}
	var texts []json.RawMessage
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// truthValues gives the values that a list of the ground truth allows; a nil one at the end means "left out". The
// members of an object, and of the objects of a list, are lists of allowed values themselves.
func truthValues(values []json.RawMessage, schema json.RawMessage, optional bool) ([]json.RawMessage, error) {
	var list []json.RawMessage
	absent := false
	for _, value := range values {
		switch text := strings.TrimSpace(string(value)); {
		case text == `""` && optional:
			absent = true
		case text == `""` && !admitsText(schema):
			// Neither can it be left out, nor is it a text.
		case strings.HasPrefix(text, "{"):
			objects, err := truthObjects(value, schema)
			if err != nil {
				return nil, err
			}
			list = append(list, objects...)
		case strings.HasPrefix(text, "[") && strings.HasPrefix(strings.TrimSpace(text[1:]), "{"):
			var items []json.RawMessage
			var array struct {
				Items json.RawMessage `json:"items"`
			}
			if err := json.Unmarshal(value, &items); err != nil {
				return nil, err
			}
			if schema != nil {
				if err := json.Unmarshal(schema, &array); err != nil {
					return nil, err
				}
			}
			lists, err := truthLists(items, array.Items)
			if err != nil {
				return nil, err
			}
			list = append(list, lists...)
		default:
			list = append(list, value)
		}
	}
	if absent {
		list = append(list, nil)
	}
	return list, nil
}

// admitsText reports whether a parameter's schema, if there is one, has strings among its types.
func admitsText(schema json.RawMessage) bool {
	var typed struct {
		Type any `json:"type"`
	}
	if schema == nil || json.Unmarshal(schema, &typed) != nil {
		return true
	}
	types, several := typed.Type.([]any)
	return several && slices.Contains(types, "string") || typed.Type == "string"
}

func truthObjects(value, schema json.RawMessage) ([]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, err
	}
	allowed := map[string][]json.RawMessage{}
	for name, member := range members {
		var values []json.RawMessage
		if json.Unmarshal(member, &values) != nil {
			return []json.RawMessage{value}, nil // not lists of allowed values, but the value itself
		}
		allowed[name] = values
	}
	if schema == nil {
		schema = json.RawMessage("{}")
	}
	return truthCalls(allowed, schema)
}

// truthLists varies the objects of a list one at a time.
func truthLists(items []json.RawMessage, schema json.RawMessage) ([]json.RawMessage, error) {
	choices := make([][]json.RawMessage, len(items))
	first := make([]json.RawMessage, len(items))
	for i, item := range items {
		objects, err := truthObjects(item, schema)
		if err != nil {
			return nil, err
		}
		choices[i], first[i] = objects, objects[0]
	}
	lists := [][]json.RawMessage{first}
	for i, objects := range choices {
		for _, object := range objects[1:] {
			other := slices.Clone(first)
			other[i] = object
			lists = append(lists, other)
		}
	}
	var texts []json.RawMessage
	for _, list := range lists {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// compact writes JSON without free space, for messages.
func compact(raw json.RawMessage) string {
	text, err := canon.Transform(raw)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
