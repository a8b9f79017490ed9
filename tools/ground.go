package tools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"edge/internal/canon"
	"edge/internal/fault"
)

// Grounding ties the values of a call to the user's request. A small model that must choose among the request's own
// words and numbers can't invent any.
type Grounding struct {
	// Request is the user's text.
	Request string
	// Params holds a policy for each tool and parameter; Default is for those it lacks.
	Params  map[string]map[string]ParamPolicy
	Default ParamPolicy
}

// ParamPolicy says where a parameter's value comes from and whether it is written. The zero value leaves both free.
type ParamPolicy struct {
	Source  Source
	Include Include
	// Candidates, where given, are the only values, each as JSON text; Source doesn't matter then.
	Candidates []string
}

// Source is where a parameter's value comes from.
type Source int

const (
	// Free admits every value of the type.
	Free Source = iota
	// FromRequest admits a span of the request's words for a string, a number of the request for a number, and each of
	// these for the items of an array. Enums and booleans stay free. Where the request has none, so does the value.
	FromRequest
)

// Include is whether an optional parameter is written.
type Include int

const (
	// IncludeAllowed leaves it to the model.
	IncludeAllowed Include = iota
	// IncludeRequired has it written always.
	IncludeRequired
	// IncludeAbsent has it never written.
	IncludeAbsent
)

func (g *Grounding) policy(tool, parameter string) ParamPolicy {
	if g == nil {
		return ParamPolicy{}
	}
	if policy, ok := g.Params[tool][parameter]; ok {
		return policy
	}
	return g.Default
}

// maxSpanWords bounds the words that spans are made of. Each start is an alternative that the engine tries on its whole
// vocabulary, so beyond this a free string is the better rule.
const maxSpanWords = 512

// ground reads the request and writes the rule for its spans.
func (g *grammar) ground(request string) error {
	if !utf8.ValidString(request) {
		return fault.New(fault.CodeInvalidArguments, "the request isn't valid UTF-8")
	}
	g.numbers = findNumbers(request)
	if words := splitWords(request); len(words) > 0 && len(words) <= maxSpanWords {
		starts, err := g.spanStarts(words)
		if err != nil {
			return err
		}
		g.spans = g.rule(`"\"" (` + strings.Join(starts, " | ") + `) "\""`)
	}
	return nil
}

// spanStarts writes one rule for each word, which runs from the word's core to any later end, and gives the
// expressions that start a span. Rules are O(words), spans O(words²).
func (g *grammar) spanStarts(words []word) ([]string, error) {
	starts := make([][]string, len(words))
	next := "" // what follows a whole word: the gap and the next word
	for i := len(words) - 1; i >= 0; i-- {
		w := words[i]
		tail := next
		core := w.ends[0]
		for k := len(w.ends) - 1; k > 0; k-- {
			piece, err := quoteJSON(w.text[w.ends[k-1]:w.ends[k]])
			if err != nil {
				return nil, err
			}
			tail = "(" + strings.TrimSpace(piece+" "+tail) + ")?"
		}
		first := w.starts[len(w.starts)-1]
		piece, err := quoteJSON(w.text[first:core])
		if err != nil {
			return nil, err
		}
		rule := g.rule(strings.TrimSpace(piece + " " + tail))
		for _, start := range w.starts {
			lead, err := quoteJSON(w.text[start:first])
			if err != nil {
				return nil, err
			}
			starts[i] = append(starts[i], strings.TrimSpace(lead+" "+rule))
		}
		gap, err := quoteJSON(w.gap + w.text[:first])
		if err != nil {
			return nil, err
		}
		next = "(" + strings.TrimSpace(gap+" "+rule) + ")?"
	}
	return slices.Concat(starts...), nil
}

// quoteJSON writes text as the inside of a JSON string, as a GBNF literal; "" for no text.
func quoteJSON(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	literal, err := canon.Marshal(text)
	if err != nil {
		return "", err
	}
	return quote(string(literal[1 : len(literal)-1])), nil
}

// word is a part of the request that a span may start or end with.
type word struct {
	gap    string // the white space before it, exactly
	text   string
	starts []int // where in text a span may start: at each mark before the core, and at the core (last)
	ends   []int // where a span may end: after the core (first), and after each mark behind it
}

// splitWords cuts at white space, and between the characters of scripts that are written without spaces.
func splitWords(request string) []word {
	var words []word
	gap := ""
	for len(request) > 0 {
		n := strings.IndexFunc(request, func(r rune) bool { return !unicode.IsSpace(r) })
		if n < 0 {
			break
		}
		gap, request = request[:n], request[n:]
		end := strings.IndexFunc(request, unicode.IsSpace)
		if end < 0 {
			end = len(request)
		}
		for _, part := range splitScripts(request[:end]) {
			words = append(words, newWord(gap, part))
			gap = ""
		}
		request = request[end:]
	}
	return words
}

func splitScripts(text string) []string {
	var parts []string
	from := 0
	for i, r := range text {
		if unspaced(r) {
			if i > from {
				parts = append(parts, text[from:i])
			}
			parts = append(parts, string(r))
			from = i + utf8.RuneLen(r)
		}
	}
	if from < len(text) {
		parts = append(parts, text[from:])
	}
	return parts
}

// unspaced is true for scripts in which a word's end can't be seen; Korean puts particles right behind nouns.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func newWord(gap, text string) word {
	w := word{gap: gap, text: text}
	first := strings.IndexFunc(text, inWord)
	if first < 0 { // marks only: taken as they are
		return word{gap: gap, text: text, starts: []int{0}, ends: []int{len(text)}}
	}
	for i := range text[:first] {
		w.starts = append(w.starts, i)
	}
	w.starts = append(w.starts, first)

	last := strings.LastIndexFunc(text, inWord)
	_, size := utf8.DecodeRuneInString(text[last:])
	core := last + size
	// "Porto's" may be meant as "Porto".
	for _, possessive := range []string{"'s", "’s", "'S", "’S"} {
		if stem, ok := strings.CutSuffix(text[:core], possessive); ok && len(stem) > first {
			w.ends = append(w.ends, len(stem))
			break
		}
	}
	w.ends = append(w.ends, core)
	for i, r := range text[core:] {
		w.ends = append(w.ends, core+i+utf8.RuneLen(r))
	}
	return w
}

// inWord is true for what a word is made of, as opposed to the marks around it.
func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }
