package tools_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"edge/tools"
)

func TestEscapeForDisplay(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain", `rm "x" 日本 é 😀 1,200 €`, `rm "x" 日本 é 😀 1,200 €`},
		{"terminal control", "rm x\r\x1b[2Kls", `rm x\u{D}\u{1B}[2Kls`},
		{"C1 control", "a\u009bb", `a\u{9B}b`},
		{"delete", "a\x7f", `a\u{7F}`},
		{"newlines in full", strings.Repeat("\n", 5000), strings.Repeat(`\u{A}`, 5000)},
		{"bidi", "a\u202eb\u2066c\u2069\u061c", `a\u{202E}b\u{2066}c\u{2069}\u{61C}`},
		{"zero width", "a\u200bb\u200dc\u2060\ufeff", `a\u{200B}b\u{200D}c\u{2060}\u{FEFF}`},
		{"separators", "a\u2028b\u2029", `a\u{2028}b\u{2029}`},
		{"other spaces", "a\u00a0b\u3000", `a\u{A0}b\u{3000}`},
		{"tags", "a\U000E0041", `a\u{E0041}`},
		{"variation selectors", "a\ufe0fb\U000E0100c\u180b", `a\u{FE0F}b\u{E0100}c\u{180B}`},
		{"soft hyphen", "a\u00adb", `a\u{AD}b`},
		{"letters without ink", "\u3164\u115f\uffa0\u034f\u2800", `\u{3164}\u{115F}\u{FFA0}\u{34F}\u{2800}`},
		{"private use", "\ue000", `\u{E000}`},
		{"not UTF-8", "a\xffb\xc3", `a\x{FF}b\x{C3}`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
		{"backslash", `C:\new`, `C:\new`},
		{"a forged escape", `\u{202E}\x{FF}`, `\u{5C}u{202E}\u{5C}x{FF}`},
	} {
		if got := tools.EscapeForDisplay(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Different texts never look alike because of escaping, and what was escaped needs no more of it.
func TestEscapeForDisplayIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`\`, "u", "x", "{", "}", "5C", "202E", "\u202e", "\xff", "a", "\n"})
		text := rapid.Map(rapid.SliceOf(piece), func(s []string) string { return strings.Join(s, "") })
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if a != b && tools.EscapeForDisplay(a) == tools.EscapeForDisplay(b) {
			t.Fatalf("%q and %q look alike", a, b)
		}
		if shown := tools.EscapeForDisplay(a); strings.ContainsAny(shown, "\n\u202e\xff") {
			t.Fatalf("%q is shown as %q", a, shown)
		}
	})
}
