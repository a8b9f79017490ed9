package llamacpp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/home"
)

// matrixEnv set to full makes TestMatrix try the whole product instead of a cover of it, and on every model that
// `make zoo` has built.
const matrixEnv = "EDGE_MATRIX"

func fullMatrix() bool { return os.Getenv(matrixEnv) == "full" }

// built are the models of EDGE_HOME/zoo, where `make zoo` has put them, but those that names has.
func built(t *testing.T, names map[string]bool) []string {
	t.Helper()
	dir, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	found := glob(t, filepath.Join(dir.Path(), "zoo"))
	t.Logf("%d models in EDGE_HOME/zoo", len(found))
	return slices.DeleteFunc(found, func(file string) bool { return names[modelName(file)] })
}

func glob(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func modelName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".gguf") }

// TestMatrix: every architecture restores bit for bit in every combination, or is refused by name.
func TestMatrix(t *testing.T) {
	base := params()
	base.BatchTokens, base.UBatchTokens = 64, 64
	rows := cover(sizes(zooPrefixes), true)
	if fullMatrix() {
		rows = product(sizes(zooPrefixes))
	}
	var table []tally
	names := map[string]bool{}
	for _, file := range glob(t, filepath.Join("..", "..", "testdata", "zoo")) {
		name := modelName(file)
		names[name] = true
		t.Run(name, func(t *testing.T) {
			want := 0
			for _, row := range rows {
				if refusedInZoo(name, at(row, zooPrefixes)) {
					want++
				}
			}
			r := tryFile(t, file, base, rows)
			if r.refused != want || r.exact != len(rows)-want {
				t.Errorf("%d combinations: %d exact, %d refused, want %d", len(rows), r.exact, r.refused, want)
			}
			table = append(table, r)
		})
	}
	if len(table) != 18 {
		t.Errorf("%d models in testdata/zoo, want 18", len(table))
	}
	for _, file := range without(t) {
		t.Run(modelName(file), func(t *testing.T) {
			names[modelName(file)] = true
			r := tryFile(t, file, base, rows)
			if r.refused != len(rows) {
				t.Errorf("%d of %d combinations were refused", r.refused, len(rows))
			}
			table = append(table, r)
		})
	}
	var unknown strings.Builder
	if fullMatrix() {
		for _, file := range built(t, names) {
			if why := unloaded(t, file); why != "" {
				fmt.Fprintf(&unknown, "not loaded by this engine: %s: %s\n", modelName(file), why)
				continue
			}
			t.Run(modelName(file), func(t *testing.T) { table = append(table, tryFile(t, file, base, rows)) })
		}
	}
	t.Logf("restored equals live, bit for bit\n%s%s", write(table), unknown.String())
}

// tryFile is tryAll for a model file; one that can't be opened is refused in every combination.
func tryFile(t *testing.T, file string, base inference.Params, rows [][]int) tally {
	t.Helper()
	m, err := engine(t).Open(t.Context(), file)
	if fault.Is(err, fault.CodeArchitectureUnsupported) {
		return tally{name: modelName(file), kind: "none", refused: len(rows), missing: []string{err.Error()}}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return tryAll(t, modelName(file), m, base, zooPrefixes, rows)
}

// unloaded says why the engine doesn't load a model, which a later version of it has written.
func unloaded(t *testing.T, file string) string {
	t.Helper()
	m, err := engine(t).Open(t.Context(), file)
	if fault.Is(err, fault.CodeEngineLoadFailed) {
		_, why, _ := strings.Cut(err.Error(), "error loading model: ")
		why, _, _ = strings.Cut(why, ";")
		return why
	}
	if err == nil {
		m.Close()
	}
	return ""
}
