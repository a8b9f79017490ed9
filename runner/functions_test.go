package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// inspected writes a file as it is and freezes it.
func (b *bench) inspected(text string) (*tools.ActiveSet, tools.Inspection) {
	b.t.Helper()
	path := filepath.Join(b.project, "tools.py")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	in, err := b.runner.Inspect(b.t.Context(), path)
	if err != nil {
		b.t.Fatal(err)
	}
	set, err := tools.Freeze(in, tools.Selection{})
	if err != nil {
		b.t.Fatalf("%v: %+v\nprinted: %s", err, fault.From(err).Problems, b.printed)
	}
	return set, in
}

const functionTool = `import sys
from edgestudio.agents import RunContextWrapper, function_tool

@function_tool
def f(ctx: RunContextWrapper, a: int) -> str:
    """Do f."""
    if a < 0:
        raise ValueError("secret")
    return f"{a} for {ctx.context} {sorted({n.split('.')[0] for n in sys.modules} & {'pydantic', 'griffe', 'email_validator'})}"

@function_tool(failure_error_function=None)
async def g(a: int) -> str:
    """Do g."""
    raise ValueError("secret")
`

func TestFunctionToolsInTheSandbox(t *testing.T) {
	b := newBench(t)
	set, _ := b.inspected(functionTool)
	for _, ahead := range []bool{false, true} {
		if ahead {
			b.runner.Prepare()
			b.runner.mu.Lock()
			a := b.runner.ahead
			b.runner.mu.Unlock()
			if <-a.started; a.err != nil || a.path != set.Path() {
				t.Fatalf("ahead: %q, %v", a.path, a.err)
			}
		}
		got, err := b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f", Arguments: []byte(`{"a":3}`)}, Context: json.RawMessage(`"Ann"`)})
		if err != nil || string(got.Canonical) != `{"output":"3 for Ann ['griffe', 'pydantic']"}` || got.Told != nil || !Confined(got.Sandbox) {
			t.Errorf("ahead %v: got %s, %v, %s\n%s", ahead, got.Canonical, err, got.Sandbox, b.printed)
		}
	}
	got, err := b.again(set, `{"a":-1}`)
	if err != nil || got.Told == nil || got.Told.Kind != "ValueError" || !strings.Contains(string(got.Canonical), "Please try again. Error: secret") {
		t.Errorf("told: got %s, %+v, %v", got.Canonical, got.Told, err)
	}
	_, err = b.runner.Call(t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "g", Arguments: []byte(`{"a":1}`)}})
	if code(err) != fault.CodeToolRaised || strings.Contains(err.Error(), "secret") {
		t.Errorf("raised: got %v", err)
	}
}

// TestWhatIsImportedAheadIsTheFilesOwn: a module of the tools file's folder comes before an installed one, warm as cold.
func TestWhatIsImportedAheadIsTheFilesOwn(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.project, "typing_extensions.py"), []byte("from typing import *\nOWN = 1\nraise ImportError('own')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, in := b.inspected("from edgestudio.tools import edge_tool\nimport edgestudio.agents\ntry:\n    import pydantic\nexcept ImportError as error:\n    found = str(error)\n\n" +
		"@edge_tool\ndef f() -> str:\n    'd'\n    return found\n")
	if len(in.Tools) != 1 {
		t.Fatalf("got %+v", in.Tools)
	}
	for range 2 {
		if got, err := b.again(set, "{}"); err != nil || string(got.Canonical) != `{"result":"own"}` || len(got.LoadedFiles) != 1 {
			t.Errorf("got %s with %v, %v", got.Canonical, got.LoadedFiles, err)
		}
		b.runner.warmFor(set.Path(), []string{"edgestudio.agents", "pydantic"})
		b.runner.Prepare()
		b.runner.mu.Lock()
		a := b.runner.ahead
		b.runner.mu.Unlock()
		<-a.started
		time.Sleep(500 * time.Millisecond) // so that the wait is used; the result is the same without
	}
}

// TestAnotherFileGetsAProcessOfItsOwn and not the one that waits with the first one's modules.
func TestAnotherFileGetsAProcessOfItsOwn(t *testing.T) {
	b := newBench(t)
	b.inspected(functionTool)
	b.runner.Prepare()
	other := filepath.Join(t.TempDir(), "other.py")
	if err := os.WriteFile(other, []byte("import sys\nfrom edgestudio.tools import edge_tool\n@edge_tool\ndef f() -> bool:\n    'd'\n    return 'pydantic' in sys.modules\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := b.runner.Inspect(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.Freeze(in, tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	b.runner.Prepare()
	if got, err := b.again(set, "{}"); err != nil || string(got.Canonical) != `{"result":false}` {
		t.Errorf("got %s, %v", got.Canonical, err)
	}
}

func TestDecide(t *testing.T) {
	b := newBench(t)
	_, in := b.inspected(`from edgestudio.agents import Agent, ToolsToFinalOutputResult, function_tool

@function_tool
def f(a: int) -> str:
    """Do f."""
    return "x"

async def end(context, results):
    if results[0].output == "raise":
        raise KeyError("secret")
    return ToolsToFinalOutputResult(is_final_output=results[0].output == "x", final_output=f"{results[0].tool.name} for {context.context}")

boss = Agent(name="boss", instructions=lambda context, agent: f"Help {context.context}.", tools=[f], tool_use_behavior=end)
`)
	if !strings.Contains(string(in.Agents), `"name":"boss"`) {
		t.Errorf("agents: %s", in.Agents)
	}
	ask := func(agent, output string) (Decision, error) {
		req := DecideRequest{Path: in.Path, SourceSHA256: in.FileSHA256, Agent: agent, Context: json.RawMessage(`"Ann"`)}
		if output != "" {
			req.Results = []Output{{Tool: "f", Output: output}}
		}
		return b.runner.Decide(t.Context(), req)
	}
	for output, want := range map[string]string{"x": "f for Ann", "": "Help Ann."} {
		if d, err := ask("boss", output); err != nil || !d.IsFinalOutput || d.FinalOutput == nil || *d.FinalOutput != want {
			t.Errorf("%q: got %+v, %v", output, d, err)
		}
	}
	if d, err := ask("boss", "y"); err != nil || d.IsFinalOutput {
		t.Errorf("got %+v, %v", d, err)
	}
	for agent, output := range map[string]string{"boss": "raise", "nobody": "x"} {
		_, err := ask(agent, output)
		if code(err) != fault.CodeToolRaised || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "tool_use_behavior raised") {
			t.Errorf("%s, %s: got %v", agent, output, err)
		}
	}
	if _, err := b.runner.Decide(t.Context(), DecideRequest{Path: in.Path, SourceSHA256: digest.SHA256Of(nil), Agent: "boss"}); code(err) != fault.CodeToolsFileChanged {
		t.Errorf("another file: got %v", err)
	}
}
