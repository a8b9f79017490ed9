package imprint

import (
	"fmt"
	"strconv"
)

// Difference is one field in which two imprints differ; a side that lacks it has Absent.
type Difference struct {
	Field string `json:"field"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Diff gives every field in which two headers differ: the identity's leaves, each tool and library by its name, and
// the content by its digests. Equal headers give an empty list, never nil.
func Diff(a, b Header) []Difference {
	list := []Difference{}
	for _, d := range compare(a.fields(), b.fields()) {
		list = append(list, Difference{d.name, d.a, d.b})
	}
	return list
}

// fields is the header as text, with the identity's fields first.
func (h Header) fields() []Field {
	var f fieldList
	for _, leaf := range h.Identity.Fields() {
		f.add(leaf.group, "identity."+leaf.Name, leaf.Value)
	}
	add := func(value, name string, args ...any) { f.add(0, fmt.Sprintf(name, args...), value) }
	add(strconv.Itoa(h.Tokens), "tokens")
	for _, l := range h.Layers {
		add(strconv.Itoa(l.Tokens), "layers.%s.tokens", l.Name)
	}
	for _, s := range h.Sections {
		add(strconv.FormatInt(s.Length, 10), "sections.%s.length", s.Name)
		add(s.BLAKE3.String(), "sections.%s.blake3", s.Name)
	}
	add(number(h.Quality.MeanKL), "quality.mean_kl")
	add(strconv.Itoa(h.Quality.Positions), "quality.positions")
	add(h.BakedOn.OS, "baked_on.os")
	add(h.BakedOn.Arch, "baked_on.arch")
	add(h.BakedOn.CPU, "baked_on.cpu")
	return f
}
