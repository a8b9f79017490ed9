package learn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a request, with the punctuation around it left out: request[start:end].
type word struct {
	start, end int
	text       string
	lead       string // punctuation directly before it
	trail      string // punctuation directly after it
	opens      int    // number of the quotation that begins directly before it, 0 for none
	closes     int    // number of the quotation that ends directly after it
}

const (
	openers = "\"'“‘«([{<¿¡`" + wideOpeners
	closers = "\"'”’».,;:!?)]}>…`" + wideClosers

	// These stand between words without any space.
	wideOpeners = "「『（《【"
	wideClosers = "。，、；：！？」』）》】"
)

// split cuts a request into words at white space and at the punctuation of scripts that are written without spaces; in
// these every character is a word.
func split(request string) []word {
	var words []word
	for i := 0; i < len(request); {
		r, n := utf8.DecodeRuneInString(request[i:])
		if unicode.IsSpace(r) {
			i += n
			continue
		}
		j := i
		if unspaced(r) {
			j += n
		} else {
			for j < len(request) {
				r, n := utf8.DecodeRuneInString(request[j:])
				if unicode.IsSpace(r) || unspaced(r) {
					break
				}
				j += n
			}
		}
		words = appendWord(words, request, i, j)
		i = j
	}
	pairQuotes(words)
	return words
}

// without gives the words with those that are part of a value made empty.
func without(words []word, inside func(int) bool) []word {
	rest := slices.Clone(words)
	for i := range rest {
		if inside(i) {
			rest[i].text = ""
		}
	}
	return rest
}

func appendWord(words []word, request string, i, j int) []word {
	raw := request[i:j]
	inner := strings.TrimLeft(raw, openers)
	lead := raw[:len(raw)-len(inner)]
	text := strings.TrimRight(inner, closers)
	if text == "" { // punctuation alone belongs to the word before it
		if len(words) > 0 {
			words[len(words)-1].trail += raw
		}
		return words
	}
	return append(words, word{start: i + len(lead), end: i + len(lead) + len(text), text: text, lead: lead, trail: inner[len(text):]})
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || strings.ContainsRune(wideOpeners+wideClosers, r)
}

// shape writes a text's kinds of characters, runs shortened: "A-17" is "A-0", "todo.md" is "a.a", "Ann Lee" is "Aa Aa".
func shape(text string) string {
	var b strings.Builder
	var last rune
	for _, r := range text {
		kind := r
		switch {
		case unicode.IsDigit(r):
			kind = '0'
		case unicode.IsUpper(r):
			kind = 'A'
		case unicode.IsLetter(r):
			kind = 'a'
		case unicode.IsSpace(r):
			kind = ' '
		}
		if kind != last {
			b.WriteRune(kind)
		}
		last = kind
	}
	return b.String()
}
