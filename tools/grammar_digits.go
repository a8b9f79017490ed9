package tools

import (
	"fmt"
	"math/big"
	"strings"
)

// naturals writes the numbers from low, not negative, to high, of up to 16 digits; "" for none.
func naturals(low, high *big.Int) string {
	if high.Cmp(largest()) > 0 {
		high = largest()
	}
	if low.Cmp(high) > 0 {
		return ""
	}
	var choices []string
	if low.Sign() == 0 {
		choices = append(choices, `"0"`)
		low = one()
	}
	if low.Cmp(high) > 0 {
		return alternation(choices)
	}
	a, b := low.String(), high.String()
	power := func(n int) string { return "1" + strings.Repeat("0", n-1) }
	nines := func(n int) string { return strings.Repeat("9", n) }
	for n := len(a); n <= len(b); n++ {
		from, to := power(n), nines(n)
		if n == len(a) {
			from = a
		}
		if n == len(b) {
			to = b
		}
		if from != power(n) || to != nines(n) {
			choices = append(choices, sameLength(from, to))
			continue
		}
		last := n // the longest of all lengths that are whole
		for last+1 < len(b) || last+1 == len(b) && b == nines(len(b)) {
			last++
		}
		choices = append(choices, join("[1-9]", repeatDigits(n-1, last-1)))
		n = last
	}
	return alternation(choices)
}

// sameLength writes the digits from low to high, of one length.
func sameLength(low, high string) string {
	if low == "" {
		return ""
	}
	n := len(low) - 1
	zeros, nines := strings.Repeat("0", n), strings.Repeat("9", n)
	if low[0] == high[0] {
		return join(quote(low[:1]), grouped(sameLength(low[1:], high[1:])))
	}
	var choices []string
	from, to := low[0], high[0]
	if low[1:] != zeros {
		choices = append(choices, join(quote(low[:1]), grouped(sameLength(low[1:], nines))))
		from++
	}
	if high[1:] != nines {
		to--
	}
	if from <= to {
		choices = append(choices, join(digitRange(from, to), repeatDigits(n, n)))
	}
	if high[1:] != nines {
		choices = append(choices, join(quote(high[:1]), grouped(sameLength(zeros, high[1:]))))
	}
	return alternation(choices)
}

func grouped(text string) string {
	if strings.Contains(text, "|") {
		return "(" + text + ")"
	}
	return text
}

func digitRange(from, to byte) string {
	if from == to {
		return quote(string(from))
	}
	return "[" + string(from) + "-" + string(to) + "]"
}

func repeatDigits(least, most int) string {
	switch {
	case most == 0:
		return ""
	case least == 1 && most == 1:
		return "[0-9]"
	}
	return fmt.Sprintf("[0-9]{%d,%d}", least, most)
}
