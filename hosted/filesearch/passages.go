package filesearch

import (
	"path"
	"strings"
	"unicode/utf8"
)

// passageBytes is how long a passage may be; a line that is longer is cut.
const passageBytes = 1000

// passage is some lines of a file that stand together.
type passage struct {
	line, end int
	text      string
	// place are words that the passage can be found by beside its own: the heading that it stands under.
	place string
}

// passages cuts a text at headings and empty lines, or where a passage would become too long.
func passages(text, name string) (all []passage) {
	markdown := isMarkdown(name)
	fenced := false
	var now passage
	heading := ""
	flush := func() {
		if now.text = strings.TrimRight(now.text, "\n"); strings.TrimSpace(now.text) != "" {
			now.place = heading
			all = append(all, now)
		}
		now = passage{}
	}
	number := 0
	blank := false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			blank = true
			continue
		}
		if markdown && strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		isHeading := markdown && !fenced && strings.HasPrefix(line, "#")
		if isHeading || len(now.text)+len(line) > passageBytes || blank && len(now.text) > passageBytes/2 {
			flush()
		}
		if isHeading {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		for _, piece := range pieces(line) {
			if now.text != "" && len(now.text)+len(piece) > passageBytes {
				flush()
			}
			if now.text == "" {
				now.line = number
			} else {
				// Empty lines in between stay, so that lines can be counted in the text.
				now.text += strings.Repeat("\n", number-now.end)
			}
			now.text += piece
			now.end = number
		}
		blank = false
	}
	flush()
	return all
}

func isMarkdown(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdown":
		return true
	}
	return false
}

// pieces cuts a line that is longer than a passage, at spaces where there are any.
func pieces(line string) (all []string) {
	for len(line) > passageBytes {
		cut := passageBytes
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		if space := strings.LastIndexByte(line[:cut], ' '); space > passageBytes/2 {
			cut = space
		}
		all = append(all, line[:cut])
		line = line[cut:]
	}
	return append(all, line)
}
