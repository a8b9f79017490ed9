package llamacpp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"edge/imprint"
	"edge/inference"
	"edge/internal/digest"
	"edge/learn"
	"edge/tools"
)

// TestWhatMayChangeFreely: what isn't in an imprint's identity may differ between baking and restoring. Each such thing
// passes the gate, and every score of what follows has the bits of a live prefill in the world that baked.
func TestWhatMayChangeFreely(t *testing.T) {
	smolPath, err := modelPath()
	if err != nil {
		t.Fatalf("no model to test: %v; %s", err, howToSetUp)
	}
	for name, path := range map[string]string{
		"smollm2": smolPath, "gemma3": zooPath("gemma3"), "qwen35": zooPath("qwen35"),
	} {
		t.Run(name, func(t *testing.T) {
			baker := baked(t, path)
			for _, change := range freeChanges() {
				t.Run(change.name, func(t *testing.T) {
					if got := baker.restored(t, change); !slices.EqualFunc(got, baker.scores, slices.Equal) {
						t.Error("the scores differ from those of a live prefill")
					}
				})
			}
		})
	}
}

// freeChange is a world that differs from the baking one.
type freeChange struct {
	name      string
	params    func(*inference.Params)
	tool      func(*tools.Tool)
	copyModel bool
}

func freeChanges() []freeChange {
	return []freeChange{
		{name: "nothing"},
		{name: "2 threads", params: func(p *inference.Params) { p.Threads = 2 }},
		{name: "a larger context", params: func(p *inference.Params) { p.ContextTokens = 512 }},
		{name: "the model's path and name", copyModel: true},
		{name: "a tool's tags", tool: func(t *tools.Tool) { t.IntentTags = []string{"other", "tags"} }},
		{name: "a tool's place in its file, as another body moves it", tool: func(t *tools.Tool) { t.Line += 40 }},
	}
}

// bakedWorld is an imprint, and the scores that a live prefill has after its prefix.
type bakedWorld struct {
	path   string // the model's
	file   string // the imprint's
	scores [][]float32
}

const (
	freePrefix = 70 // more than the window of the tiny models, and than one batch of them
	freeSuffix = 9
	freeGreedy = 4
)

func freeTokens(m inference.Model, from, n int) []inference.Token {
	tokens := make([]inference.Token, n)
	for i := range tokens {
		tokens[i] = inference.Token(((from+i)*37 + 11) % m.Info().VocabSize)
	}
	return tokens
}

// freeWorld is the world of the change with its tools.
func freeWorld(t *testing.T, m inference.Model, path string, change freeChange) (learn.World, *tools.ActiveSet) {
	t.Helper()
	sum, err := digest.SHA256File(path)
	if err != nil {
		t.Fatal(err)
	}
	w := learn.World{Engine: engine(t).Info(), Model: m, Params: params()}
	w.File = learn.ModelFile{
		Name: filepath.Base(path), Path: path, SHA256: sum,
		TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte("template")),
	}
	w.Params.BatchTokens, w.Params.UBatchTokens, w.Params.ContextTokens = 64, 64, freePrefix+freeSuffix+freeGreedy+1
	if change.params != nil {
		change.params(&w.Params)
	}
	tool := tools.Tool{
		Name: "ping", Description: "Ping.", ExecutionLevel: tools.Read, IntentTags: []string{"net"}, Line: 4,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`),
	}
	if change.tool != nil {
		change.tool(&tool)
	}
	set, err := tools.Freeze(tools.Inspection{GeneratorVersion: "1", Tools: []tools.Tool{tool}}, tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return w, set
}

func freeSession(t *testing.T, w learn.World) inference.Session {
	t.Helper()
	s, err := w.Model.NewSession(t.Context(), w.Params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func baked(t *testing.T, path string) bakedWorld {
	t.Helper()
	m := openModel(t, path)
	w, set := freeWorld(t, m, path, freeChange{})
	prefix := freeTokens(m, 0, freePrefix)
	s := freeSession(t, w)
	if err := s.Decode(t.Context(), inference.Batch{Tokens: prefix}); err != nil {
		t.Fatal(err)
	}
	state, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := bakedWorld{path: path, file: filepath.Join(t.TempDir(), "x.imprint"), scores: following(t, m, s)}
	c := imprint.Content{Identity: w.Identity(set, prefix, ""), BakedOn: w.Platform(), State: state}
	for _, token := range prefix {
		c.Tokens = append(c.Tokens, uint32(token))
	}
	if _, err := imprint.Write(t.Context(), b.file, c); err != nil {
		t.Fatal(err)
	}
	return b
}

// following gives the scores after the suffix, and after each of some tokens more that follow from them.
func following(t *testing.T, m inference.Model, s inference.Session) (scores [][]float32) {
	t.Helper()
	next := freeTokens(m, freePrefix, freeSuffix)
	for range freeGreedy {
		if err := s.Decode(t.Context(), inference.Batch{Tokens: next}); err != nil {
			t.Fatal(err)
		}
		last := slices.Clone(s.Logits())
		scores = append(scores, last)
		next = []inference.Token{inference.Token(slices.Index(last, slices.Max(last)))}
	}
	return scores
}

// restored goes through the gate in the changed world, and gives what following gives there.
func (b bakedWorld) restored(t *testing.T, change freeChange) [][]float32 {
	t.Helper()
	path := b.path
	if change.copyModel {
		path = filepath.Join(t.TempDir(), "another name.gguf")
		raw, err := os.ReadFile(b.path)
		if err == nil {
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m := openModel(t, path)
	w, set := freeWorld(t, m, path, change)
	u, err := imprint.Open(b.file)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	v, err := u.Verify(t.Context(), w.Identity(set, freeTokens(m, 0, freePrefix), ""))
	if err != nil {
		t.Fatal(err)
	}
	s := freeSession(t, w)
	if _, err := v.Restore(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	scores := following(t, m, s)
	if s.Decoded() != freeSuffix+freeGreedy-1 {
		t.Errorf("%d tokens were decoded, want the %d that follow", s.Decoded(), freeSuffix+freeGreedy-1)
	}
	return scores
}

func zooPath(name string) string { return filepath.Join("..", "..", "testdata", "zoo", name+".gguf") }
