package models

import (
	"strings"

	"edge/internal/fault"
)

// Layout is a way in which a model's weights lie in its file.
type Layout string

// The layouts that a model can be requantised to: those that the engine has its fastest kernels for.
const (
	Q8_0 Layout = "q8_0" // 8 bits and a scale for each 32 weights
	Q4_0 Layout = "q4_0" // 4 bits and a scale for each 32 weights
	F16  Layout = "f16"
)

// Layouts lists them.
func Layouts() []Layout { return []Layout{Q8_0, Q4_0, F16} }

// ParseLayout understands what --layout was given. The error is invalid_arguments.
func ParseLayout(name string) (Layout, error) {
	var names []string
	for _, l := range Layouts() {
		if strings.EqualFold(name, string(l)) {
			return l, nil
		}
		names = append(names, string(l))
	}
	return "", fault.New(fault.CodeInvalidArguments, "there is no layout %q to requantise to", name).WithHint("name one of %s", strings.Join(names, ", "))
}

// layoutOf is the layout of a file, by what its metadata calls it: "q4_1", "q4_k_m".
func layoutOf(id Identity) Layout { return Layout(strings.ToLower(id.FileType)) }

// slow reports whether the engine has no fast kernel for a layout: of the common ones, Q4_1.
func (l Layout) slow() bool { return l == "q4_1" }

// room is how many bytes a model of so many weights takes at most. Some of its tensors stay in a wider layout.
func (l Layout) room(weights uint64) int64 {
	bits := map[Layout]uint64{Q8_0: 10, Q4_0: 7, F16: 18}[l]
	return int64(weights / 8 * bits)
}
