package learn

import (
	"slices"
	"strings"
)

// Quotation marks come in pairs; a mark without its other half is an apostrophe, or an inch.

// marks are what opens a quotation and what may close it.
const (
	openMarks  = "\"'`“‘„«「『"
	closeMarks = "\"'`”’“»」』"
)

// pairQuotes notes in the words where quotations begin and end, and gives a lone apostrophe to its word.
func pairQuotes(words []word) {
	pair := 0
	for i := range words {
		for k, open := range []rune(openMarks) {
			if words[i].opens > 0 || !strings.ContainsRune(words[i].lead, open) {
				continue
			}
			for j := i; j < len(words); j++ {
				if words[j].closes == 0 && strings.ContainsRune(words[j].trail, []rune(closeMarks)[k]) {
					pair++
					words[i].opens, words[j].closes = pair, pair
					break
				}
			}
		}
	}
	for i := range words {
		w := &words[i]
		for _, apostrophe := range []string{"'", "’"} {
			if rest, ok := strings.CutPrefix(w.trail, apostrophe); ok && w.closes == 0 { // the parents' evening
				w.text, w.trail, w.end = w.text+apostrophe, rest, w.end+len(apostrophe)
			}
		}
	}
}

// cutsQuotation reports whether a quotation begins or ends between the words, and not both.
func cutsQuotation(words []word) bool {
	inside := map[int]bool{}
	for i, w := range words {
		if i > 0 && w.opens > 0 {
			inside[w.opens] = true
		}
		if i < len(words)-1 && w.closes > 0 {
			if !inside[w.closes] {
				return true
			}
			delete(inside, w.closes)
		}
	}
	return len(inside) > 0
}

// quotation says whether words are all that stands between two quotation marks, one end of it, have a quotation within
// them, or none of these.
func quotation(words []word) string {
	opens, closes := words[0].opens, words[len(words)-1].closes
	switch {
	case opens > 0 && opens == closes:
		return "whole"
	case opens > 0 || closes > 0:
		return "part"
	case slices.ContainsFunc(words, func(w word) bool { return w.opens > 0 }):
		return "within"
	}
	return "no"
}
