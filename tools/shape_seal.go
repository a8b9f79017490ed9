package tools

import (
	"encoding/json"
	"slices"
)

// seal judges what shows only once all parts are read: references that lead nowhere, values without end, unions that
// can't be told apart.
func (r *shapeReader) seal() {
	for _, s := range r.all {
		s.narrow()
	}
	const open, done = 1, 2
	state := map[*shape]int{}
	var visit func(*shape) bool // whether s is open
	visit = func(s *shape) bool {
		if s == nil || state[s] != 0 {
			return s != nil && state[s] == open
		}
		state[s] = open
		if visit(s.ref) || slices.ContainsFunc(s.union, visit) {
			s.refuse("a reference that leads back to itself")
			s.ref, s.union = nil, nil
		}
		state[s] = done
		return false
	}
	for _, s := range r.all {
		visit(s)
	}
	r.endless()
	for _, s := range r.all {
		for i, one := range s.union {
			for _, other := range s.union[i+1:] {
				if s.exclusive && !apart(one, other, 3) {
					s.refuse(`a "oneOf" whose schemas can't be told apart`)
				}
			}
		}
	}
}

// narrow leaves a text with a pattern that can't be read out of a union that has a number: pydantic writes a Decimal so.
func (s *shape) narrow() {
	if slices.ContainsFunc(s.union, func(b *shape) bool { return slices.Equal(b.types, []string{"number"}) }) {
		s.union = slices.DeleteFunc(s.union, func(b *shape) bool { return b.unreadable })
	}
}

// endless refuses shapes that only a value without end could follow, and leaves them out of unions.
func (r *shapeReader) endless() {
	ends := map[*shape]bool{}
	all := func(list ...*shape) bool { return !slices.ContainsFunc(list, func(s *shape) bool { return !ends[s] }) }
	for changed := true; changed; {
		changed = false
		for _, s := range r.all {
			if !ends[s] && s.mayEnd(all) {
				ends[s], changed = true, true
			}
		}
	}
	for _, s := range r.all {
		if !ends[s] {
			s.refuse("a value that holds itself without end")
		}
		if ends[s] {
			s.union = slices.DeleteFunc(s.union, func(b *shape) bool { return !ends[b] })
		}
	}
}

// mayEnd reports whether a value of the shape is finite, where all says it of the parts.
func (s *shape) mayEnd(all func(...*shape) bool) bool {
	switch {
	case s.unsupported != "" || s.enum != nil:
		return true
	case s.ref != nil:
		return all(s.ref)
	case s.union != nil:
		return slices.ContainsFunc(s.union, func(b *shape) bool { return all(b) })
	}
	for _, name := range s.required {
		if part := s.properties[name]; part != nil && !all(part) {
			return false
		}
	}
	if c := s.schema; c.MinItems != nil && *c.MinItems > 0 {
		return all(s.prefix...) && (s.items == nil || *c.MinItems <= len(s.prefix) || all(s.items))
	}
	if c := s.schema; c.MinProperties != nil && *c.MinProperties > 0 && s.extra != nil {
		return all(s.extra)
	}
	return true
}

// apart reports whether no value follows both: by type, by an enumeration, or by a member that both must have.
func apart(a, b *shape, depth int) bool {
	a, b = a.end(), b.end()
	if depth == 0 || a.union != nil || b.union != nil {
		return false
	}
	if a.enum != nil && b.enum != nil {
		return !slices.ContainsFunc(a.enum, func(v json.RawMessage) bool {
			return slices.ContainsFunc(b.enum, func(w json.RawMessage) bool { return string(v) == string(w) })
		})
	}
	if ka, kb := a.kinds(), b.kinds(); ka != nil && kb != nil && !slices.ContainsFunc(ka, func(t string) bool { return meets(t, kb) }) {
		return true
	}
	for _, name := range a.required {
		pa, pb := a.properties[name], b.properties[name]
		if pa != nil && pb != nil && slices.Contains(b.required, name) && slices.Equal(a.kinds(), []string{"object"}) && slices.Equal(b.kinds(), []string{"object"}) && apart(pa, pb, depth-1) {
			return true
		}
	}
	return false
}

func meets(t string, types []string) bool {
	return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number") || t == "number" && slices.Contains(types, "integer")
}
