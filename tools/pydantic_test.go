package tools_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"edge/tools"
)

// pydanticCase is a function's schema as pydantic writes it, made by testdata/pydantic/corpus.py.
type pydanticCase struct {
	Name       string            `json:"name"`
	Parameters json.RawMessage   `json:"parameters"`
	Calls      []json.RawMessage `json:"calls"`
	Wider      string            `json:"wider"`
}

func (c pydanticCase) set(t testing.TB) *tools.ActiveSet {
	t.Helper()
	tool := tools.Tool{Name: c.Name, Description: "d", Parameters: c.Parameters, ExecutionLevel: tools.Read, Surface: tools.FromFunction}
	set, err := tools.Freeze(inspection(tool), tools.Selection{})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return set
}

func pydanticCases(t testing.TB) []pydanticCase {
	t.Helper()
	text, err := os.ReadFile("testdata/pydantic/corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []pydanticCase
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// corpus runs the corpus's own program.
func corpus(t *testing.T, command, input string) string {
	t.Helper()
	run := exec.Command("python3", "testdata/pydantic/corpus.py", command)
	run.Env = append(os.Environ(), "PYTHONPATH=../runner/python", "PYTHONDONTWRITEBYTECODE=1")
	run.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	run.Stderr = &complaint
	out, err := run.Output()
	if err != nil {
		t.Fatalf("corpus.py %s: %v\n%s", command, err, complaint.String())
	}
	return string(out)
}

// TestPydanticCallsAreAdmitted: what a function's author would call right validates, and the grammar lets a model write it.
func TestPydanticCallsAreAdmitted(t *testing.T) {
	for _, c := range pydanticCases(t) {
		set := c.set(t)
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true})
		for _, arguments := range c.Calls {
			call, err := tools.NewCall(c.Name, arguments)
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			text, err := set.CallText(call)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
			} else if !g.match(text) {
				t.Errorf("%s isn't admitted", text)
			}
		}
	}
}

// TestPydanticTakesWhatGrammarsWrite: every text that a grammar generates is a call that edge and then pydantic take; but
// where the corpus says that a grammar is wider, one of the two refuses some of them.
func TestPydanticTakesWhatGrammarsWrite(t *testing.T) {
	const each = 60
	type written struct {
		of   pydanticCase
		call tools.Call
		err  error
	}
	var all []written
	var input strings.Builder
	for _, c := range pydanticCases(t) {
		set := c.set(t)
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true})
		sentences := rapid.Custom(func(t *rapid.T) string { return g.sentence(t) })
		for seed := range each {
			text := sentences.Example(seed)
			reply, err := tools.ParseReply(text)
			if err != nil {
				if !tolerated(err) {
					t.Errorf("%s: %v", text, err)
				}
				continue
			}
			w := written{of: c, call: *reply.Call, err: set.Validate(*reply.Call)}
			all = append(all, w)
			line, err := json.Marshal(map[string]any{"name": c.Name, "arguments": reply.Call.Arguments})
			if err != nil {
				t.Fatal(err)
			}
			input.Write(append(line, '\n'))
		}
	}
	verdicts := strings.Split(strings.TrimSuffix(corpus(t, "check", input.String()), "\n"), "\n")
	if len(verdicts) != len(all) {
		t.Fatalf("got %d verdicts on %d calls", len(verdicts), len(all))
	}
	taken, refused := map[string]int{}, map[string]int{}
	for i, w := range all {
		var complaint string
		if err := json.Unmarshal([]byte(verdicts[i]), &complaint); err != nil {
			t.Fatal(err)
		}
		switch {
		case w.err == nil && complaint == "":
			taken[w.of.Name]++
		case w.err != nil && tolerated(w.err):
		case w.of.Wider != "":
			refused[w.of.Name]++
		case w.err != nil:
			t.Errorf("%s %s: %v", w.of.Name, w.call.Arguments, w.err)
		default:
			t.Errorf("%s %s: %s", w.of.Name, w.call.Arguments, complaint)
		}
	}
	for _, c := range pydanticCases(t) {
		if taken[c.Name] == 0 || c.Wider != "" && refused[c.Name] == 0 {
			t.Errorf("%s: %d taken, %d refused (wider: %q)", c.Name, taken[c.Name], refused[c.Name], c.Wider)
		}
	}
}

// tolerated reports whether an error is of the kind that any grammar leaves to reading: large integers, a name of a dict
// that comes twice, an item of a set that comes twice, too deep a value.
func tolerated(err error) bool {
	return slices.ContainsFunc([]string{"2^53", "given twice", "duplicate key", "equal", "nested deeper", "too deep"}, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// TestPydanticCorpusIsCurrent: the file is what its program writes today.
func TestPydanticCorpusIsCurrent(t *testing.T) {
	before, err := os.ReadFile("testdata/pydantic/corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := corpus(t, "print", ""); got != string(before) {
		t.Error("testdata/pydantic/corpus.json isn't what corpus.py writes: run `python3 corpus.py print >corpus.json`")
	}
}
