package main

import (
	"strings"
	"testing"
)

func TestToolOutput(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\r\nc\n":             "a\tb\r\nc\n",
		"日本 ✓ é\n":                "日本 ✓ é\n",
		"\x1b[8m\x1b]0;x\a\b\x7f": `\u{1B}[8m\u{1B}]0;x\u{7}\u{8}\u{7F}`,
		"\u009b2J \u202e \u200b":  `\u{9B}2J \u{202E} \u{200B}`,
		"\x9b2J\xff\xe6\x97x":     `\x{9B}2J\x{FF}\x{E6}\x{97}x`,
	} {
		// In pieces of any length, also through the middle of a character.
		for size := 1; size <= len(in); size++ {
			var got strings.Builder
			o := &toolOutput{w: &got}
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if written, err := o.Write([]byte(rest[:n])); written != n || err != nil {
					t.Fatalf("got %d, %v; want %d", written, err, n)
				}
				rest = rest[n:]
			}
			if got.String() != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, &got, want)
			}
		}
	}
}
