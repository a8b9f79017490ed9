package llamacpp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"edge/inference"
	"edge/inference/llamacpp"
	"edge/internal/digest"
	"edge/internal/home"
)

const howToSetUp = "run `make setup`, then `make test`; or set EDGE_TEST_RUNTIME to a folder of engine libraries and EDGE_TEST_MODEL to SmolLM2-135M-Instruct.Q4_1.gguf"

// runtimeDir is the folder of the engine's libraries: EDGE_TEST_RUNTIME, or else the only one that setup made.
func runtimeDir() (string, error) {
	if dir := os.Getenv("EDGE_TEST_RUNTIME"); dir != "" {
		return dir, nil
	}
	dir, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir.Runtime(), "*", "*llama.*"))
	if err != nil {
		return "", err
	}
	folders := map[string]bool{}
	for _, path := range found {
		folders[filepath.Dir(path)] = true
	}
	if len(folders) != 1 {
		return "", fmt.Errorf("%d engines in %s, want one", len(folders), dir.Runtime())
	}
	return filepath.Dir(found[0]), nil
}

// modelPath is the default model's file: EDGE_TEST_MODEL, or else where setup puts it.
func modelPath() (string, error) {
	if path := os.Getenv("EDGE_TEST_MODEL"); path != "" {
		return path, nil
	}
	dir, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir.Models(), "smollm2-135m.gguf"), nil
}

// libraries digests every shared library in dir.
func libraries(dir string) ([]inference.Library, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []inference.Library
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".so") && !strings.Contains(e.Name(), ".dylib") && !strings.HasSuffix(e.Name(), ".dll") {
			continue
		}
		sum, err := digest.SHA256File(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, inference.Library{Name: e.Name(), SHA256: sum})
	}
	return out, nil
}

// openOnce opens the engine for the whole test process: the C library's tables are global.
var openOnce = sync.OnceValues(func() (*llamacpp.Engine, error) {
	dir, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	libs, err := libraries(dir)
	if err != nil {
		return nil, err
	}
	return llamacpp.Open(llamacpp.Config{Dir: dir, Version: "test", Libraries: libs})
})

// engine is the real engine. Where it is missing the test fails: a skipped test of the engine would look like a pass.
func engine(t *testing.T) *llamacpp.Engine {
	t.Helper()
	e, err := openOnce()
	if err != nil {
		t.Fatalf("no engine to test: %v; %s", err, howToSetUp)
	}
	return e
}

// openModel opens a model for the length of a test.
func openModel(t *testing.T, path string) inference.Model {
	t.Helper()
	m, err := engine(t).Open(t.Context(), path)
	if err != nil {
		t.Fatalf("no model to test: %v; %s", err, howToSetUp)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close model: %v", err)
		}
	})
	return m
}

// smol opens the default model.
func smol(t *testing.T) inference.Model {
	t.Helper()
	path, err := modelPath()
	if err != nil {
		t.Fatalf("no model to test: %v; %s", err, howToSetUp)
	}
	return openModel(t, path)
}

// zoo opens one of the tiny models of testdata/zoo.
func zoo(t *testing.T, name string) inference.Model {
	t.Helper()
	return openModel(t, filepath.Join("..", "..", "testdata", "zoo", name+".gguf"))
}

// params are what tests make sessions with: one thread, because more of them spin on a busy machine.
func params() inference.Params {
	p := inference.DefaultParams()
	p.Threads = 1
	return p
}
