package learn_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"edge/learn"
	"edge/runner"
	"edge/tools"
)

// certain reports whether the arguments of an example's call are all known without a model, and right.
func certain(t *testing.T, a *learn.Arguments, x learn.Example) bool {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(x.Call.Arguments, &want); err != nil {
		t.Fatal(err)
	}
	for _, g := range a.Ground(x.Call.ToolName, x.Prompt) {
		value, given := want[g.Parameter]
		if g.Include != given || g.Include && (g.Optional || len(g.Values) != 1 || string(g.Values[0]) != string(value)) {
			return false
		}
	}
	return true
}

// TestToolSets learns the arguments of the sets in testdata, without any model. The floors are what was measured
// when this was written: whoever changes how arguments are found sees here what it does to whole sets.
func TestToolSets(t *testing.T) {
	r, err := runner.New(runner.Config{Environ: os.Environ(), Rand: rand.Reader, Sandbox: runner.SandboxOff})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, c := range []struct {
		name                             string
		leftOut, ofExamples, held, fresh int
	}{
		{"calendar", 29, 33, 22, 12}, {"shop", 27, 32, 21, 12}, {"devops", 32, 37, 23, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join("..", "testdata", "learning", c.name)
			in, err := r.Inspect(t.Context(), filepath.Join(folder, "tools.py"))
			if err != nil {
				t.Fatal(err)
			}
			set, err := tools.Freeze(in, tools.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			read := func(name string) *learn.Sample {
				s, err := learn.ReadSample(filepath.Join(folder, name), set)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			sample := read("sample.json")
			count := func(list []learn.Example, learned func(i int) *learn.Arguments) (right, of int) {
				for i, x := range list {
					if x.Call == nil {
						continue
					}
					of++
					if certain(t, learned(i), x) {
						right++
					}
				}
				return right, of
			}
			all := learn.LearnArguments(set, sample.Examples)
			whole := func(int) *learn.Arguments { return all }
			right, of := count(sample.Examples, func(i int) *learn.Arguments {
				return learn.LearnArguments(set, slices.Delete(slices.Clone(sample.Examples), i, i+1))
			})
			if of != c.ofExamples || right < c.leftOut {
				t.Errorf("examples, each left out in turn: %d of %d, want %d", right, of, c.leftOut)
			}
			if right, of := count(sample.Holdout, whole); right < c.held {
				t.Errorf("holdout: %d of %d, want %d", right, of, c.held)
			}
			if right, of := count(read("fresh.json").Holdout, whole); right < c.fresh {
				t.Errorf("fresh.json: %d of %d, want %d", right, of, c.fresh)
			}
		})
	}
}
