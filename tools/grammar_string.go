package tools

import (
	"fmt"
	"strings"
)

// string writes a text: as its pattern or format says, or a span of the request, or of the schema's length.
func (g *grammar) string(p place, s *shape) string {
	if s.schema.Pattern != nil {
		if body, ok := patternText(s.schema.Pattern.String(), g.share(freeCharacter)); ok {
			return g.share(`"\"" ` + body + ` "\""`)
		}
	}
	if form, ok := formatText(s.format); ok {
		return g.share(`"\"" ` + form + ` "\""`)
	}
	if p.policy.Source == FromRequest && g.spans != "" {
		return g.spans
	}
	least, most := limits(s.schema.MinLength, s.schema.MaxLength)
	if least == 0 && (most < 0 || most > longest) {
		return g.share(freeString)
	}
	return g.share(join(`"\""`, times(g.share(freeCharacter), least, most), `"\""`))
}

// The texts of free values. Repetition is bounded where a value has a sensible length and left to the token limit for
// strings: the engine copies a rule once for each repetition that is counted.
const (
	freeCharacter = `[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ` +
		// four hex digits that aren't a surrogate
		`([0-9a-cA-CefEF] [0-9a-fA-F] | [dD] [0-7]) [0-9a-fA-F] [0-9a-fA-F])`
	freeString = `"\"" (` + freeCharacter + `)* "\""`
)

// formatText is the form of a text that pydantic reads, as it names it. What no grammar knows (how many days a February
// has, whether a host exists) is left to the function. JSON Schema takes formats for remarks, so that a grammar admits
// less here than Validate.
func formatText(name string) (string, bool) {
	switch name {
	case "date":
		return day, true
	case "time":
		return clock, true
	case "date-time":
		return day + ` "T" ` + clock, true
	case "duration":
		return `"P" (` + digits + ` "D" ("T" ` + span + `)? | "T" ` + span + ` | ` + digits + ` "W")`, true
	case "uuid":
		return uuid("[0-9a-f]", "[0-9a-f]"), true
	case "uuid1":
		return uuid(`"1"`, "[89ab]"), true
	case "uuid3":
		return uuid(`"3"`, "[89ab]"), true
	case "uuid4":
		return uuid(`"4"`, "[89ab]"), true
	case "uuid5":
		return uuid(`"5"`, "[89ab]"), true
	case "uuid6":
		return uuid(`"6"`, "[89ab]"), true
	case "uuid7":
		return uuid(`"7"`, "[89ab]"), true
	case "uuid8":
		return uuid(`"8"`, "[89ab]"), true
	case "email":
		return atom + ` ("." ` + atom + `)* "@" ` + label + ` ("." ` + label + `)* "." [a-zA-Z]{2,12}`, true
	case "uri":
		return `[a-z] [a-z0-9+.-]{0,15} "://" [^"\\\x00-\x20<>^` + "`" + `{|}]{1,1} [^"\\\x00-\x20<>^` + "`" + `{|}]*`, true
	case "ipv4":
		return `(` + octet + ` "."){3,3} ` + octet, true
	case "ipv6":
		return ipv6(), true
	}
	return "", false
}

const (
	day = `[1-9] [0-9] [0-9] [0-9] "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ` +
		`("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | [12] [0-9]))`
	minutes = `([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]`
	clock   = minutes + ` (":" [0-5] [0-9] ("." [0-9]{1,6})?)? ("Z" | [+-] ` + minutes + `)?`
	digits  = `("0" | [1-9] [0-9]{0,5})`
	span    = `(` + digits + ` "H" (` + digits + ` "M")? (` + digits + ` "S")? | ` + digits + ` "M" (` + digits + ` "S")? | ` + digits + ` "S")`
	atom    = `[a-zA-Z0-9_%+-]{1,32}`
	label   = `[a-zA-Z0-9] ([a-zA-Z0-9-]{0,30} [a-zA-Z0-9])?`
	octet   = `("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])`
)

func uuid(version, variant string) string {
	const hex = "[0-9a-f]"
	return hex + `{8,8} "-" ` + hex + `{4,4} "-" ` + version + " " + hex + `{3,3} "-" ` + variant + " " + hex + `{3,3} "-" ` + hex + `{12,12}`
}

// ipv6 lists where "::", of one group or more, may stand.
func ipv6() string {
	const group = "[0-9a-f]{1,4}"
	all := []string{fmt.Sprintf(`(%s ":"){7,7} %s`, group, group)}
	for before := range 8 {
		text := `":"`
		if before > 0 {
			text = fmt.Sprintf(`(%s ":"){%d,%d}`, group, before, before)
		}
		if after := 7 - before; after > 0 {
			text += fmt.Sprintf(` ":" (%s (":" %s){0,%d})?`, group, group, after-1)
		} else {
			text += ` ":"`
		}
		all = append(all, text)
	}
	return "(" + strings.Join(all, " | ") + ")"
}
