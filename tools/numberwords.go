package tools

import (
	"math"
	"strconv"
)

// words reads English number words from token i on ("two hundred and fifty", "twenty-one", "a dozen") and says how many
// tokens they took, 0 where none starts there.
func (f *numberFinder) words(i int, lone *[]string) int {
	if i > 0 && f.list[i-1].digits && f.list[i].near && multiplier(f.list[i].text) > 0 {
		return 0 // "3 million" was read with its digits
	}
	total, current := int64(0), int64(0)
	used := 0 // tokens up to the last that counts
	last := int64(0)
	for j := i; j < len(f.list); j++ {
		t := f.list[j]
		if t.digits || j > i && !t.near {
			break
		}
		if zeros := multiplier(t.text); zeros > 0 || t.text == "dozen" {
			factor := int64(12)
			if zeros > 0 {
				factor = int64(math.Pow10(zeros))
			}
			if used > 0 && current == 0 || current >= 100 && factor < 1000 || current > 999_999 {
				break
			}
			current = max(current, 1) * factor
			if factor >= 1000 {
				total, current = total+current, 0
			}
			used, last = j-i+1, factor
			continue
		}
		value, ok := wordValue(t.text)
		switch {
		case !ok && used == 0 && j == i && (t.text == "a" || t.text == "an"):
			continue // "a hundred"
		case !ok && used > 0 && t.text == "and" && last >= 100:
			continue // "two hundred and fifty"
		case !ok || used == 0 && j > i:
		case used == 0, last >= 100, last >= 20 && last%10 == 0 && value < 10:
			current += value
			used, last = j-i+1, value
			continue
		}
		break
	}
	if used == 0 {
		return 0
	}
	text := strconv.FormatInt(total+current, 10)
	switch {
	case i > 0 && f.list[i].near && (f.list[i-1].text == "minus" || f.list[i-1].text == "negative"):
		f.add("-" + text)
	case used == 1 && f.list[i].text == "one":
		*lone = append(*lone, text)
	default:
		f.add(text)
	}
	return used
}

// multiplier is how many zeros a word puts behind a number.
func multiplier(word string) int {
	switch word {
	case "hundred":
		return 2
	case "thousand":
		return 3
	case "million":
		return 6
	case "billion":
		return 9
	}
	return 0
}

func wordValue(word string) (int64, bool) {
	for i, w := range []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
		"eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"} {
		if w == word {
			return int64(i), true
		}
	}
	for i, w := range []string{"thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"} {
		if w == word {
			return int64(10 * (i + 3)), true
		}
	}
	return 0, false
}
