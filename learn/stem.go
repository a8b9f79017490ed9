package learn

import (
	"slices"
	"strings"
	"unicode"
)

// stem drops the commonest English endings: live, lives, lived and living are one word, and so are wrap and wrapped.
func stem(word string) string {
	word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
	word = strings.TrimSuffix(word, "s")
	for _, ending := range []string{"ing", "ed", "e"} {
		if base, ok := strings.CutSuffix(word, ending); ok && len(base) >= 3 {
			word = base
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && !strings.ContainsRune("aeiou", rune(word[n-1])) {
		word = word[:n-1]
	}
	return word
}

// negation marks the stem of a word that stands behind "not" (Pang, Lee, Vaithyanathan, EMNLP 2002).
const (
	negation      = "not "
	negationReach = 4 // words
)

// stems gives the stems of a request's words, without those that have digits.
func stems(words []word) map[string]bool {
	said := map[string]bool{}
	reach := 0 // words that are still negated
	for _, w := range words {
		text := strings.ToLower(w.text)
		if text != "" && !strings.ContainsFunc(text, unicode.IsDigit) {
			mark := ""
			if reach > 0 {
				mark = negation
			}
			said[mark+stem(text)] = true
		}
		if reach--; negates(text) {
			reach = negationReach
		}
		if w.trail != "" {
			reach = 0
		}
	}
	return said
}

func negates(text string) bool {
	return slices.Contains([]string{"not", "no", "never", "without", "dont"}, text) || strings.HasSuffix(text, "n't") || strings.HasSuffix(text, "n’t")
}
