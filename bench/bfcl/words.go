package main

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"edge/tools"
)

// wordScores compares a request with what each tool says of itself, by the words that they share: the plainest choice
// there is, to hold every other one against. A word counts by how few of the tools have it, and a tool's score is divided by
// the length of its text. The best score is 1; all are 0 where nothing is shared.
func wordScores(request string, list []tools.Tool) []float64 {
	asked := contentWords(request)
	texts := make([]map[string]bool, len(list))
	tools := map[string]int{} // word → how many tools have it
	for i, t := range list {
		texts[i] = contentWords(ownWords(t))
		for w := range texts[i] {
			tools[w]++
		}
	}
	scores := make([]float64, len(list))
	for i, text := range texts {
		shared, length := 0.0, 0.0
		for _, w := range slices.Sorted(maps.Keys(text)) { // in one order: sums of floats depend on it
			weight := math.Log(float64(len(list)+1) / float64(tools[w]))
			length += weight * weight
			if asked[w] {
				shared += weight * weight
			}
		}
		if length > 0 {
			scores[i] = shared / math.Sqrt(length)
		}
	}
	if best := slices.Max(scores); best > 0 {
		for i := range scores {
			scores[i] /= best
		}
	}
	return scores
}

// ownWords is what a tool says of itself: its name and description, its parameters' names, descriptions and enums.
func ownWords(t tools.Tool) string {
	var b strings.Builder
	b.WriteString(t.Name + " " + t.Description)
	var schema any
	if json.Unmarshal(t.Parameters, &schema) == nil {
		schemaWords(&b, schema)
	}
	return b.String()
}

func schemaWords(b *strings.Builder, schema any) {
	members, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if text, ok := members["description"].(string); ok {
		b.WriteString(" " + text)
	}
	if values, ok := members["enum"].([]any); ok {
		for _, v := range values {
			if text, ok := v.(string); ok {
				b.WriteString(" " + text)
			}
		}
	}
	if properties, ok := members["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			b.WriteString(" " + name)
			schemaWords(b, properties[name])
		}
	}
	schemaWords(b, members["items"])
}

// contentWords cuts text into words, camelCase and snake_case too, without the commonest words of English and without
// the commonest endings.
func contentWords(text string) map[string]bool {
	var spaced strings.Builder
	lower := false
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && lower:
			spaced.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		spaced.WriteRune(unicode.ToLower(r))
	}
	common := strings.Fields(commonWords)
	words := map[string]bool{}
	for _, w := range strings.Fields(spaced.String()) {
		if !slices.Contains(common, w) {
			words[withoutEnding(w)] = true
		}
	}
	return words
}

const commonWords = "a about am an and any are as at be can could did do does for from had has have he her his how i in is it its me my of on or our " +
	"please she so tell that the their them they this to user was we were what when where which who whose why will with would you your"

func withoutEnding(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) >= 3 {
			return stem
		}
	}
	return word
}
