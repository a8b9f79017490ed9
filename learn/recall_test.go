package learn_test

import (
	"testing"

	"edge/learn"
)

func TestRecall(t *testing.T) {
	l := &learn.Learned{Profile: learn.Profile{Facts: []string{"The cat is called Mia.", "The user lives in Porto.", "The shop's opening hours are nine to five.", "商店在波尔图。"}}}
	for request, want := range map[string]string{
		"What is my cat called?":           "The cat is called Mia.",
		"where do I live?":                 "The user lives in Porto.",
		"Where's the user living":          "The user lives in Porto.",
		"When is the shop open?":           "The shop's opening hours are nine to five.",
		"When does the bakery open today?": "",
		"opening hours of the shop":        "The shop's opening hours are nine to five.",
		"商店在哪里":                            "商店在波尔图。",
		"What is the fee for 250?":         "",
		"the":                              "",
		"":                                 "",
		"?!":                               "",
		"cat dog horse cow sheep goat hen": "", // one word of seven
	} {
		got, ok := l.Recall(request)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q (%t), want %q", request, got, ok, want)
		}
	}
	if _, ok := (&learn.Learned{}).Recall("anything"); ok {
		t.Error("recalled from nothing")
	}
}

func TestStates(t *testing.T) {
	const fact, request = "The cat is called Mia.", "What is my cat called?"
	for answer, want := range map[string]bool{
		"Mia": true, "Your cat is called MIA!": true, "It is Mia, I think.": true, "Your cat is called Tom.": false, "": false, "I don't know": false, "Miaow": false,
	} {
		if got := learn.States(answer, fact, request); got != want {
			t.Errorf("%q: got %t", answer, got)
		}
	}
}

func TestTold(t *testing.T) {
	l := &learn.Learned{Profile: learn.Profile{Facts: []string{"The cluster runs in Frankfurt.", "Deploys are frozen on Fridays."}}}
	for request, want := range map[string]bool{
		"Where does the cluster run?": true, "When are deploys frozen?": true, "frankfurt?": true,
		"Where does the cluster of billing run?": false, "cluster frozen": false, "what is it?": false, "": false, "restart billing": false,
		"billing cluster": false, "cluster billing": false,
	} {
		if got := l.Told(request); got != want {
			t.Errorf("%q: got %t", request, got)
		}
	}
}
