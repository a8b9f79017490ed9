package learn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"edge/internal/canon"
)

// A list is one stretch of the request that is cut into items where one ends with a comma, and at connectors: "and",
// and whatever stands between two items of an example.

// lister reads lists.
type lister struct {
	item       schemaOf
	connectors [][]string
}

// learnList makes the reader of a list; nil where its items aren't text or numbers.
func learnList(item schemaOf, name string, lessons []*lesson) reader {
	if len(item.Enum) > 0 || !item.is("string") && !item.is("integer") && !item.is("number") {
		return nil
	}
	l := lister{item: item, connectors: [][]string{{"and"}, {"or"}, {"&"}, {"plus"}}}
	for _, e := range lessons {
		var values []json.RawMessage
		if value, ok := argument(e.Example, name); !ok || json.Unmarshal(value, &values) != nil {
			continue
		}
		l.learn(e, values)
	}
	slices.SortStableFunc(l.connectors, func(x, y []string) int { return len(y) - len(x) })
	return l.read
}

// longestConnector bounds the words between two items.
const longestConnector = 3

// learn notes what stands between items that follow each other in an example.
func (l *lister) learn(e *lesson, values []json.RawMessage) {
	all := l.items(e.Prompt, e.words)
	end := -1 // of the item before
	for _, value := range values {
		at := slices.IndexFunc(all, func(s stretch) bool { return s.i >= end && string(s.value) == string(value) })
		if at < 0 {
			return
		}
		s := all[at]
		if n := s.i - end; end >= 0 && n > 0 && n <= longestConnector {
			var between []string
			for _, w := range e.words[end:s.i] {
				between = append(between, strings.ToLower(w.text))
			}
			if !slices.ContainsFunc(l.connectors, func(c []string) bool { return slices.Equal(c, between) }) {
				l.connectors = append(l.connectors, between)
			}
		}
		end = s.j
	}
}

// items lists what one item may be.
func (l *lister) items(request string, words []word) []stretch {
	if l.item.is("string") {
		return stretches(readText, request, words)
	}
	return stretches(l.number, request, words)
}

func (l *lister) number(request string, words []word) (json.RawMessage, []string, bool) {
	if l.item.is("number") {
		return readNumber(request, words)
	}
	return readWhole(request, words)
}

func (l *lister) read(request string, words []word) (json.RawMessage, []string, bool) {
	if value, items, ok := l.series(request, words); ok {
		return value, items, true
	}
	read := readText
	if !l.item.is("string") {
		read = l.number
	}
	values := []json.RawMessage{}
	var items []string
	from := 0
	add := func(to int) bool {
		if from == to {
			return false
		}
		value, _, ok := read(request, words[from:to])
		values = append(values, value)
		items = append(items, request[words[from].start:words[to-1].end])
		return ok
	}
	for k := 0; k < len(words); k++ {
		n := l.connector(words[k:])
		switch {
		case n > 0 && k == 0, n > 0 && k+n >= len(words): // a list begins and ends with an item
			return nil, nil, false
		case n > 0:
			if from < k && !add(k) {
				return nil, nil, false
			}
			from = k + n
			k = from - 1
		case strings.ContainsAny(words[k].trail, ",;、，；") && k < len(words)-1:
			if !add(k + 1) {
				return nil, nil, false
			}
			from = k + 1
		}
	}
	if !add(len(words)) {
		return nil, nil, false
	}
	value, err := canon.Marshal(values)
	return value, items, err == nil
}

// series reads items that are single words of one shape with digits or signs in it, with anything short between them:
// "KR-5 next to KR-9".
func (l *lister) series(request string, words []word) (json.RawMessage, []string, bool) {
	form := shape(words[0].text)
	if strings.Trim(form, "aA") == "" || !l.item.is("string") || len(words) < 2 || shape(words[len(words)-1].text) != form {
		return nil, nil, false
	}
	var items []string
	last := 0
	for i, w := range words {
		switch of := shape(w.text); {
		case of == form:
			items, last = append(items, w.text), i
		case strings.Trim(of, "aA") != "" || i-last > longestConnector:
			return nil, nil, false
		}
	}
	value, err := canon.Marshal(items)
	return value, items, err == nil
}

// connector is how many words at the start are one.
func (l *lister) connector(words []word) int {
	for _, c := range l.connectors {
		if len(c) < len(words) && slices.EqualFunc(words[:len(c)], c, func(w word, text string) bool { return strings.ToLower(w.text) == text }) {
			return len(c)
		}
	}
	return 0
}

// itemFeatures describe a list by its items, each kind once.
func itemFeatures(items []string) []string {
	features := []string{"alike " + strconv.FormatBool(!slices.ContainsFunc(items, func(x string) bool { return shape(x) != shape(items[0]) }))}
	for _, item := range items {
		for _, f := range []string{"item " + shape(item), "item words " + strconv.Itoa(min(len(split(item)), 4))} {
			if !slices.Contains(features, f) {
				features = append(features, f)
			}
		}
	}
	return features
}
