package filesearch

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPassages(t *testing.T) {
	long := strings.Repeat("word ", 150) // 750 bytes
	for _, tt := range []struct {
		name, file, text string
		want             []passage
	}{
		{"empty", "a.txt", "\n \n\t\n", nil},
		{"short ones stay together", "a.txt", "one\n\n\ntwo\n", []passage{{1, 4, "one\n\n\ntwo", ""}}},
		{"headings begin one", "a.md", "# A\nx\n## B\ny", []passage{{1, 2, "# A\nx", "A"}, {3, 4, "## B\ny", "B"}}},
		{"only in Markdown", "a.py", "# A\nx = 1\n# B\n", []passage{{1, 3, "# A\nx = 1\n# B", ""}}},
		{"not in a fence", "a.md", "# A\n```\n# B\n```\n", []passage{{1, 4, "# A\n```\n# B\n```", "A"}}},
		{"an empty line ends a long one", "a.txt", long + "\n\nend\n", []passage{{1, 1, strings.TrimSpace(long), ""}, {3, 3, "end", ""}}},
		{"no line end", "a.txt", "  x", []passage{{1, 1, "  x", ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, passages(tt.text, tt.file), cmp.AllowUnexported(passage{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever a text is, its passages are bounded, in order, and hold every word of it on the line that they say.
func TestPassagesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringMatching(`[a-z #]{0,40}`), rapid.StringMatching(`[a-z ]{900,1000}`), rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,90} `), 60, 90), func(w []string) string { return strings.Join(w, "") }), rapid.StringMatching(`[退款申請]{300,900}`))
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		all := passages(strings.Join(lines, "\n"), "a.md")
		at := map[int]string{}
		last := 0
		for _, p := range all {
			if len(p.text) > passageBytes+12 || !utf8.ValidString(p.text) || p.line < last || p.end < p.line {
				t.Fatalf("passage %d–%d of %d bytes, after line %d", p.line, p.end, len(p.text), last)
			}
			last = p.line
			for i, text := range strings.Split(p.text, "\n") {
				at[p.line+i] += text
			}
		}
		for i, want := range lines {
			if strings.ReplaceAll(at[i+1], " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Fatalf("line %d: got %q, want %q", i+1, at[i+1], want)
			}
		}
	})
}

func TestHTMLKeepsItsLines(t *testing.T) {
	got := htmlText("<!doctype html>\n<p>one<br>two\n<!-- no\nno -->three&amp;&#10;four<script>\nno\n</script>\nfi<b>ve</b></p>")
	var lines []string
	for _, line := range strings.Split(got, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if want := []string{"", "one two", "", "three& four", "", "", "five"}; cmp.Diff(want, lines) != "" {
		t.Error(cmp.Diff(want, lines))
	}
}
