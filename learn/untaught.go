package learn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is known of a parameter that no example of its tool gives: its type, and what the tool says of itself.

// told finds a source by the schema alone.
func (p *parameter) told(schema schemaOf, about string) (source, reader) {
	switch {
	case schema.is("integer"):
		return figure, readWhole
	case schema.is("number"):
		return figure, readNumber
	case schema.is("array") && schema.Items != nil:
		if r := learnList(*schema.Items, p.name, nil); r != nil {
			return list, r
		}
	case !schema.is("string"):
	case schema.Format == "date" || p.written(schema.Description, about, "YYYY-MM-DD", dayNames):
		return day, readDay
	case schema.Format == "time" || p.written(schema.Description, about, "HH:MM", clockNames):
		return clock, readClock
	default:
		return span, readText
	}
	return free, nil
}

// The names of parameters that are meant when a tool's description says how moments are written.
const (
	dayNames   = "date day start end from to since until due"
	clockNames = "time start end from to since until due"
)

// written reports whether a parameter's description names the form, or its tool's does and the parameter is called so.
func (p *parameter) written(own, about, form, names string) bool {
	if strings.Contains(own, form) {
		return true
	}
	return strings.Contains(about, form) && slices.ContainsFunc(strings.Split(strings.ToLower(p.name), "_"), func(part string) bool {
		return slices.Contains(strings.Fields(names), part)
	})
}

// What speaks for a stretch without any example. How the figures were chosen: docs/learning.md.
const (
	likeQuoted   = 3.0
	likeOneValue = 2.0 // 12, todo.md, A-17
	likeOneName  = 1.5 // New York
	likeNumber   = 1.0 // 2021, where text is asked for
	behindColon  = 1.7 // "note: buy milk", up to where a sentence could end
	perWord      = 0.1 // the longer of two stretches
	likeType     = 3.5 // a number or a moment where one is asked for
	nameBeside   = 1.0
	nameReach    = 4     // words
	inOrder      = 0.001 // per place of a parameter and of a word: of equal assignments the one in order has most
)

// untaughtScore judges a stretch by what it looks like, and by whether the parameter's name stands beside it.
func (p *parameter) untaughtScore(words []word, s stretch) float64 {
	near := p.nameBeside(words, s)
	score := near + inOrder*float64(p.place*s.i)
	reason := near > 0 || p.source == figure && p.alone || p.source == span && quotation(words[s.i:s.j]) == "whole"
	if !p.required && !reason {
		return never
	}
	switch p.source {
	case span:
		return score + p.textLooks(words, s)
	case list:
		return score + p.listLooks(words, s)
	}
	if !p.required && near == 0 {
		return score + likeNumber // the year of a date that another parameter asks for is none
	}
	return score + likeType
}

// nameBeside adds up how near the words of the parameter's name stand, at most to 1.
func (p *parameter) nameBeside(words []word, s stretch) float64 {
	sum := 0.0
	for _, part := range p.parts() {
		near := 0.0
		for k := 1; k <= nameReach; k++ {
			for _, i := range []int{s.i - k, s.j - 1 + k} {
				if i >= 0 && i < len(words) && part == stem(strings.ToLower(words[i].text)) {
					near = max(near, 1/float64(k))
				}
			}
		}
		sum += near
	}
	return min(sum, nameBeside)
}

// parts are the stems of the words of the parameter's name.
func (p *parameter) parts() []string {
	parts := strings.Split(strings.ToLower(p.name), "_")
	for i := range parts {
		parts[i] = stem(parts[i])
	}
	return parts
}

// never is less than any other score.
const never = -10

// textLooks judges a text by its shape alone; never is for what is hardly a value.
func (p *parameter) textLooks(words []word, s stretch) float64 {
	inner := words[s.i:s.j]
	colon := s.i > 0 && strings.HasPrefix(words[s.i-1].trail, ":")
	switch {
	case quotation(inner) == "whole":
		return likeQuoted
	case colon && (s.j == len(words) || words[s.j-1].trail != "") && !slices.ContainsFunc(inner[:len(inner)-1], breaks):
		return behindColon
	case slices.ContainsFunc(inner[:len(inner)-1], breaks):
		return never
	case cutsName(words, s):
		return never
	case len(inner) == 1 && strings.Trim(inner[0].text, "0123456789") == "":
		return likeNumber
	case len(inner) == 1 && likeValue(inner[0]):
		return likeOneValue
	}
	if s.i == 0 && !likeValue(inner[0]) || p.known(inner[0]) || p.known(inner[len(inner)-1]) {
		return never // a request begins with its verb
	}
	score := perWord * float64(len(inner))
	names := true
	for k, w := range inner {
		names = names && capital(w) && (s.i+k == 0 || words[s.i+k-1].trail == "")
		if p.own(w) {
			score -= 5 * perWord
		}
	}
	if names {
		score += likeOneName
	}
	return score
}

// cutsName reports whether a name goes on before or behind a stretch. A request's first word has its capital for another
// reason.
func cutsName(words []word, s stretch) bool {
	return s.i > 1 && oneName(words[s.i-1], words[s.i]) || s.j > 1 && s.j < len(words) && oneName(words[s.j-1], words[s.j])
}

// listLooks adds up over the items of a list.
func (p *parameter) listLooks(words []word, s stretch) float64 {
	score := 0.0
	for _, item := range s.items {
		parts := split(item)
		switch {
		case len(parts) == 1 && likeValue(parts[0]):
			score += likeOneValue
		case p.known(parts[0]) || p.known(parts[len(parts)-1]):
			return never
		default:
			score += perWord
		}
	}
	if s.i == 0 && !likeValue(words[0]) {
		return never
	}
	return score
}

// known reports whether a word says nothing about a value: the tool itself says it, or every text does.
func (p *parameter) known(w word) bool {
	return len(content(w.text)) == 0 || p.own(w)
}

// own reports whether the tool says the word of itself.
func (p *parameter) own(w word) bool { return p.about[stem(strings.ToLower(w.text))] }

// breaks reports whether a sentence could end behind the word.
func breaks(w word) bool { return strings.ContainsAny(w.trail, ",;:.!?") }

// likeValue reports whether a word has a digit or a sign in it, or stands in quotation marks: 12, todo.md, "yes".
func likeValue(w word) bool {
	return w.opens > 0 || signed(w)
}

// signed reports whether a word has a digit or a sign in it.
func signed(w word) bool {
	return strings.ContainsFunc(w.text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' })
}

// capital reports whether a word begins with one; I alone is no name.
func capital(w word) bool {
	first, size := utf8.DecodeRuneInString(w.text)
	next, _ := utf8.DecodeRuneInString(w.text[size:])
	return unicode.IsUpper(first) && unicode.IsLetter(next)
}

// lacks reports whether a required number or moment of a tool isn't in the request: then the request can't mean it.
func (a *Arguments) lacks(tool, request string) bool {
	known := a.tools[tool]
	if known == nil {
		return false
	}
	best := a.assign(tool, request, split(request))
	return slices.ContainsFunc(known.parameters, func(p *parameter) bool {
		_, found := best.chosen[p.name]
		return p.required && !found && (p.source == figure || p.source == day || p.source == clock)
	})
}

// taught reports whether an example calls the tool.
func (a *Arguments) taught(tool string) bool {
	known := a.tools[tool]
	return known != nil && len(known.lessons) > 0
}

// groundless reports whether nothing in a request asks for a tool that no example calls: it shares no word with what the
// tool says of itself, and holds nothing that looks like a value.
func (r *Replier) groundless(choice Choice, request string) bool {
	words := split(request)
	for i, w := range words {
		if i > 0 && capital(w) && words[i-1].trail == "" || likeValue(w) {
			return false
		}
	}
	return r.selector.shared(choice.Class, request) == 0
}
