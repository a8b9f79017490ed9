package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// span is a word, or a run of characters of a script that puts no spaces between words.
type span struct {
	text     string
	unspaced bool
}

// spans cuts text into what can be searched for: letters, digits and marks, in compatibility form, lower case, without
// the accents of Latin, Greek and Cyrillic letters. Everything else only separates.
func spans(text string) (all []span) {
	var run strings.Builder
	unspaced, folds := false, false
	end := func() {
		if run.Len() > 0 {
			all = append(all, span{run.String(), unspaced})
			run.Reset()
		}
	}
	for _, r := range norm.NFKC.String(text) {
		switch {
		case unicode.IsMark(r):
			// A mark belongs to what is before it; alone, or after a letter that sheds its accents, it is dropped.
			if run.Len() > 0 && !folds {
				run.WriteRune(r)
			}
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsNumber(r):
			end()
			continue
		}
		if is := withoutSpaces(r); is != unspaced {
			end()
			unspaced = is
		}
		folds = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
		if folds {
			r, _ = utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		}
		run.WriteRune(unicode.ToLower(r))
	}
	end()
	return all
}

func withoutSpaces(r rune) bool {
	// The mark of a long vowel and that of a repeated character belong to no one script.
	return r == 'ー' || r == '々' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Words is text as an index keeps it, for the tokenizer "ascii": words, and for a run of an unspaced script each two neighbours, then the last
// one alone. So a run is found by any part of it: two characters or more as a phrase of pairs, one as a pair's beginning.
func Words(text string) string {
	var tokens []string
	for _, s := range spans(text) {
		if !s.unspaced {
			tokens = append(tokens, s.text)
			continue
		}
		runes := []rune(s.text)
		tokens = append(tokens, pairs(runes)...)
		tokens = append(tokens, string(runes[len(runes)-1]))
	}
	return strings.Join(tokens, " ")
}

func pairs(runes []rune) (all []string) {
	for i := 0; i+1 < len(runes); i++ {
		all = append(all, string(runes[i:i+2]))
	}
	return all
}

// maxTokens bounds how much of a query is looked for; the rest of a longer one is left out.
const maxTokens = 64

// Expressions gives the full-text queries for text: one that wants all of it, and one that wants any part. Both are
// empty where text has nothing to look for. Quotes around every token leave no operators.
func Expressions(text string) (whole, part string) {
	var wanted, parts []string
	for _, s := range spans(text) {
		runes := []rune(s.text)
		switch left := maxTokens - len(parts); {
		case left == 0:
		case !s.unspaced:
			wanted = append(wanted, quote(s.text))
			parts = append(parts, quote(s.text))
		case len(runes) == 1:
			wanted = append(wanted, quote(s.text)+"*")
			parts = append(parts, quote(s.text)+"*")
		default:
			phrase := pairs(runes)
			phrase = phrase[:min(left, len(phrase))]
			wanted = append(wanted, quote(strings.Join(phrase, " ")))
			for _, pair := range phrase {
				parts = append(parts, quote(pair))
			}
		}
	}
	return strings.Join(wanted, " AND "), strings.Join(parts, " OR ")
}

func quote(token string) string { return `"` + strings.ReplaceAll(token, `"`, `""`) + `"` }
