package compare_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edge/inference"
	"edge/inference/compare"
	"edge/inference/fake"
	"edge/internal/fault"
)

// bench works on two files that the fake engine takes for two models; its clock moves on by two seconds at each look.
func bench(t *testing.T, options fake.Options) (b compare.Bench, e *fake.Engine, a, other string) {
	t.Helper()
	dir := t.TempDir()
	a, other = filepath.Join(dir, "a.gguf"), filepath.Join(dir, "b.gguf")
	for _, path := range []string{a, other} {
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(0, 0)
	e = fake.New(options)
	b = compare.Bench{Engine: e, Params: inference.DefaultParams(), Now: func() time.Time {
		now = now.Add(2 * time.Second)
		return now
	}}
	return b, e, a, other
}

func wantAllClosed(t *testing.T, e *fake.Engine) {
	t.Helper()
	if s := e.Stats(); s.OpenModels != 0 || s.OpenSessions != 0 {
		t.Errorf("left open: %+v", s)
	}
}

func TestSpeed(t *testing.T) {
	b, e, a, _ := bench(t, fake.Options{AddBOS: true})
	speed, err := b.Speed(t.Context(), a)
	if err != nil || speed.Prefill != compare.PrefillTokens/2 || speed.Decode != compare.DecodeTokens/2 {
		t.Errorf("got %+v, %v", speed, err)
	}
	if s := e.Stats(); s.DecodedTokens != 1+compare.PrefillTokens+compare.DecodeTokens || s.DecodeCalls != 2+compare.DecodeTokens {
		t.Errorf("got %+v", s)
	}
	wantAllClosed(t, e)
}

func TestDivergences(t *testing.T) {
	b, e, a, other := bench(t, fake.Options{})
	got, err := b.Divergences(t.Context(), a, []string{a, other})
	if err != nil || len(got) != 2 || got[0] != 0 || got[1] <= 0.01 {
		t.Errorf("got %v, %v: want 0 for the same file, and more for another", got, err)
	}
	if s := e.Stats(); s.DecodedTokens != 3*compare.Positions {
		t.Errorf("got %+v", s)
	}
	wantAllClosed(t, e)
}

func TestTheDivergenceOfTwoRows(t *testing.T) {
	// p = (1/2, 1/4, 1/4), q = (1/4, 1/4, 1/2): ½·ln 2 − ¼·ln 2.
	p := []float32{float32(math.Log(2)), 0, 0}
	q := []float32{5, 5, float32(5 + math.Log(2))}
	if got, want := compare.DivergenceOf(p, q), math.Ln2/4; math.Abs(got-want) > 1e-6 {
		t.Errorf("got %g, want %g", got, want)
	}
	if got := compare.DivergenceOf(p, p); got != 0 {
		t.Errorf("got %g from itself", got)
	}
}

func TestWhatFails(t *testing.T) {
	b, e, a, _ := bench(t, fake.Options{Faults: fake.Faults{DecodeCall: 5}})
	if _, err := b.Speed(t.Context(), a); !fault.Is(err, fault.CodeEngineDecodeFailed) {
		t.Errorf("a decode that fails: %v", err)
	}
	wantAllClosed(t, e)
	if _, err := b.Divergences(t.Context(), a, []string{a + "2"}); !fault.Is(err, fault.CodeModelNotFound) {
		t.Errorf("no such file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Divergences(ctx, a, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	short, e, a, _ := bench(t, fake.Options{ContextLength: 64})
	if _, err := short.Speed(t.Context(), a); !fault.Is(err, fault.CodeContextFull) {
		t.Errorf("too short a context: %v", err)
	}
	wantAllClosed(t, e)
}

func TestBetween(t *testing.T) {
	e := fake.New(fake.Options{})
	m, err := e.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	session := func(kv string, tokens int) inference.Session {
		p := inference.DefaultParams()
		p.KVTypeK, p.KVTypeV, p.ContextTokens = kv, kv, 200
		s, err := m.NewSession(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if err := s.Decode(t.Context(), inference.Batch{Tokens: make([]inference.Token, tokens)}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	same, err := compare.Between(t.Context(), m, session("f16", 9), session("f16", 9))
	if err != nil || same != 0 {
		t.Errorf("the same twice: %v, %v", same, err)
	}
	other, err := compare.Between(t.Context(), m, session("f16", 9), session("q4_0", 9))
	if err != nil || other <= 0 {
		t.Errorf("another type of cache: %v, %v", other, err)
	}
	if _, err := compare.Between(t.Context(), m, session("f16", 9), session("f16", 8)); err == nil {
		t.Error("sessions behind different tokens were compared")
	}
}
