package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"edge/internal/fault"
	"edge/tools"
)

// longest is the most bytes of a command: what a person confirms, a person can read.
const longest = 4096

// Check refuses a command that isn't what it looks like: characters that can't be seen or turn the direction of others,
// characters that become ASCII when they are normalised (NFKD), letters of other alphabets that look like ASCII. It says
// where each stands and what it looks like; a command is never rewritten, so that what a person confirms is what runs.
// Errors: invalid_tool_args.
func Check(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return refuse("it is empty")
	case len(command) > longest:
		return refuse("it is %d bytes long, and %d is the most", len(command), longest)
	case !utf8.ValidString(command):
		return refuse("it isn't valid UTF-8")
	}
	runes := []rune(command)
	var found []string
	note := func(i int, format string, args ...any) {
		if len(found) < 4 {
			found = append(found, fmt.Sprintf("character %d (%U, %s) ", i+1, runes[i], scriptOf(runes[i]))+fmt.Sprintf(format, args...))
		}
	}
	for i, r := range runes {
		if text := suspicious(r, before(runes, i)); text != "" {
			note(i, "%s", text)
		}
	}
	for _, w := range words(runes) {
		if i, text := w.disguised(runes); text != "" {
			note(i, "%s", text)
		}
	}
	if len(found) > 0 {
		return refuse("%s. Write it with ASCII characters", strings.Join(found, "; "))
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fault.New(fault.CodeInvalidToolArgs, "parameter command: "+format, args...)
}

func before(runes []rune, i int) rune {
	if i == 0 {
		return ' '
	}
	return runes[i-1]
}

// suspicious says what is wrong with a character by itself, "" for nothing.
func suspicious(r, previous rune) string {
	if r == '\n' || r == '\t' || r >= ' ' && r < 0x7F {
		return ""
	}
	if tools.EscapeForDisplay(string(r)) != string(r) {
		return "can't be seen, or changes how others are seen"
	}
	if looks, ok := signLooks(r); ok {
		return fmt.Sprintf("looks like %q", looks)
	}
	compatible, canonical := norm.NFKD.String(string(r)), norm.NFD.String(string(r))
	switch {
	case compatible != canonical && hasASCII(compatible):
		return fmt.Sprintf("is %q when it is normalised (NFKD)", compatible)
	case canonical != string(r) && canonical[0] < utf8.RuneSelf && (len(canonical) == 1 || !unicode.IsLetter(rune(canonical[0]))):
		return fmt.Sprintf("is %q when it is normalised (NFKD)", canonical)
	case unicode.IsMark(r) && previous < utf8.RuneSelf && !unicode.IsLetter(previous):
		return fmt.Sprintf("changes how %q looks", previous)
	}
	return ""
}

func hasASCII(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < utf8.RuneSelf })
}

// word is a run of letters, digits and marks.
type word struct{ from, to int }

func words(runes []rune) []word {
	var list []word
	from := -1
	for i := 0; i <= len(runes); i++ {
		inside := i < len(runes) && unicode.In(runes[i], unicode.L, unicode.M, unicode.N)
		if inside && from < 0 {
			from = i
		}
		if !inside && from >= 0 {
			list = append(list, word{from, i})
			from = -1
		}
	}
	return list
}

// disguised finds the first letter of a word that is taken for ASCII: beside Latin letters any of another alphabet is,
// and a word of nothing but look-alikes.
func (w word) disguised(runes []rune) (int, string) {
	latin, foreign, similar, letters := false, -1, 0, 0
	for i := w.from; i < w.to; i++ {
		r := runes[i]
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if _, ok := letterLooks(r); ok {
			similar++
		}
		switch {
		case unicode.Is(unicode.Latin, r):
			latin = true
			if looks, ok := letterLooks(r); ok {
				return i, fmt.Sprintf("looks like %q", looks)
			}
		case foreign < 0 && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Common, unicode.Inherited):
			foreign = i
		}
	}
	if foreign < 0 || !latin && similar < letters {
		return 0, ""
	}
	whole := string(runes[w.from:w.to])
	if looks, ok := letterLooks(runes[foreign]); ok {
		return foreign, fmt.Sprintf("looks like %q, in %q", looks, whole)
	}
	return foreign, fmt.Sprintf("stands among Latin letters, in %q", whole)
}

func scriptOf(r rune) string {
	found := "no script"
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			found = name
		}
	}
	return found
}
