package interpreter

import "regexp"

const maxRequirement = 200

// Requirement reports whether text is a name of PEP 508 with extras and versions at most: no address, no path, no option
// of pip's, no marker.
func Requirement(text string) bool {
	const (
		name    = `[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`
		extras  = `(?:\[` + name + `(?:,` + name + `)*\])?`
		version = `(?:===?|~=|!=|<=?|>=?)[A-Za-z0-9](?:[A-Za-z0-9.*+!_-]*[A-Za-z0-9*])?`
	)
	return len(text) <= maxRequirement && regexp.MustCompile(`^`+name+extras+`(?:`+version+`(?:,`+version+`)*)?$`).MatchString(text)
}
