package llamacpp_test

import (
	"encoding/json"
	"os"
	"testing"

	"edge/inference"
	"edge/inference/fake"
	"edge/tools"
)

// TestGrammarsOfPydanticSchemas: the engine takes the grammar of every schema of the corpus, and admits the corpus's
// calls, as the fake does.
func TestGrammarsOfPydanticSchemas(t *testing.T) {
	text, err := os.ReadFile("../../tools/testdata/pydantic/corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Name       string
		Parameters json.RawMessage
		Calls      []json.RawMessage
	}
	if err := json.Unmarshal(text, &corpus); err != nil {
		t.Fatal(err)
	}
	double, err := fake.New(fake.Options{}).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer double.Close()
	models := map[string]inference.Model{"engine": smol(t), "fake": double}
	for _, c := range corpus {
		tool := tools.Tool{Name: c.Name, Description: "d", Parameters: c.Parameters, ExecutionLevel: tools.Read, Surface: tools.FromFunction}
		set, err := tools.Freeze(tools.Inspection{Path: "corpus", Tools: []tools.Tool{tool}}, tools.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		gbnf, err := set.Grammar(tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, arguments := range c.Calls {
			call, err := tools.NewCall(c.Name, arguments)
			if err != nil {
				t.Fatal(err)
			}
			text, err := set.CallText(call)
			if err != nil {
				t.Fatal(err)
			}
			for name, m := range models {
				if got := judge(t, m, gbnf, text); !got.allowed || !got.mayEnd {
					t.Errorf("%s: %s: %+v", name, text, got)
				}
				if got := judge(t, m, gbnf, text+"}"); got.allowed {
					t.Errorf("%s: %s} is allowed", name, text)
				}
			}
		}
	}
}
