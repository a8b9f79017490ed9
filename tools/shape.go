package tools

import (
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shape is a schema as the grammar sees it: which values it is made of, and the name of the first keyword that decoding
// can't enforce. Limits (lengths, ranges, patterns) are read from schema.
type shape struct {
	schema      *jsonschema.Schema
	types       []string
	enum        []json.RawMessage // nil where there is none
	properties  map[string]*shape
	required    []string
	closed      bool   // no other members
	extra       *shape // what other members hold, nil where nothing is said
	names       *shape // of other members
	items       *shape
	prefix      []*shape
	format      string
	ref         *shape   // of "$ref", or an "allOf" of one
	union       []*shape // of "anyOf" and "oneOf"
	exclusive   bool     // of "oneOf": a value may follow one only
	unsupported string
	unreadable  bool // what is unsupported is the pattern
}

// shapeReader reads the parts of one schema. A reference gives the same shape each time, so that shapes may be cyclic.
type shapeReader struct {
	root json.RawMessage
	refs map[string]*shape
	all  []*shape
}

// parseShape reads a schema that compileSchema took, and compiled.
func parseShape(raw json.RawMessage, compiled *jsonschema.Schema) (*shape, error) {
	r := &shapeReader{root: raw, refs: map[string]*shape{}}
	s, err := r.shape(raw, compiled)
	if err != nil {
		return nil, err
	}
	r.seal()
	return s, nil
}

func (r *shapeReader) shape(raw json.RawMessage, compiled *jsonschema.Schema) (*shape, error) {
	s := &shape{}
	return s, r.fill(s, raw, compiled)
}

// annotates reports whether a keyword says nothing about which values are valid, or holds schemas for others to point to.
func annotates(key string) bool {
	switch key {
	case "$schema", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
		"discriminator", "contentEncoding", "contentMediaType", "contentSchema":
		return true
	}
	return false
}

// whole reports whether a keyword stands in for a whole schema, and so stands alone.
func whole(key string) bool {
	return key == "$ref" || key == "allOf" || key == "anyOf" || key == "oneOf"
}

func (r *shapeReader) fill(s *shape, raw json.RawMessage, compiled *jsonschema.Schema) error {
	r.all = append(r.all, s)
	if s.schema = compiled; compiled == nil { // of "additionalProperties": true
		s.schema = &jsonschema.Schema{}
	}
	switch string(raw) {
	case "true":
		return nil
	case "false":
		s.unsupported = "a schema that admits nothing"
		return nil
	}
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keywords); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	var asserting []string
	for _, key := range sortedKeys(keywords) {
		if annotates(key) {
			continue
		}
		asserting = append(asserting, key)
		if err := r.read(s, key, keywords[key]); err != nil {
			return fmt.Errorf("schema keyword %s: %w", key, err)
		}
	}
	for _, key := range asserting {
		if whole(key) && len(asserting) > 1 {
			s.refuse("the keyword %q beside others", key)
		}
	}
	return nil
}

func (s *shape) refuse(format string, args ...any) {
	if s.unsupported == "" {
		s.unsupported = fmt.Sprintf(format, args...)
	}
}

func (r *shapeReader) read(s *shape, key string, value json.RawMessage) (err error) {
	c := s.schema
	switch key {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
		"minProperties", "maxProperties":
	case "pattern":
		if _, unread := c.Pattern.(unreadPattern); unread {
			s.refuse("the pattern %s", clip(c.Pattern.String()))
			s.unreadable = true
		}
	case "format":
		return json.Unmarshal(value, &s.format)
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
		if s.closed = string(value) == "false"; !s.closed {
			sub, _ := c.AdditionalProperties.(*jsonschema.Schema)
			s.extra, err = r.shape(value, sub)
		}
	case "propertyNames":
		s.names, err = r.shape(value, c.PropertyNames)
	case "patternProperties":
		return r.patternProperties(s, value)
	case "items":
		if string(value) != "false" {
			s.items, err = r.shape(value, c.Items2020)
		}
	case "prefixItems":
		s.prefix, err = r.list(value, c.PrefixItems)
	case "anyOf":
		s.union, err = r.list(value, c.AnyOf)
	case "oneOf":
		s.exclusive = true
		s.union, err = r.list(value, c.OneOf)
	case "allOf":
		var all []*shape
		if all, err = r.list(value, c.AllOf); err == nil && len(all) == 1 {
			s.ref = all[0]
		} else {
			s.refuse(`an "allOf" of several`)
		}
	case "$ref":
		return r.reference(s, value)
	case "properties":
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return err
		}
		s.properties = map[string]*shape{}
		for _, name := range sortedKeys(members) {
			if s.properties[name], err = r.shape(members[name], c.Properties[name]); err != nil {
				return err
			}
		}
	default:
		s.refuse("the keyword %q", clip(key))
	}
	return err
}

func (r *shapeReader) list(raw json.RawMessage, compiled []*jsonschema.Schema) ([]*shape, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	list := make([]*shape, len(parts))
	for i, part := range parts {
		var err error
		if list[i], err = r.shape(part, compiled[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// patternProperties reads one pattern for all names, as a dict whose keys have one is written.
func (r *shapeReader) patternProperties(s *shape, raw json.RawMessage) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) != 1 || len(s.schema.Properties) > 0 || s.schema.PropertyNames != nil {
		s.refuse(`the keyword "patternProperties" beside other members`)
		return nil
	}
	for pattern, sub := range s.schema.PatternProperties {
		s.names = &shape{schema: &jsonschema.Schema{Pattern: pattern}, types: []string{"string"}}
		if _, unread := pattern.(unreadPattern); unread {
			s.refuse("the pattern %s", clip(pattern.String()))
		}
		for _, part := range parts {
			extra, err := r.shape(part, sub)
			if err != nil {
				return err
			}
			s.extra = extra
		}
	}
	return nil
}

// kinds are the JSON types that a value may have; nil is any. Where none is named, the other keywords tell.
func (s *shape) kinds() []string {
	c := s.schema
	switch {
	case s.types != nil:
		return s.types
	case s.properties != nil || s.extra != nil || s.names != nil || s.required != nil || s.closed:
		return []string{"object"}
	case s.items != nil || s.prefix != nil || c.MinItems != nil || c.MaxItems != nil:
		return []string{"array"}
	case s.format != "" || c.Pattern != nil || c.MinLength != nil || c.MaxLength != nil:
		return []string{"string"}
	case c.Minimum != nil || c.Maximum != nil || c.ExclusiveMinimum != nil || c.ExclusiveMaximum != nil || c.MultipleOf != nil:
		return []string{"number"}
	}
	return nil
}

func (s *shape) order() []string { return memberOrder(s.required, sortedKeys(s.properties)) }

// end is what a chain of references ends in.
func (s *shape) end() *shape {
	for s != nil && s.ref != nil {
		s = s.ref
	}
	return s
}
