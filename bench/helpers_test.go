package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/learn"
	"edge/tools"
)

// TestMain makes this program the child that TestRunner starts.
func TestMain(m *testing.M) {
	switch said := os.Getenv("BENCH_TEST_CHILD"); said {
	case "":
	case "spin":
		Spin(os.Stdin)
		os.Exit(0)
	default:
		fmt.Println(said)
		os.Exit(len(os.Args) - 2)
	}
	os.Exit(m.Run())
}

// ticking is a clock that moves by a millisecond each time it is read.
func ticking() func() time.Time {
	at := time.Unix(1_800_000_000, 0)
	return func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

// config is a fake engine's, whose edge restores what the imprint says.
func config(t *testing.T, prefixes ...int) Config {
	t.Helper()
	engine := fake.New(fake.Options{ContextLength: 16384})
	m, err := engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err) // a session or a grammar was left open
		}
	})
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	p := inference.DefaultParams()
	w := learn.World{Engine: engine.Info(), Model: m, Params: p, Renderer: r, File: learn.ModelFile{
		Name: "fake", Path: "model.gguf", SHA256: digest.SHA256Of([]byte("model")), TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte(m.Info().ChatTemplate)),
	}}
	return Config{World: w, Freeze: freeze, Edge: restoring, Serve: serving(new(int)), Busy: serving(new(int)), Dir: t.TempDir(), Clock: ticking(), Prefixes: prefixes, Threads: []int{1, 2}, Runs: 3}
}

// restoring is an edge that restores as many tokens as the imprint has.
func restoring(_ context.Context, args ...string) (Child, error) {
	c := Child{WallMS: 10, PeakMemory: 1 << 20, Served: true}
	if args[0] == "version" {
		return c, nil
	}
	u, err := imprint.Open(args[slices.Index(args, "--with-imprint")+1])
	if err != nil {
		return c, err
	}
	defer u.Close()
	restored := u.Header().Tokens
	c.Chat.Usage.CachedTokens = &restored
	c.Chat.Timings.TTFTMS, c.Chat.Timings.CallMS, c.Chat.Timings.TotalMS = 50, 60, 70
	return c, nil
}

// freeze describes the corpus's tools as a runner would, as far as the examples' arguments say what they take.
func freeze(_ context.Context, path string) (*tools.ActiveSet, error) {
	var count int
	if _, err := fmt.Sscanf(filepath.Base(path), "tools-%d.py", &count); err != nil {
		return nil, err
	}
	in := tools.Inspection{Path: path, GeneratorVersion: "1", FileSHA256: digest.SHA256Of([]byte(path))}
	for _, t := range corpus()[:count] {
		properties := map[string]any{}
		for _, e := range append(t.examples[:], t.asked) {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(e.arguments), &arguments); err != nil {
				return nil, err
			}
			for name, v := range arguments {
				properties[name] = map[string]any{"type": map[bool]string{true: "integer", false: "string"}[fmt.Sprintf("%T", v) == "float64"]}
			}
		}
		raw, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "required": []string{}, "properties": properties})
		if err != nil {
			return nil, err
		}
		in.Tools = append(in.Tools, tools.Tool{Name: t.name, Description: t.description, Parameters: raw, ExecutionLevel: tools.Read})
	}
	return tools.Freeze(in, tools.Selection{})
}

// serving counts the processes that run.
func serving(running *int) func(context.Context) (func() error, error) {
	return func(context.Context) (func() error, error) {
		*running++
		return func() error { *running--; return nil }, nil
	}
}
