package tools

import (
	"encoding/json"
	"slices"
)

// ArgumentOrder is the order in which a call writes the tool's parameters: the required ones as the signature has them,
// then the optional ones by name.
func (t Tool) ArgumentOrder() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil {
		return nil // Freeze lets only such schemas through as can be read
	}
	return memberOrder(schema.Required, sortedKeys(schema.Properties))
}

// memberOrder is the one order in which an object's members are written: the required ones as the schema lists them, then
// the others by name.
func memberOrder(required, sorted []string) []string {
	return slices.Concat(required, slices.DeleteFunc(sorted, func(name string) bool { return slices.Contains(required, name) }))
}
