package learn

import (
	"math"
	"strconv"
	"strings"

	"edge/internal/canon"
)

// number reads a word as a number: thousands separators, a currency sign before it, a unit or per-cent sign after it,
// "2k" and "3m", exponents, and number words up to twenty. It tells the canonical JSON text.
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
	if small, ok := withExponent(text); ok {
		return sign + small, true
	}
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

// withExponent reads 8.854e-12 and 2e6: digits, and an exponent of one or two.
func withExponent(text string) (string, bool) {
	mantissa, exponent, ok := strings.Cut(text, "e")
	power := strings.TrimLeft(exponent, "+-")
	if !ok || mantissa == "" || len(exponent)-len(power) > 1 || len(power) < 1 || len(power) > 2 ||
		strings.Trim(mantissa, "0123456789.") != "" || strings.Trim(power, "0123456789") != "" {
		return "", false
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(value) > 1<<53-1 {
		return "", false
	}
	canonical, err := canon.Marshal(value)
	return string(canonical), err == nil
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
