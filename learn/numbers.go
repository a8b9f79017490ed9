package learn

import (
	"math"
	"strconv"
	"strings"
)

// number reads a word as a number: thousands separators, a currency sign before it, a unit or per-cent sign after it,
// "2k" and "3m", and number words up to twenty. It tells the canonical JSON text.
func number(w word) (string, bool) {
	text := strings.ToLower(w.text)
	if n, ok := numberWord(text); ok {
		return strconv.Itoa(n), true
	}
	sign := ""
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "−") {
		sign, text = "-", strings.TrimLeft(text, "-−")
	}
	text = strings.TrimLeft(text, "$€£¥+#")
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµ°%€$£¥")
	unit := text[len(digits):]
	digits = strings.TrimRight(digits, ".,")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return "", false
	}
	plain, ok := withoutThousands(digits)
	if !ok {
		return "", false
	}
	switch unit { // read as one decimal: a product of binary fractions has wrong last digits
	case "k":
		plain += "e3"
	case "m", "mio":
		plain += "e6"
	}
	value, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.Abs(value) > 1<<53-1 {
		return "", false
	}
	return sign + strconv.FormatFloat(value, 'f', -1, 64), true
}

// withoutThousands takes "1,200.50" to "1200.50"; digits and one decimal point may be left, nothing else.
func withoutThousands(text string) (string, bool) {
	whole, fraction, decimal := strings.Cut(text, ".")
	groups := strings.FieldsFunc(whole, func(r rune) bool { return r == ',' || r == '\'' || r == '_' })
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && len(g) > 3 {
			return "", false
		}
	}
	plain := strings.Join(groups, "")
	if decimal {
		plain += "." + fraction
	}
	return plain, strings.Trim(plain, "0123456789.") == "" && strings.Count(plain, ".") <= 1
}

func numberWord(text string) (int, bool) {
	for i, name := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		if text == name {
			return i, true
		}
	}
	return 0, false
}
