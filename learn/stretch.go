package learn

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"edge/internal/canon"
)

// stretch is a candidate value: words [i,j) of the request.
type stretch struct {
	i, j  int
	value json.RawMessage
	items []string // of a list, as they are written
}

// longestStretch bounds the words of one copied value.
const longestStretch = 32

// reader reads words of a request as one value; ok is false where they aren't one.
type reader func(request string, words []word) (value json.RawMessage, items []string, ok bool)

// stretches lists what a reader finds in a request.
func stretches(read reader, request string, words []word) []stretch {
	var found []stretch
	for i := range words {
		for j := i + 1; j <= len(words) && j-i <= longestStretch; j++ {
			if value, items, ok := read(request, words[i:j]); ok {
				found = append(found, stretch{i, j, value, items})
			}
		}
	}
	return found
}

// stretches lists the candidates for a parameter.
func (p *parameter) stretches(request string, words []word) []stretch {
	all := stretches(p.reader, request, words)
	if p.source == day || p.source == clock {
		all = whole(all)
	}
	return all
}

// whole keeps the stretches that no other one contains: 7:30 pm is one time, and not half past seven in the morning.
func whole(all []stretch) []stretch {
	return slices.DeleteFunc(slices.Clone(all), func(s stretch) bool {
		return slices.ContainsFunc(all, func(o stretch) bool { return o.i <= s.i && s.j <= o.j && o.j-o.i > s.j-s.i })
	})
}

func readText(request string, words []word) (json.RawMessage, []string, bool) {
	if cutsQuotation(words) {
		return nil, nil, false
	}
	value, err := quoted(request[words[0].start:words[len(words)-1].end])
	return value, nil, err == nil
}

// quoted is text as canonical JSON.
func quoted(text string) (json.RawMessage, error) {
	escaped := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, escaped) {
		return json.RawMessage(`"` + text + `"`), nil
	}
	return canon.Marshal(text)
}

func readNumber(_ string, words []word) (json.RawMessage, []string, bool) {
	if len(words) != 1 {
		return nil, nil, false
	}
	text, ok := number(words[0])
	return json.RawMessage(text), nil, ok
}

func readWhole(request string, words []word) (json.RawMessage, []string, bool) {
	value, items, ok := readNumber(request, words)
	return value, items, ok && !strings.ContainsAny(string(value), ".e")
}

// features describe a stretch by what is around it and by its shape.
func (p *parameter) features(words []word, s stretch) []string {
	before, after, separator := "^", "$", ""
	if s.i > 0 {
		before = neighbour(words[s.i-1])
		separator = words[s.i-1].trail
	}
	if s.j < len(words) {
		after = neighbour(words[s.j])
	}
	features := []string{
		"before " + before, "after " + after, "separator " + separator, "trail " + words[s.j-1].trail, "lead " + words[s.i].lead,
	}
	switch p.source {
	case day, clock: // however it is written, it is one
		return features
	case list:
		return append(features, itemFeatures(s.items)...)
	}
	var parts []string // a name of several words is one part
	for k, w := range words[s.i:s.j] {
		if k == 0 || !oneName(words[s.i+k-1], w) {
			parts = append(parts, w.text)
		}
	}
	features = append(features, "quoted "+quotation(words[s.i:s.j]),
		"shape "+shapes(parts), "looks "+looks(words[s.i:s.j]), "words "+strconv.Itoa(min(len(parts), 4)),
		"first "+strings.ToLower(words[s.i].text), "last "+strings.ToLower(words[s.j-1].text),
	)
	if p.tail {
		features = append(features, "goes on "+strconv.FormatBool(s.j < len(words)))
	}
	if cutsName(words, s) {
		features = append(features, cutName)
	}
	for _, w := range words[s.i : s.j-1] {
		if w.trail != "" {
			features = append(features, "crosses "+w.trail)
		}
	}
	return features
}

// shapes are the shapes of parts, like ones that follow each other once: how many there are is a feature of its own. Only
// where every character is a part their number stays, which is then the length of a word.
func shapes(parts []string) string {
	var list []string
	for _, part := range parts {
		first, _ := utf8.DecodeRuneInString(part)
		if s := shape(part); unspaced(first) || len(list) == 0 || list[len(list)-1] != s {
			list = append(list, s)
		}
	}
	return strings.Join(list, " ")
}

// looks is the coarsest shape of a text, for those of a shape that no example has: todo-list.md is like todo.md.
func looks(words []word) string {
	switch {
	case !slices.ContainsFunc(words, signed):
		return "words"
	case len(words) > 1:
		return "signs among words"
	}
	return "sign"
}

// oneName reports whether two words that follow each other are part of one name, such as New York.
func oneName(a, b word) bool {
	return a.trail == "" && b.lead == "" && shape(a.text) == "Aa" && shape(b.text) == "Aa"
}

// neighbour is what a word is to the stretch beside it: the word, or the shape of one that has digits, which no other
// request repeats.
func neighbour(w word) string {
	if strings.ContainsFunc(w.text, unicode.IsDigit) {
		return "<" + shape(w.text)
	}
	return strings.ToLower(w.text)
}

// counts are how often each feature was seen on right and on wrong stretches.
type counts struct {
	right, wrong map[string]float64
	nRight       float64
	nWrong       float64
}

// add counts one example's stretches; without a value none of them is right.
func (c *counts) add(p *parameter, e *lesson, value json.RawMessage, weight float64) {
	if c.right == nil {
		c.right, c.wrong = map[string]float64{}, map[string]float64{}
	}
	for _, s := range p.stretches(e.Prompt, e.words) {
		into, n := c.wrong, &c.nWrong
		if value != nil && string(s.value) == string(value) {
			into, n = c.right, &c.nRight
		}
		*n += weight
		for _, f := range p.features(e.words, s) {
			into[f] += weight
		}
	}
}

// Of three features something is known before any example: quotation marks set a value off, and nobody cuts a name.
const (
	wholeQuotation     = "quoted whole"
	seenWholeQuotation = 4 // times on a right stretch
	holdsQuotation     = "quoted within"
	cutName            = "cuts a name"
	seenWrong          = 2 // times on a wrong one, both of these
)

// score is the log-odds of a stretch being right. Wrong stretches are many and right ones few, so their counts are
// brought to the same weight; a feature never seen counts for nothing.
func (c *counts) score(features []string) float64 {
	const prior = 0.3 // pseudo-count
	weight := c.nRight / max(c.nWrong, 1)
	sum := 0.0
	for _, f := range features {
		right, wrong := c.right[f], c.wrong[f]*weight
		switch f {
		case wholeQuotation:
			right += seenWholeQuotation
		case cutName, holdsQuotation:
			wrong += seenWrong
		}
		sum += math.Log((right + prior) / (wrong + prior))
	}
	return sum
}
