package learn

import (
	"strings"
	"unicode"
)

// Recall finds the fact of the profile that a request asks about: the one that shares most of the request's words of
// content, at least half of them. ok is false where there is none.
func (l *Learned) Recall(request string) (fact string, ok bool) {
	asked := content(request)
	best := 0
	for _, f := range l.Profile.Facts {
		known := content(f)
		shared := 0
		for w := range asked {
			if known[w] {
				shared++
			}
		}
		if shared > best && 2*shared >= len(asked) {
			fact, best = f, shared
		}
	}
	return fact, best > 0
}

// Told reports whether a fact of the profile has every word of content that a request has: then the request asks about
// the fact, and has no word left that a tool's arguments could be made of.
func (l *Learned) Told(request string) bool {
	asked := content(request)
	for _, f := range l.Profile.Facts {
		known := content(f)
		all := len(asked) > 0
		for w := range asked {
			all = all && known[w]
		}
		if all {
			return true
		}
	}
	return false
}

// States reports whether an answer says what a fact says beyond the request's own words.
func States(answer, fact, request string) bool {
	said, asked := content(answer), content(request)
	for w := range content(fact) {
		if !asked[w] && !said[w] {
			return false
		}
	}
	return true
}

// content gives the words that carry a text's content, in a stem form.
func content(text string) map[string]bool {
	function := map[string]bool{}
	for _, w := range strings.Fields(functionWords) {
		function[w] = true
	}
	words := map[string]bool{}
	for _, w := range split(text) {
		lower := strings.ToLower(w.text)
		if !function[lower] && strings.IndexFunc(lower, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			words[stem(lower)] = true
		}
	}
	return words
}

// functionWords are words that say nothing about what a question is about. Only English has a list; in other languages
// every word counts, which asks for more in common.
const functionWords = "a about am an and any are as at be can could did do does for from had has have he her his how i i'm in is it it's its me my " +
	"of on or our please she so tell that that's the their them they this to user user's users was we were what what's when when's where where's " +
	"which who who's whose why will with would you your"
