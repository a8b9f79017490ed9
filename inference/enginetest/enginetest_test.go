package enginetest

import (
	"testing"

	"edge/inference"
	"edge/inference/fake"
)

func subject(t *testing.T, a adapter, options fake.Options) Subject {
	t.Helper()
	m, err := fake.New(options).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	a.Model = m
	p := inference.DefaultParams()
	p.BatchTokens, p.UBatchTokens = 16, 8
	return Subject{Model: a, Params: p, Exact: true}
}

// TestSoundAdapter: nothing is wrong with the fake, whole or wrapped.
func TestSoundAdapter(t *testing.T) {
	Run(t, func(t *testing.T) Subject { return subject(t, adapter{}, fake.Options{}) })
	t.Run("wrapped", func(t *testing.T) {
		Run(t, func(t *testing.T) Subject { return subject(t, twist(func(*twisted) {}), fake.Options{}) })
	})
	t.Run("restores only", func(t *testing.T) {
		RunRestore(t, func(t *testing.T) Subject { return subject(t, adapter{}, fake.Options{}) })
	})
	t.Run("not exact", func(t *testing.T) {
		Run(t, func(t *testing.T) Subject {
			s := subject(t, twist(func(tw *twisted) { tw.logits = func() []float32 { return bent(tw.Session.Logits()) } }), fake.Options{})
			s.Exact = false
			return s
		})
	})
}

// wrong is an adapter that breaks a promise, and the check that is about it.
type wrong struct {
	name    string
	adapter adapter
	options fake.Options
	finds   string
}

// TestChecksFind: each way of being wrong is found by the check that is about it.
func TestChecksFind(t *testing.T) {
	for _, tt := range append(wrongSessions(), wrongText()...) {
		t.Run(tt.name, func(t *testing.T) {
			found := false
			for _, c := range append(restoreChecks(), otherChecks()...) {
				if c.name != tt.finds {
					continue
				}
				found = true
				if err := c.run(t.Context(), subject(t, tt.adapter, tt.options)); err == nil {
					t.Errorf("the check %q found nothing", c.name)
				} else {
					t.Logf("%s", err)
				}
			}
			if !found {
				t.Errorf("there is no check %q", tt.finds)
			}
		})
	}
}
