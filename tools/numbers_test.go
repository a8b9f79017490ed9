package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/tools"
)

// numbersOf gives the numbers that a grounded grammar admits for a request, in its order; "free" is any number.
func numbersOf(t *testing.T, request, jsonType string) string {
	t.Helper()
	set := freeze(t, tool("f", `"properties":{"n":{"type":"`+jsonType+`"}},"required":["n"]`))
	text, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Ground: &tools.Grounding{Request: request, Default: tools.ParamPolicy{Source: tools.FromRequest}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text, "\n") {
		name, body, _ := strings.Cut(line, " ::= ")
		if !strings.Contains(text, `"{" `) || !strings.Contains(text, `"\"n\":" `+name+"\n") {
			continue
		}
		if strings.Contains(body, "[0-9]") {
			return "free"
		}
		return strings.ReplaceAll(strings.ReplaceAll(body, `"`, ""), " | ", " ")
	}
	t.Fatalf("no rule for n in\n%s", text)
	return ""
}

func TestGroundedNumbers(t *testing.T) {
	for request, want := range map[string]string{
		"What is the fee for 250 dollars?":     "250",
		"Add 40 and 2":                         "40 2",
		"add 5 and 5":                          "5",
		"fee on 1,200, basic tier":             "1200",
		"fee on 1,200.50":                      "1200.5",
		"fee on 1.200,50 EUR":                  "1200.5",
		"fee on 1'200'000":                     "1200000",
		"1 200 000":                            "1 200 0",
		"1\u00a0200\u00a0000 or 1\u202f000":    "1200000 1000",
		"1.200.000 people":                     "1200000",
		"Service fee of 75.50":                 "75.5",
		"7 + 8?":                               "7 8",
		"7+8":                                  "7 8",
		"5-3":                                  "5 3",
		"it is -5 outside":                     "-5",
		"(−5)":                                 "-5",
		"minus 5, negative 7":                  "-5 -7",
		"1,5":                                  "1.5 1 5",
		"sum 1, 2,3":                           "1 2.3 2 3",
		"list 1,2,3":                           "1 2 3",
		"0.3 %":                                "0.3",
		".5":                                   "5",
		"007":                                  "7",
		"0":                                    "0",
		"$250k budget":                         "250000 250",
		"2.5 million and 3 thousand":           "2500000 2.5 3000 3",
		"5 km":                                 "5",
		"order A-17":                           "17",
		"from 2020-01-05 to 2020-02-01":        "2020 1 5 2",
		"at 5:30":                              "5 30",
		"version 1.2.3":                        "1 2 3",
		"1e3 items":                            "1000",
		"3rd of May":                           "3",
		"twenty":                               "20",
		"Add twenty-one and three":             "21 3",
		"two hundred and fifty thousand":       "250000",
		"one hundred and two hundred":          "102 100",
		"a hundred, a dozen, two dozen":        "100 12 24",
		"five six":                             "5 6",
		"twenty and five":                      "20 5",
		"minus forty":                          "-40",
		"which one costs 250?":                 "250",
		"just one please":                      "1",
		"Seventeen":                            "17",
		"２５０元":                                 "250",
		"请把３和４，５００相加":                          "3 4500",
		"no number here":                       "free",
		"bone onetime tenth":                   "free",
		"":                                     "free",
		"9007199254740993":                     "free",
		"99999999999999999999 or 4":            "4",
		strings.Repeat("million ", 40) + "end": "1000000",
		strings.Repeat("9", 400):               "free",
	} {
		if diff := cmp.Diff(want, numbersOf(t, request, "number")); diff != "" {
			t.Errorf("%q: %s", request, diff)
		}
	}
	for request, want := range map[string]string{"75.5 or 3": "3", "75.5": "free", "1,200.0": "1200"} {
		if diff := cmp.Diff(want, numbersOf(t, request, "integer")); diff != "" {
			t.Errorf("%q: %s", request, diff)
		}
	}
}
