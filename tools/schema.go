package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// noLoader keeps schemas from naming anything outside themselves: neither the network nor a file is ever read.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema, and edge reads no other place", url)
}

// compileSchema compiles canonical JSON as JSON Schema 2020-12. Formats stay annotations, as that draft has them. The
// library is version 6 of its module, the one that is still maintained.
func compileSchema(raw []byte) (*jsonschema.Schema, error) { return compile(raw, nil) }

// compileParameters is compileSchema, but for patterns that can't be read: those are for the grammar to refuse.
func compileParameters(raw []byte) (*jsonschema.Schema, error) { return compile(raw, readPattern) }

func compile(raw []byte, patterns jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if err := checkDraft(doc); err != nil {
		return nil, err
	}
	const url = "edge:///schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patterns)
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	sch, err := c.Compile(url)
	if err != nil {
		return nil, plainCompileError(err)
	}
	return sch, nil
}

// plainCompileError drops the schema's made-up address and keeps what is wrong and where.
func plainCompileError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var detail *jsonschema.ValidationError
	if !errors.As(invalid.Err, &detail) {
		return err
	}
	leaf := deepest(detail)
	return fmt.Errorf("at %s: %s", pathText(leaf.InstanceLocation), kindText(leaf.ErrorKind))
}

// checkDraft refuses another draft anywhere in the schema: its keywords would mean something else.
func checkDraft(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if draft, ok := v["$schema"].(string); ok && draft != draft2020 && draft != draft2020+"#" {
			return fmt.Errorf("$schema is %q, and edge reads JSON Schema 2020-12 only", clip(draft))
		}
		for _, sub := range v {
			if err := checkDraft(sub); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range v {
			if err := checkDraft(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// openPart names the first part of an object schema that lets undeclared fields through, or "" when it is closed.
//
// The top must be an object with "additionalProperties": false. Below it, every schema that describes an object (by
// its type or by declaring properties) must say what else may stand in it: false, or a schema for the other values.
// Otherwise a result could carry fields that nobody declared past a check that exists to prevent just that.
func openPart(schema any) string {
	top, ok := schema.(map[string]any)
	if !ok || top["type"] != "object" {
		return "the schema isn't of type object"
	}
	if top["additionalProperties"] != false {
		return `the schema lacks "additionalProperties": false`
	}
	return openBelow(top, nil)
}

func openBelow(schema map[string]any, path []string) string {
	if len(path) > 0 && describesObject(schema) {
		if more, ok := schema["additionalProperties"]; !ok || more == true {
			return fmt.Sprintf(`the object at %s lacks "additionalProperties": false`, pathText(path))
		}
	}
	for _, key := range sortedKeys(schema) {
		at := append(path[:len(path):len(path)], key)
		switch value := schema[key].(type) {
		case map[string]any:
			switch key {
			case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
				for _, name := range sortedKeys(value) {
					if sub, ok := value[name].(map[string]any); ok {
						if open := openBelow(sub, append(at[:len(at):len(at)], name)); open != "" {
							return open
						}
					}
				}
			case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "then", "else":
				if open := openBelow(value, at); open != "" {
					return open
				}
			}
		case []any:
			switch key {
			case "prefixItems", "allOf", "anyOf", "oneOf":
				for i, sub := range value {
					if sub, ok := sub.(map[string]any); ok {
						if open := openBelow(sub, append(at[:len(at):len(at)], fmt.Sprint(i))); open != "" {
							return open
						}
					}
				}
			}
		}
	}
	return ""
}

func describesObject(schema map[string]any) bool {
	if _, ok := schema["properties"]; ok {
		return true
	}
	switch t := schema["type"].(type) {
	case string:
		return t == "object"
	case []any:
		for _, one := range t {
			if one == "object" {
				return true
			}
		}
	}
	return false
}

// decode reads JSON that was checked before, keeping the text of its numbers.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return v, nil
}
