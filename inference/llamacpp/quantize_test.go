package llamacpp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"edge/internal/fault"
	"edge/models/gguf"
)

// Each layout is written from a quantised file and from a plain one, says what it is, and loads.
func TestRequantize(t *testing.T) {
	e := engine(t)
	dir := t.TempDir()
	from := filepath.Join("..", "..", "testdata", "zoo", "llama.gguf")
	before, err := gguf.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	want := openModel(t, from).Info()
	last := from
	for _, layout := range []struct{ name, fileType string }{{"f16", "F16"}, {"q8_0", "Q8_0"}, {"q4_0", "Q4_0"}} {
		to := filepath.Join(dir, layout.name+".gguf")
		if err := e.Requantize(t.Context(), last, to, layout.name, 1); err != nil {
			t.Fatalf("%s: %v", layout.name, err)
		}
		after, err := gguf.Read(to)
		if err != nil {
			t.Fatal(err)
		}
		if after.FileType() != layout.fileType || after.Parameters() != before.Parameters() || after.Architecture() != before.Architecture() ||
			after.TokenizerSHA256() != before.TokenizerSHA256() || after.TemplateSHA256() != before.TemplateSHA256() {
			t.Errorf("%s: it became %s with %d parameters", layout.name, after.FileType(), after.Parameters())
		}
		if got := openModel(t, to).Info(); got.VocabSize != want.VocabSize || got.Architecture != want.Architecture {
			t.Errorf("%s: it loads as %+v", layout.name, got)
		}
		last = to
	}
}

func TestWhatIsNotRequantized(t *testing.T) {
	e := engine(t)
	dir := t.TempDir()
	from := filepath.Join("..", "..", "testdata", "zoo", "llama.gguf")
	broken := filepath.Join(dir, "broken.gguf")
	if err := os.WriteFile(broken, []byte("GGUF and nothing behind it"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "to.gguf")
	for name, test := range map[string]struct {
		from, to, layout string
		threads          int
		want             fault.Code
	}{
		"another layout": {from, to, "q3_k", 1, fault.CodeInvalidArguments},
		"no threads":     {from, to, "q8_0", 0, fault.CodeInvalidArguments},
		"no file":        {filepath.Join(dir, "none.gguf"), to, "q8_0", 1, fault.CodeModelNotFound},
		"not a GGUF":     {broken, to, "q8_0", 1, fault.CodeEngineLoadFailed},
		"no folder":      {from, filepath.Join(dir, "none", "to.gguf"), "q8_0", 1, fault.CodeEngineLoadFailed},
	} {
		if err := e.Requantize(t.Context(), test.from, test.to, test.layout, test.threads); !fault.Is(err, test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Requantize(ended, from, to, "q8_0", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
