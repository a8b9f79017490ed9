package llamacpp_test

import (
	"testing"

	"edge/inference"
	"edge/internal/sealed"
)

// BenchmarkRestore compares a state that is restored whole with the same one in three layers, on the default model: what
// sharing layers costs at restore.
func BenchmarkRestore(b *testing.B) {
	engine, err := openOnce()
	if err != nil {
		b.Fatal(err)
	}
	path, err := modelPath()
	if err != nil {
		b.Fatal(err)
	}
	model, err := engine.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer model.Close()
	p := inference.DefaultParams()
	p.ContextTokens = 1200
	session, err := model.NewSession(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	var layers sealed.State
	for _, n := range []int{400, 50, 550} {
		from := session.Position()
		tokens := make([]inference.Token, n)
		for i := range tokens {
			tokens[i] = inference.Token((from+i)*37%model.Info().VocabSize + 1)
		}
		if err := session.Decode(b.Context(), inference.Batch{Tokens: tokens}); err != nil {
			b.Fatal(err)
		}
		layer, err := session.SaveLayer(b.Context(), from)
		if err != nil {
			b.Fatal(err)
		}
		layers = layers.Then(layer)
	}
	whole, err := session.SaveState(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		state sealed.State
	}{{"whole", whole}, {"layers", layers}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(c.state.Size())
			for b.Loop() {
				b.StopTimer()
				if err := session.Reset(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := session.RestoreState(b.Context(), c.state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
