package learn_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"edge/imprint"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/learn"
)

// verified writes what was learned and takes it through the gate again.
func verified(t *testing.T, w learn.World, r learn.Request, out *learn.Result) *imprint.Verified {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.imprint")
	if _, err := imprint.Write(t.Context(), path, out.Content); err != nil {
		t.Fatal(err)
	}
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	messages, err := learn.Contract(r.Set, r.Sample.Profile, learn.Shown(r.Sample.Examples))
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := w.Renderer.Prefix(messages)
	if err != nil {
		t.Fatal(err)
	}
	v, err := u.Verify(t.Context(), w.Identity(r.Set, prefix, learn.LearnedVersion))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEvaluatingAnImprint comes to what the learning run itself said of the same holdout.
func TestEvaluatingAnImprint(t *testing.T) {
	engine := newEngine()
	w := world(t, engine)
	r := request(t, w, sample())
	r.Sample.Holdout = append(r.Sample.Holdout, example("Where is order D-9?", "order_status", `{"order_id":"other"}`))
	out := run(t, r)
	v := verified(t, w, r, out)
	steps := 0
	ask := learn.EvaluationRequest{World: w, Set: r.Set, Imprint: v, Holdout: r.Sample.Holdout, Baseline: true, Clock: tick(), Report: func(string, int, int) { steps++ }}
	e, err := learn.Evaluate(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	// A learning run also knows what its examples come to when they are left out.
	if diff := cmp.Diff(&out.Evaluation, e, cmpopts.IgnoreFields(learn.Evaluation{}, "TooAlike")); diff != "" {
		t.Errorf("the run (-) and the imprint (+) differ:\n%s", diff)
	}
	if steps != 1+2*len(ask.Holdout) || len(e.Failures) != 1 || e.Baseline == nil {
		t.Errorf("%d reports, %+v", steps, e)
	}
	ask.Baseline, ask.Report = false, nil
	if e, err = learn.Evaluate(t.Context(), ask); err != nil || e.Baseline != nil || e.Learned == nil {
		t.Errorf("got %+v, %v", e, err)
	}
	if n := engine.Stats().OpenSessions; n != 0 {
		t.Errorf("%d sessions are open", n)
	}
	for name, change := range map[string]func(*learn.EvaluationRequest){
		"no holdout": func(r *learn.EvaluationRequest) { r.Holdout = nil },
		"no tools":   func(r *learn.EvaluationRequest) { r.Set = nil },
	} {
		other := ask
		change(&other)
		if _, err := learn.Evaluate(t.Context(), other); !fault.Is(err, fault.CodeInvalidSampleFile) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAdviceNamesTheRequests: what was taken for what is said with the requests, those of the examples too.
func TestAdviceNamesTheRequests(t *testing.T) {
	s := sample()
	s.Examples = append(s.Examples, example("What is the fee for A-99?", "order_status", `{"order_id":"A-99"}`))
	e := run(t, request(t, world(t, fake.New(fake.Options{})), s)).Evaluation
	text := ""
	for _, p := range e.TooAlike {
		text += p.Suggestion + "\n"
	}
	if !strings.Contains(text, `"What is the fee for A-99?" would get calculate_fee if it weren't an example itself`) {
		t.Errorf("got %s", text)
	}
}
