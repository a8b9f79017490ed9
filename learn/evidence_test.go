package learn_test

import (
	"encoding/json"
	"math"
	"testing"

	"edge/inference/fake"
	"edge/learn"
)

// TestWeakEvidenceIsDoubted: what the head finds is only called where margin and arguments speak for it together.
func TestWeakEvidenceIsDoubted(t *testing.T) {
	w := world(t, fake.New(fake.Options{}))
	set := shop(t)
	taught := taught(t, w, shopExamples())
	plan := func(e *learn.Evidence, request string) learn.Plan {
		l := *taught
		l.Evidence = e
		r := learn.NewReplier(w, set, &l)
		s := read(t, w, request)
		return r.Plan(request, s.Hidden())
	}
	const good = "Status of order Z-88"
	for name, c := range map[string]struct {
		evidence *learn.Evidence
		request  string
		doubted  bool
	}{
		"no evidence is kept":               {nil, good, false},
		"enough":                            {&learn.Evidence{Margin: 1, Threshold: -5}, good, false},
		"not enough":                        {&learn.Evidence{Margin: 1, Threshold: 50}, good, true},
		"talk needs none":                   {&learn.Evidence{Margin: 1, Threshold: 50}, "Thanks, goodbye", false},
		"a value that can't be found":       {&learn.Evidence{Margin: 100, Arguments: map[string]float64{"calculate_fee": 1}, Threshold: -0.5}, "What is the fee?", true},
		"and one that can":                  {&learn.Evidence{Margin: 100, Arguments: map[string]float64{"calculate_fee": 1}, Threshold: -0.5}, "What is the fee for 90?", false},
		"a tool whose values aren't copied": {&learn.Evidence{Margin: 100, Threshold: 0.5}, "What is the fee?", false},
	} {
		p := plan(c.evidence, c.request)
		if p.Choice == nil || p.Doubted != c.doubted || p.AllowsCall() == (c.doubted || p.Choice.Class == learn.NoTool) {
			t.Errorf("%s: got %+v, allows a call: %t", name, p, p.AllowsCall())
		}
	}
}

// TestEvidenceIsMeasuredOnTheExamples, each left out in turn, and comes back from its encoding.
func TestEvidenceIsMeasuredOnTheExamples(t *testing.T) {
	out := run(t, request(t, world(t, newEngine()), &learn.Sample{Examples: append(shopExamples(),
		example("What is the fee for 33?", "calculate_fee", `{"amount":33}`), example("Status of order 777", "order_status", `{"order_id":"777"}`),
		example("Thanks, goodbye now", "", "Bye."))}))
	e := out.Learned.Evidence
	if e == nil || !(e.Margin > 0) || math.IsNaN(e.Threshold) || math.IsInf(e.Threshold, 0) {
		t.Fatalf("got %+v", e)
	}
	for tool, score := range e.Arguments {
		if !(score > 0) || math.IsInf(score, 0) {
			t.Errorf("%s: %g", tool, score)
		}
	}
	back, err := learn.DecodeLearned(encode(t, out.Learned))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(e)
	b, _ := json.Marshal(back.Evidence)
	if string(a) != string(b) {
		t.Errorf("got %s, want %s", b, a)
	}
}

// TestLeavingOneOut: without a holdout the examples judge, each by what was learned from the others.
func TestLeavingOneOut(t *testing.T) {
	s := &learn.Sample{Examples: append(shopExamples(), example("Thanks, goodbye now", "", "Bye."))}
	e := run(t, request(t, world(t, newEngine()), s)).Evaluation
	if e.Method != "leave_one_out" || e.Holdout != 0 || e.Baseline != nil || e.Learned == nil {
		t.Fatalf("got %+v", e)
	}
	if e.Learned.ToolChoice < 0.5 || e.Learned.ToolChoice > 1 {
		t.Errorf("got %+v", e.Learned)
	}
	for _, f := range e.Failures {
		if f.Index >= len(s.Examples) || f.Prompt != s.Examples[f.Index].Prompt {
			t.Errorf("got %+v", f)
		}
	}
	one := &learn.Sample{Examples: shopExamples()[:1]}
	if e := run(t, request(t, world(t, newEngine()), one)).Evaluation; e.Method != "leave_one_out" || e.Learned.ToolChoice != 1 {
		t.Errorf("without its only example a tool still has its description: %+v", e)
	}
	if e := run(t, request(t, world(t, newEngine()), &learn.Sample{})).Evaluation; e.Method != "none" || e.Learned != nil {
		t.Errorf("there is no example to leave out: %+v", e)
	}
}

// TestWhatTheProfileSaysIsNoCall: a request that a fact has every word of has none left for a value.
func TestWhatTheProfileSaysIsNoCall(t *testing.T) {
	w := world(t, fake.New(fake.Options{}))
	set := shop(t)
	l := *taught(t, w, shopExamples())
	l.Evidence = nil
	for request, c := range map[string]struct {
		fact  string
		calls bool
	}{
		"Where is order A?":   {"Order A is in the cellar.", false},
		"Where is order B-7?": {"Order A is in the cellar.", true},
	} {
		l.Profile.Facts = []string{c.fact}
		p := learn.NewReplier(w, set, &l).Plan(request, read(t, w, request).Hidden())
		if p.Choice == nil || p.Choice.Class != "order_status" || p.Doubted == c.calls || p.AllowsCall() != c.calls {
			t.Errorf("%s: got %+v", request, p)
		}
	}
}
