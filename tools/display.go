package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeForDisplay writes text so that a terminal shows what is there and nothing else: control, formatting,
// direction-changing and invisible characters, and spaces other than the plain one, appear as \u{HEX}, bytes that
// aren't UTF-8 as \x{HEX}. Nothing is cut. The result names its source exactly: a backslash that would read like one of
// these escapes is escaped itself.
func EscapeForDisplay(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x{%02X}`, text[i])
		case r == '\\' && (strings.HasPrefix(text[i+1:], "u{") || strings.HasPrefix(text[i+1:], "x{")), hidden(r):
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// hidden reports whether r can't be seen or changes how its neighbours are seen. Most such characters aren't printable
// to Unicode (control, format, separators, private use, unassigned); the rest are letters, marks and symbols without
// ink.
func hidden(r rune) bool {
	if !unicode.IsPrint(r) {
		return true
	}
	switch {
	case unicode.Is(unicode.Variation_Selector, r):
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r): // Hangul fillers, the grapheme joiner
	case r == 0x2800: // the empty Braille cell
	case r >= 0x1D173 && r <= 0x1D17A: // musical formatting
	default:
		return false
	}
	return true
}
