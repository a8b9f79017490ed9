package learn

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Dates and times are written in many ways, and a tool wants one. Where every example gives YYYY-MM-DD, any date of the
// request that has a year is read and written so; where every example gives HH:MM, any time of day is.

const (
	dayForm   = "2006-01-02"
	clockForm = "15:04"
)

func isDay(value json.RawMessage) bool   { return isForm(value, dayForm) }
func isClock(value json.RawMessage) bool { return isForm(value, clockForm) }

func isForm(value json.RawMessage, form string) bool {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return false
	}
	at, err := time.Parse(form, text)
	return err == nil && at.Format(form) == text
}

// readDay reads 2026-03-09, 2026/3/9, 9.3.2026, 9 March 2026, the 9th of March 2026 and March 9, 2026. What can be two
// dates (3/9/2026), and what lacks a year, isn't read.
func readDay(_ string, words []word) (json.RawMessage, []string, bool) {
	if len(words) > 4 {
		return nil, nil, false
	}
	var parts []string
	for _, w := range words {
		parts = append(parts, strings.ToLower(w.text))
	}
	var year, month, date int
	var ok bool
	if len(parts) == 1 {
		year, month, date, ok = numericDay(parts[0])
	} else {
		year, month, date, ok = namedDay(parts)
	}
	at := time.Date(year, time.Month(month), date, 0, 0, 0, 0, time.UTC)
	if !ok || at.Year() != year || int(at.Month()) != month || at.Day() != date {
		return nil, nil, false
	}
	return json.RawMessage(`"` + at.Format(dayForm) + `"`), nil, true
}

func numericDay(text string) (year, month, date int, ok bool) {
	for _, separator := range []string{"-", "/", "."} {
		parts := strings.Split(text, separator)
		if len(parts) != 3 {
			continue
		}
		var n [3]int
		for i, part := range parts {
			if n[i], ok = digits(part); !ok {
				return 0, 0, 0, false
			}
		}
		switch {
		case len(parts[0]) == 4:
			return n[0], n[1], n[2], true
		case len(parts[2]) != 4:
			return 0, 0, 0, false
		case separator == "." || n[0] > 12: // day first
			return n[2], n[1], n[0], true
		case n[1] > 12: // month first
			return n[2], n[0], n[1], true
		}
	}
	return 0, 0, 0, false
}

// namedDay reads a month's name, a day and a year of four digits, in any order, with "of" between.
func namedDay(parts []string) (year, month, date int, ok bool) {
	for i, part := range parts {
		n, isNumber := digits(strings.TrimRight(part, "stndrh"))
		switch {
		case part == "of" && i > 0 && i < len(parts)-1:
		case monthOf(part) > 0 && month == 0:
			month = monthOf(part)
		case isNumber && len(part) == 4 && n > 31 && year == 0:
			year = n
		case isNumber && n >= 1 && n <= 31 && date == 0:
			date = n
		default:
			return 0, 0, 0, false
		}
	}
	return year, month, date, year > 0 && month > 0 && date > 0
}

func monthOf(text string) int {
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if text == name || text == name[:3] || m == time.September && text == "sept" {
			return int(m)
		}
	}
	return 0
}

// digits reads one to four ASCII digits.
func digits(text string) (int, bool) {
	if len(text) < 1 || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// readClock reads 15:04, 9:30, 3 pm, 3:15pm, 9 a.m., noon and midnight. A bare hour may be a number of anything.
func readClock(_ string, words []word) (json.RawMessage, []string, bool) {
	if len(words) > 2 {
		return nil, nil, false
	}
	text := strings.ToLower(words[0].text)
	if len(words) == 2 {
		if half := halfOf(strings.ToLower(words[1].text)); half == "" || halfOf(text) != "" || words[0].trail != "" {
			return nil, nil, false
		}
		text += strings.ToLower(words[1].text)
	}
	switch text {
	case "noon":
		text = "12pm"
	case "midnight":
		text = "12am"
	}
	half := halfOf(text)
	if half != "" {
		text = text[:strings.LastIndexByte(text, half[0])]
	}
	hour, minute, colon := strings.Cut(text, ":")
	h, okHour := digits(hour)
	m, okMinute := 0, true
	if colon {
		m, okMinute = digits(minute)
		okMinute = okMinute && len(minute) == 2
	}
	switch {
	case !okHour || !okMinute || len(hour) > 2 || m > 59 || half == "" && !colon:
		return nil, nil, false
	case half != "":
		if h < 1 || h > 12 {
			return nil, nil, false
		}
		if h %= 12; half == "pm" {
			h += 12
		}
	case h > 23:
		return nil, nil, false
	}
	return json.RawMessage(fmt.Sprintf(`"%02d:%02d"`, h, m)), nil, true
}

// halfOf is "am" or "pm" where a text ends with it or with "a.m" or "p.m".
func halfOf(text string) string {
	for _, half := range []string{"am", "pm"} {
		if strings.HasSuffix(text, half) || strings.HasSuffix(text, half[:1]+".m") || strings.HasSuffix(text, half[:1]+".m.") {
			return half
		}
	}
	return ""
}
