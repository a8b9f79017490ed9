package llamacpp_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"edge/inference"
	"edge/internal/home"
)

// TestMatrixRealModels: the same with models that have learned something, at the batch sizes that edge uses. Their
// tokens take long, so every value is tried but not every pair, and Gemma's window is left only with EDGE_MATRIX=full.
func TestMatrixRealModels(t *testing.T) {
	prefixes := []int{1, 65}
	if fullMatrix() {
		prefixes = append(prefixes, 600) // the window is 512
	}
	rows := cover(sizes(prefixes), false)
	try := func(name string, m inference.Model) tally {
		r := tryAll(t, name, m, params(), prefixes, rows)
		if r.exact != len(rows) {
			t.Errorf("%s: %d of %d combinations are exact", name, r.exact, len(rows))
		}
		return r
	}
	table := []tally{try("SmolLM2-135M (llama)", smol(t))}
	dir, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	gemma := filepath.Join(dir.Models(), "gemma3-270m.gguf")
	if _, err := os.Stat(gemma); errors.Is(err, fs.ErrNotExist) {
		t.Log("Gemma-3-270m isn't in EDGE_HOME/models: it wasn't tried")
	} else {
		table = append(table, try("Gemma-3-270m (gemma3)", openModel(t, gemma)))
	}
	t.Logf("restored equals live, bit for bit\n%s", write(table))
}
