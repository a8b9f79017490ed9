package tools

import (
	"encoding/json"
	"slices"
)

// arrange rewrites a valid canonical value with every object's members in the grammar's order. It ends with the value,
// also where shapes are cyclic: references that lead back to themselves were cut.
func (s *shape) arrange(value json.RawMessage) (json.RawMessage, error) {
	s, err := s.branch(value)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return value, nil
	case value[0] == '{':
		return s.arrangeObject(value)
	case value[0] == '[' && (s.items != nil || s.prefix != nil):
		return s.arrangeArray(value)
	}
	return value, nil
}

// branch follows references, and of a union takes the first that the value follows.
func (s *shape) branch(value json.RawMessage) (*shape, error) {
	for s != nil {
		switch {
		case s.ref != nil:
			s = s.ref
		case s.union != nil:
			v, err := decode(value)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(s.union, func(b *shape) bool { return b.schema.Validate(v) == nil })
			if i < 0 {
				return nil, nil
			}
			s = s.union[i]
		default:
			return s, nil
		}
	}
	return nil, nil
}

func (s *shape) arrangeObject(value json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, err
	}
	w := objectWriter{}
	names := s.order()
	for _, name := range sortedKeys(members) {
		if s.properties[name] == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		member, ok := members[name]
		if !ok {
			continue
		}
		part := s.properties[name]
		if part == nil {
			part = s.extra
		}
		arranged, err := part.arrange(member)
		if err != nil {
			return nil, err
		}
		w.member(name, arranged)
	}
	return w.bytes(), w.err
}

func (s *shape) arrangeArray(value json.RawMessage) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	text := []byte{'['}
	for i, item := range items {
		part := s.items
		if i < len(s.prefix) {
			part = s.prefix[i]
		}
		arranged, err := part.arrange(item)
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
