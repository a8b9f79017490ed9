package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHopeless(t *testing.T) {
	result := json.RawMessage(`{"fee":0.75}`)
	told := numbers("fee of 250 is 0.75")
	for text, want := range map[string]bool{
		"":                                      false,
		"The fee for 250 is 0.75":               false,
		"The fee for 250 is 0.7":                false, // it may still grow
		"The fee for 250 is 0.7 ":               true,
		"The fee is 3 euros":                    true,
		"Tool result of calculate_fee: ":        true,
		`I should have said: {"fee":0.75} `:     true,
		"The tool's result is 0.75 ":            false,
		"Yes. Yes. The fee is":                  false,
		"The fee is due now. It is paid. ":      false,
		"The fee is due.\nThe fee is due. ":     true,
		"I will look it up. I will look it ":    false,
		strings.Repeat("and so on ", 20):        true,
		"0.75 " + strings.Repeat("and on ", 30): false,
	} {
		if got := hopeless(text, "What is the fee?", result, told); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if raw(`{"fee":0.75}`, "Give me the fee as JSON") {
		t.Error("JSON was asked for")
	}
}
