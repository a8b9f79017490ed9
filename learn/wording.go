package learn

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"edge/tools"
)

// Wording compares requests with what each tool says of itself, by the words of content that they share. It needs no
// model and no example. A word counts by how few of the tools have it, and a tool's sum is divided by the length of its
// text (inverse document frequency and cosine length: Salton, Buckley, "Term-weighting approaches in automatic text
// retrieval", Information Processing & Management 24, 1988).
type Wording struct {
	texts   []map[string]float64 // per tool: word → squared weight
	lengths []float64
}

// NewWording reads the tools' own words. Scores come in the order of the list.
func NewWording(list []tools.Tool) *Wording {
	w := &Wording{}
	has := map[string]int{} // word → how many tools have it
	for _, t := range list {
		text := map[string]float64{}
		for word := range contentWords(ownWords(t)) {
			text[word] = 0
			has[word]++
		}
		w.texts = append(w.texts, text)
	}
	for _, text := range w.texts {
		sum := 0.0
		for _, word := range slices.Sorted(maps.Keys(text)) { // in one order: sums of floats depend on it
			weight := math.Log(float64(len(list)+1) / float64(has[word]))
			text[word] = weight * weight
			sum += weight * weight
		}
		w.lengths = append(w.lengths, math.Sqrt(sum))
	}
	return w
}

// Scores are 0 for a tool that shares no word with the request, and 1 for the one that shares most.
func (w *Wording) Scores(request string) []float64 {
	asked := slices.Sorted(maps.Keys(contentWords(request)))
	scores := make([]float64, len(w.texts))
	best := 0.0
	for i, text := range w.texts {
		for _, word := range asked {
			scores[i] += text[word]
		}
		if w.lengths[i] > 0 {
			scores[i] /= w.lengths[i]
		}
		best = max(best, scores[i])
	}
	for i := range scores {
		if best > 0 {
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

// contentWords gives the words that carry a text's content, the parts of camelCase and snake_case too, in a stem form.
func contentWords(text string) map[string]bool { return content(spaced(text)) }

// spaced puts a space wherever a new word begins, inside of names too.
func spaced(text string) string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		switch {
		case r == '\'' || r == '’': // that's is one word
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}
