package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"edge/learn"
)

// An answer that follows a tool's result is held to two rules: it states the result's values in words of its own, and it
// states no number that is neither in the result nor in anything the model was told. A small model breaks them often; then a plain
// sentence made of the result stands in, marked as such.

// mustState is how many values a result may have for an answer to have to state all of them: an answer may sum up a
// long result.
const mustState = 4

// states reports whether an answer keeps both rules.
func states(answer, request string, result json.RawMessage, known string) bool {
	return !raw(answer, request) && statesValues(answer, request, result) && invents(answer, numbers(known+" "+string(result))) == "" && strings.TrimSpace(answer) != ""
}

// mustQuote is how many words a value may have for an answer to have to say them all: of a longer text it may tell the
// substance.
const mustQuote = 5

// statesValues reports whether an answer has every value of a result, where there are few. Of a long text it must have a
// word at least that the request didn't have.
func statesValues(answer, request string, result json.RawMessage) bool {
	values := leaves(result)
	return len(values) > mustState || !slices.ContainsFunc(values, func(v leaf) bool {
		if len(strings.Fields(v.text)) > mustQuote {
			return !tells(answer, request, v.text)
		}
		return !contains(answer, v.text)
	})
}

// tells reports whether an answer has a word of a text, or a number, that isn't in the request.
func tells(answer, request, text string) bool {
	const short = 4 // words of fewer letters are in every text
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !isWord(r) })
	}
	said, asked := words(answer), words(request)
	return slices.ContainsFunc(words(text), func(w string) bool {
		telling := utf8.RuneCountInString(w) >= short || strings.ContainsFunc(w, func(r rune) bool { return r > unicode.MaxLatin1 || unicode.IsDigit(r) })
		return telling && slices.Contains(said, w) && !slices.Contains(asked, w)
	})
}

// invents gives a number of the answer that isn't among those that the model was told.
func invents(answer string, told []string) string {
	for _, n := range numbers(answer) {
		if !slices.Contains(told, n) {
			return n
		}
	}
	return ""
}

// patience is how many words an answer may take until it has stated a result of few values.
const patience = 40

// hopeless reports whether an answer that is being written can't become one that keeps both rules: it has a number that
// nobody told, says a sentence again, or goes on and on without coming to the result. The last word may still grow.
func hopeless(sofar, request string, result json.RawMessage, told []string) bool {
	end := strings.LastIndexFunc(sofar, unicode.IsSpace)
	if end < 0 {
		return false
	}
	sofar = sofar[:end]
	return raw(sofar, request) || invents(sofar, told) != "" || repeats(sofar) || len(strings.Fields(sofar)) > patience && !statesValues(sofar, request, result)
}

// raw reports whether an answer is no answer to a person: it says over again the turn that brought the result, or holds a
// JSON object that the request didn't ask for.
func raw(answer, request string) bool {
	return strings.HasPrefix(strings.TrimSpace(answer), learn.ToolResultWords) ||
		strings.Contains(answer, `{"`) && !strings.Contains(strings.ToLower(request), "json")
}

// repeats reports whether text ends with a sentence or a line that it had before.
func repeats(text string) bool {
	const short = 12 // "Yes." may be said twice
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?\n", r) })
	if len(parts) < 2 {
		return false
	}
	last := strings.TrimSpace(parts[len(parts)-1])
	return len(last) >= short && slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool { return strings.TrimSpace(p) == last })
}

// leaf is one value of a result with the names that lead to it.
type leaf struct {
	path []string
	text string
}

// leaves lists a result's values in its canonical order. null, empty containers and blank text have nothing to state.
func leaves(result json.RawMessage) []leaf {
	dec := json.NewDecoder(strings.NewReader(string(result)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return walk(v, nil)
}

func walk(v any, path []string) []leaf {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var list []leaf
		for _, k := range keys {
			list = append(list, walk(v[k], append(path[:len(path):len(path)], k))...)
		}
		return list
	case []any:
		var list []leaf
		for _, item := range v {
			list = append(list, walk(item, path)...)
		}
		return list
	}
	if text := fmt.Sprint(v); strings.TrimSpace(text) != "" {
		return []leaf{{path, text}}
	}
	return nil
}

// contains reports whether text has value as words of its own, ignoring case: 3 isn't in 30, nor in 1.3, nor in -3.
func contains(text, value string) bool {
	text, value = strings.ToLower(text), strings.ToLower(value)
	for at := 0; ; {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return false
		}
		start := at + i
		if boundary(text, start, start+len(value)) {
			return true
		}
		at = start + 1
	}
}

func boundary(text string, start, end int) bool {
	before, after := []rune(text[:start]), []rune(text[end:])
	if n := len(before); n > 0 {
		inNumber := n > 1 && (before[n-1] == '.' || before[n-1] == ',') && unicode.IsDigit(before[n-2])
		negative := (before[n-1] == '-' || before[n-1] == '−') && (n == 1 || !isWord(before[n-2])) && unicode.IsDigit([]rune(text[start:])[0])
		if isWord(before[n-1]) || inNumber || negative {
			return false
		}
	}
	if len(after) > 0 {
		inNumber := len(after) > 1 && (after[0] == '.' || after[0] == ',') && unicode.IsDigit(after[1])
		if isWord(after[0]) || inNumber {
			return false
		}
	}
	return true
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// numbers lists the numbers in text, thousands separators taken out and trailing zeros of decimals kept.
func numbers(text string) []string {
	var list []string
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		if !unicode.IsDigit(runes[i]) {
			continue
		}
		var b strings.Builder
		for ; i < len(runes); i++ {
			switch r := runes[i]; {
			case unicode.IsDigit(r):
				b.WriteRune(r)
				continue
			case r == '.' && i+1 < len(runes) && unicode.IsDigit(runes[i+1]):
				b.WriteRune(r)
				continue
			case r == ',' && i+3 < len(runes) && unicode.IsDigit(runes[i+1]) && unicode.IsDigit(runes[i+2]) && unicode.IsDigit(runes[i+3]):
				continue
			}
			break
		}
		list = append(list, b.String())
	}
	return list
}

// sentence states a result in plain words.
func sentence(tool string, result json.RawMessage) string {
	list := leaves(result)
	name := strings.ReplaceAll(tool, "_", " ")
	switch {
	case len(list) == 0:
		return "The result of " + name + " is empty."
	case len(list) == 1 && len(list[0].path) == 1 && (list[0].path[0] == "result" || list[0].path[0] == "output"):
		if strings.ContainsAny(list[0].text[len(list[0].text)-1:], ".!?") {
			return "The result of " + name + ": " + list[0].text
		}
		return "The result of " + name + " is " + list[0].text + "."
	}
	parts := make([]string, len(list))
	for i, l := range list {
		parts[i] = strings.ReplaceAll(strings.Join(l.path, " "), "_", " ") + " " + l.text
	}
	return "The result of " + name + ": " + strings.Join(parts, ", ") + "."
}

// failure states an error that a tool has put into words.
func failure(tool string, result json.RawMessage) string {
	return "I couldn't do that: " + tool + " failed: " + strings.TrimSpace(outputText(result))
}

// watch follows a reply while it is written.
type watch struct {
	limit int                     // tokens of an answer; a call may be longer
	pass  func(string)            // hears answers; may be nil
	stop  func() bool             // the user's; may be nil
	vain  func(sofar string) bool // whether an answer that has come so far is in vain; may be nil

	text        strings.Builder
	began, call bool
	asked       int  // tokens that were begun
	full        bool // the limit ended the reply
}

func (w *watch) hear(text string) {
	if !w.began && strings.TrimSpace(text) != "" {
		w.began, w.call = true, strings.HasPrefix(strings.TrimSpace(text), "{")
	}
	if !w.call && w.pass != nil {
		w.pass(text)
	}
	w.text.WriteString(text)
}

// ends is asked before every token.
func (w *watch) ends() bool {
	if w.stop != nil && w.stop() {
		return true
	}
	if w.vain != nil && !w.call && w.vain(w.text.String()) {
		return true
	}
	w.asked++
	w.full = !w.call && w.asked > w.limit
	return w.full
}
