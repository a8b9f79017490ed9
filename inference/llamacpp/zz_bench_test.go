package llamacpp_test

import (
	"fmt"
	"testing"

	"edge/inference"
)

func BenchmarkSuffix(b *testing.B) {
	engine, err := openOnce()
	if err != nil {
		b.Fatal(err)
	}
	path, _ := modelPath()
	model, err := engine.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer model.Close()
	for _, fa := range []bool{true, false} {
		p := inference.DefaultParams()
		p.ContextTokens = 1200
		p.FlashAttention = fa
		p.Threads = 1
		session, err := model.NewSession(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		tok := func(n, from int) []inference.Token {
			t := make([]inference.Token, n)
			for i := range t {
				t[i] = inference.Token((from+i)*37%model.Info().VocabSize + 1)
			}
			return t
		}
		session.Decode(b.Context(), inference.Batch{Tokens: tok(850, 0)})
		st, _ := session.SaveState(b.Context())
		for _, hidden := range []bool{false, true} {
			b.Run(fmt.Sprintf("fa=%v/hidden=%v", fa, hidden), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					session.Reset(b.Context())
					session.RestoreState(b.Context(), st)
					b.StartTimer()
					session.Decode(b.Context(), inference.Batch{Tokens: tok(16, 850), Hidden: hidden})
				}
			})
		}
		session.Close()
	}
}
