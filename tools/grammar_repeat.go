package tools

import (
	"fmt"
	"slices"
	"strings"
)

// longest is the most repetitions that a grammar counts: the engine copies a rule for each. Beyond it Validate counts.
const longest = 256

// limits reads a schema's least and most, where most < 0 is none.
func limits(least, most *int) (int, int) {
	low, high := 0, -1
	if least != nil {
		low = *least
	}
	if most != nil {
		high = *most
	}
	return low, high
}

// list repeats an item with commas between.
func list(item string, least, most int) string {
	if most == 0 {
		return ""
	}
	more := -1
	if most > 0 {
		more = most - 1
	}
	text := join(item, times(`("," `+item+")", max(0, least-1), more))
	if least == 0 {
		return "(" + text + ")?"
	}
	return text
}

// times repeats a symbol or group; "" where it can't come.
func times(item string, least, most int) string {
	least = min(least, longest)
	switch {
	case most == 0:
		return ""
	case most < 0 || most > longest:
		if least == 0 {
			return item + "*"
		}
		return fmt.Sprintf("%s{%d,%d} %s*", item, least, least, item)
	case least == 0 && most == 1:
		return item + "?"
	}
	return fmt.Sprintf("%s{%d,%d}", item, least, most)
}

// join puts the parts that aren't empty one behind another.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
