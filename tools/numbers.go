package tools

import (
	"slices"
	"strings"
	"unicode"

	"edge/internal/canon"
)

// number is a number that the request names, as canonical JSON.
type number struct {
	text    string
	integer bool
}

// candidateNumbers gives the texts that fit the type, in the order of the request.
func candidateNumbers(numbers []number, integersOnly bool) []string {
	var texts []string
	for _, n := range numbers {
		if n.integer || !integersOnly {
			texts = append(texts, n.text)
		}
	}
	return texts
}

// findNumbers lists the numbers of a request, each once: digits with thousands separators and decimals ("1,200.50"),
// signs ("-5", "minus 5"), "k" and the words hundred to billion behind a number, and English number words. Text that
// reads two ways gives both numbers ("1,5" is 1.5, or 1 and 5): the model chooses.
func findNumbers(request string) []number {
	f := &numberFinder{}
	f.tokens(request)
	var lone []string // "one" is a pronoun more often than a number
	for i := 0; i < len(f.list); {
		if n := f.words(i, &lone); n > 0 {
			i += n
			continue
		}
		f.digits(i)
		i++
	}
	if len(f.found) == 0 {
		for _, text := range lone {
			f.add(text)
		}
	}
	return f.found
}

type numberFinder struct {
	list  []numberToken
	found []number
}

// numberToken is a run of letters, or a run of digits with the separators inside it.
type numberToken struct {
	text    string // letters in lower case
	digits  bool
	minus   bool // a sign stands right before it
	touches bool // nothing stands between it and the token before
	near    bool // at most white space or a hyphen does
}

func (f *numberFinder) tokens(request string) {
	runes := []rune(request)
	for i, r := range runes {
		runes[i] = plainDigit(r)
	}
	end := 0 // of the token before
	for i := 0; i < len(runes); {
		j := i
		switch {
		case digit(runes[i]):
			for j++; j < len(runes) && (digit(runes[j]) || separator(runes[j]) && j+1 < len(runes) && digit(runes[j+1])); j++ {
			}
			if exp := exponent(runes[j:]); exp > 0 {
				j += exp
			}
		case unicode.IsLetter(runes[i]):
			for j++; j < len(runes) && unicode.IsLetter(runes[j]); j++ {
			}
		default:
			i++
			continue
		}
		between := string(runes[end:i])
		f.list = append(f.list, numberToken{
			text:    strings.ToLower(string(runes[i:j])),
			digits:  digit(runes[i]),
			minus:   signed(runes, i),
			touches: between == "" && end > 0,
			near:    strings.TrimSpace(strings.Replace(between, "-", "", 1)) == "" && end > 0,
		})
		i, end = j, j
	}
}

// digits adds what a run of digits can mean.
func (f *numberFinder) digits(i int) {
	t := f.list[i]
	if !t.digits {
		return
	}
	sign := ""
	if t.minus {
		sign = "-"
	} else if i > 0 && t.near && (f.list[i-1].text == "minus" || f.list[i-1].text == "negative") {
		sign = "-"
	}
	readings := readDigits(t.text)
	if len(readings) == 1 && i+1 < len(f.list) {
		if next := f.list[i+1]; next.touches && next.text == "k" {
			f.add(sign + shift(readings[0], 3))
		} else if zeros := multiplier(next.text); next.near && zeros > 0 {
			f.add(sign + shift(readings[0], zeros))
		}
	}
	for _, reading := range readings {
		f.add(sign + reading)
	}
}

// add keeps a number if canonical JSON can hold it.
func (f *numberFinder) add(text string) {
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	if text = strings.TrimLeft(text, "0"); text == "" || text[0] == '.' || text[0] == 'e' {
		text = "0" + text
	}
	canonical, err := canon.Transform([]byte(sign + text))
	if err != nil {
		return
	}
	n := number{string(canonical), !strings.ContainsAny(string(canonical), ".e")}
	if !slices.Contains(f.found, n) {
		f.found = append(f.found, n)
	}
}

// readDigits gives the readings of digits with separators, the likelier first.
func readDigits(text string) []string {
	mantissa, exp := text, ""
	if i := strings.IndexByte(text, 'e'); i >= 0 {
		mantissa, exp = text[:i], text[i:]
	}
	groups := strings.FieldsFunc(mantissa, separator)
	var marks []rune
	for _, r := range mantissa {
		if separator(r) {
			marks = append(marks, r)
		}
	}
	if len(marks) == 0 || len(marks) == 1 && marks[0] == '.' {
		return []string{mantissa + exp}
	}
	last := marks[len(marks)-1]
	switch {
	case alike(marks) && thousands(groups): // 1,200,000
		return []string{strings.Join(groups, "")}
	case alike(marks[:len(marks)-1]) && last != marks[0] && (last == '.' || last == ',') && thousands(groups[:len(groups)-1]): // 1,200.50 or 1.200,50
		return []string{strings.Join(groups[:len(groups)-1], "") + "." + groups[len(groups)-1]}
	case len(marks) == 1 && last == ',': // 1,5
		return append([]string{groups[0] + "." + groups[1]}, groups...)
	}
	return groups
}

func thousands(groups []string) bool {
	if len(groups[0]) > 3 || groups[0][0] == '0' {
		return false
	}
	for _, group := range groups[1:] {
		if len(group) != 3 {
			return false
		}
	}
	return true
}

func alike(marks []rune) bool {
	return !slices.ContainsFunc(marks, func(r rune) bool { return r != marks[0] })
}

func digit(r rune) bool     { return r >= '0' && r <= '9' }
func separator(r rune) bool { return strings.ContainsRune(",.'’_\u00A0\u202F", r) }

// plainDigit maps full-width digits and their separators, as Chinese and Japanese input methods write them.
func plainDigit(r rune) rune {
	switch {
	case r >= '０' && r <= '９':
		return r - '０' + '0'
	case r == '，':
		return ','
	case r == '．':
		return '.'
	}
	return r
}

// exponent is the length of an exponent at the start of rest, 0 where there is none.
func exponent(rest []rune) int {
	if len(rest) < 2 || rest[0] != 'e' && rest[0] != 'E' {
		return 0
	}
	n := 1
	if rest[1] == '-' || rest[1] == '+' {
		n++
	}
	from := n
	for n < len(rest) && digit(rest[n]) {
		n++
	}
	if n == from || n < len(rest) && unicode.IsLetter(rest[n]) {
		return 0
	}
	return n
}

// signed is true where a minus stands before the digits and isn't a hyphen behind a word or a number.
func signed(runes []rune, i int) bool {
	if i == 0 || runes[i-1] != '-' && runes[i-1] != '−' {
		return false
	}
	return i == 1 || unicode.IsSpace(runes[i-2]) || strings.ContainsRune("([{=:,\"'", runes[i-2])
}

// shift multiplies a number's text by a power of ten.
func shift(text string, zeros int) string {
	if strings.Contains(text, "e") {
		return text
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction += strings.Repeat("0", zeros)
	whole, fraction = whole+fraction[:zeros], strings.TrimRight(fraction[zeros:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
