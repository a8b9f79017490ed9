package tools

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unreadPattern is a regular expression that Go's package doesn't read, such as one that looks ahead. Validate lets every
// text pass it: a schema with one is refused to models, unless it is one way of several to write a number.
type unreadPattern string

func (p unreadPattern) String() string        { return string(p) }
func (unreadPattern) MatchString(string) bool { return true }

func readPattern(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return unreadPattern(text), nil
	}
	return re, nil
}

// patternText writes the texts that a pattern matches, as the inside of a JSON string. Where it isn't anchored, any
// characters may stand around. ok is false where a grammar can't say it (an anchor or a boundary in its middle, too many
// repetitions): then the text stays free, and Validate decides.
func patternText(pattern, character string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	w := patternWriter{character: character, ok: true}
	text := w.anchored(re)
	return text, w.ok && w.size < longest*4
}

type patternWriter struct {
	character string
	size      int // how often characters are repeated
	ok        bool
}

// anchored writes the alternatives of a whole pattern.
func (w *patternWriter) anchored(re *syntax.Regexp) string {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op == syntax.OpAlternate {
		var choices []string
		for _, sub := range re.Sub {
			choices = append(choices, w.anchored(sub))
		}
		return "(" + strings.Join(choices, " | ") + ")"
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	begin, end := w.character+"*", w.character+"*"
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts, begin = parts[1:], ""
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		parts, end = parts[:n-1], ""
	}
	return "(" + join(begin, w.sequence(parts), end) + ")"
}

func (w *patternWriter) sequence(parts []*syntax.Regexp) string {
	var texts []string
	for _, part := range parts {
		texts = append(texts, w.write(part))
	}
	return join(texts...)
}

func (w *patternWriter) write(re *syntax.Regexp) string {
	if w.size++; w.size > longest*4 {
		w.ok = false
	}
	if !w.ok {
		return ""
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return ""
	case syntax.OpLiteral:
		var parts []string
		for _, r := range re.Rune {
			folded := []rune{r, r}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					folded = append(folded, f, f)
				}
			}
			parts = append(parts, w.class(folded))
		}
		return join(parts...)
	case syntax.OpCharClass:
		return w.class(re.Rune)
	case syntax.OpAnyChar:
		return w.character
	case syntax.OpAnyCharNotNL:
		return w.class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpCapture:
		return w.write(re.Sub[0])
	case syntax.OpConcat:
		return "(" + w.sequence(re.Sub) + ")"
	case syntax.OpAlternate:
		var choices []string
		for _, sub := range re.Sub {
			choices = append(choices, w.write(sub))
		}
		return "(" + strings.Join(choices, " | ") + ")"
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return w.repeat(re)
	}
	w.ok = false
	return ""
}

func (w *patternWriter) repeat(re *syntax.Regexp) string {
	least, most := re.Min, re.Max
	switch re.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	before := w.size
	item := w.write(re.Sub[0])
	if item == "" {
		return ""
	}
	w.size = before + max(1, w.size-before)*max(least, most, 1)
	if least > longest || most > longest {
		w.ok = false
	}
	return times("("+item+")", least, most)
}

// class writes one character of the ranges, escaped where JSON escapes it.
func (w *patternWriter) class(ranges []rune) string {
	var plain strings.Builder
	var escaped []string
	for i := 0; i+1 < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		for r := low; r <= high && r < 0x80; r++ {
			switch {
			case r < 0x20:
				escaped = append(escaped, quote(escapeControl(r)))
			case r == '"' || r == '\\':
				escaped = append(escaped, quote(`\`+string(r)))
			case strings.ContainsRune("]^-[", r):
				plain.WriteString(hexClass(r))
			default:
				plain.WriteRune(r)
			}
		}
		low = max(low, 0x80)
		for _, part := range [][2]rune{{low, min(high, 0xD7FF)}, {max(low, 0xE000), high}} {
			if part[0] <= part[1] {
				plain.WriteString(hexClass(part[0]) + "-" + hexClass(part[1]))
			}
		}
	}
	if plain.Len() > 0 {
		escaped = append(escaped, "["+plain.String()+"]")
	}
	if len(escaped) == 0 {
		w.ok = false
	}
	return grouped(strings.Join(escaped, " | "))
}

// hexClass writes a character of a class by its number.
func hexClass(r rune) string { return fmt.Sprintf(`\U%08X`, r) }

// escapeControl writes a control character as canonical JSON does.
func escapeControl(r rune) string {
	if i := strings.IndexRune("\b\t\n\f\r", r); i >= 0 {
		return `\` + "btnfr"[i:i+1]
	}
	return fmt.Sprintf(`\u%04x`, r)
}
