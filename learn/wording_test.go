package learn_test

import (
	"testing"

	"edge/learn"
)

func TestWording(t *testing.T) {
	w := learn.NewWording(shop(t).Tools()) // calculate_fee, order_status
	for request, best := range map[string]int{
		"Where are my orders?":        1,
		"What are the fees of 250?":   0,
		"pro please":                  0, // a value of an enum
		"computeAmount":               0, // a name of two words
		"what's the status's meaning": 1,
		"Sing a song":                 -1,
		"":                            -1,
	} {
		scores := w.Scores(request)
		switch {
		case best < 0 && (scores[0] != 0 || scores[1] != 0):
			t.Errorf("%q: got %v, want nothing", request, scores)
		case best >= 0 && (scores[best] != 1 || scores[1-best] >= 1):
			t.Errorf("%q: got %v", request, scores)
		}
	}
}
