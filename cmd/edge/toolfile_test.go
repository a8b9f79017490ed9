package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
)

// ran is what one command gave.
type ran struct {
	status         int
	stdout, stderr string
}

// place is a folder to work in with a home of its own; no engine is needed there.
type place struct {
	t    *testing.T
	dir  string
	home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	return place{t, dir, filepath.Join(dir, "home")}
}

func (p place) write(name, content string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p place) command(args ...string) *exec.Cmd {
	cmd := exec.Command("edge", args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "EDGE_HOME="+p.home)
	return cmd
}

func (p place) edge(args ...string) ran {
	p.t.Helper()
	cmd := p.command(args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), problems.String()}
}

// called is a part of edge.tool_call/v1, of edge.error/v1, and of the receipt that either names.
type called struct {
	ToolCall struct {
		Result      json.RawMessage `json:"result"`
		LoadedFiles []loadedFile    `json:"loaded_files"`
	} `json:"tool_call"`
	PendingAction struct {
		Path  string `json:"path"`
		Token string `json:"confirmation_token"`
	} `json:"pending_action"`
	Error struct {
		Code fault.Code `json:"code"`
	} `json:"error"`
	Errors      []fault.Problem `json:"errors"`
	ReceiptPath string          `json:"receipt_path"`
	Receipt     struct {
		Body struct {
			ErrorCode fault.Code `json:"error_code"`
			ToolCalls []struct {
				LoadedFiles []loadedFile `json:"loaded_files"`
			} `json:"tool_calls"`
		} `json:"body"`
	} `json:"-"`
}

type loadedFile struct {
	Path   string        `json:"path"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// object reads the JSON on standard output, and the receipt.
func (p place) object(r ran) called {
	p.t.Helper()
	var c called
	if err := json.Unmarshal([]byte(r.stdout), &c); err != nil {
		p.t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
	}
	if c.ReceiptPath != "" {
		raw, err := os.ReadFile(c.ReceiptPath)
		if err == nil {
			err = json.Unmarshal(raw, &c.Receipt)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return c
}

const fileHead = "import os\nfrom edgestudio.tools import edge_tool\n\n"

// What ran is what was frozen, or nothing runs. Each file edits itself while it is looked at, which is the worst time.
func TestToolsFileChangesUnderEdge(t *testing.T) {
	const function = "\n@edge_tool\ndef f() -> int:\n    'd'\n    return %d\n"
	one := strings.Replace(function, "%d", "1", 1)
	two := fileHead + strings.Replace(function, "%d", "2", 1)
	// imported counts how often the file was imported: the first time to freeze it, the second time to run it.
	const imported = "count = os.path.join(os.path.dirname(__file__), 'count')\nopen(count, 'a').write('x')\nimported = os.path.getsize(count)\n"
	for _, c := range []struct {
		name, source string
		link         bool
		want         fault.Code
	}{
		{"edited after it was frozen", "open(__file__, 'a').write('# edited\\n')\n", false, fault.CodeToolsFileChanged},
		{"replaced after it was frozen", "os.replace(os.path.join(os.path.dirname(__file__), 'two.py'), __file__)\n", false, fault.CodeToolsFileChanged},
		{"its link leads elsewhere after it was frozen", "os.unlink(__file__)\nos.symlink('two.py', __file__)\n", true, fault.CodeToolsFileChanged},
		{"removed after it was frozen", "os.unlink(__file__)\n", false, fault.CodeToolsFileNotFound},
		{"a comment is put back", "source = open(__file__).read()\nopen(__file__, 'w').write(source + '#')\nopen(__file__, 'w').write(source)\n", false, ""},
		// What runs are the bytes that were read once, whatever the path leads to by then.
		{"replaced between its digest and its import", imported + "if imported == 2: os.replace(os.path.join(os.path.dirname(__file__), 'two.py'), __file__)\n", false, ""},
		{"its link leads elsewhere between digest and import", imported + "if imported == 2: os.unlink(__file__); os.symlink('two.py', __file__)\n", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("two.py", two)
			path := p.write("tools.py", fileHead+c.source+one)
			if c.link {
				if err := errors.Join(os.Rename(path, filepath.Join(p.dir, "one.py")), os.Symlink("one.py", path)); err != nil {
					t.Fatal(err)
				}
			}
			r := p.edge("tools", "call", "tools.py", "f", "--sandbox", "off", "--json")
			got := p.object(r)
			if got.Error.Code != c.want || got.Receipt.Body.ErrorCode != c.want || r.status != exitOf(c.want) {
				t.Errorf("got %q, %q in the receipt, and status %d; want %q", got.Error.Code, got.Receipt.Body.ErrorCode, r.status, c.want)
			}
			if c.want == "" && string(got.ToolCall.Result) != `{"result":1}` {
				t.Errorf("what ran gave %s", got.ToolCall.Result)
			}
		})
	}
}

func exitOf(code fault.Code) int {
	row, ok := fault.Lookup(code)
	if !ok {
		return 0
	}
	return row.Class.Exit()
}

// The files of the tool's own folder that a call loaded are named with their digests, also those loaded late, and also
// where the call failed.
func TestSiblingsAreNamed(t *testing.T) {
	p := newPlace(t)
	rates, late := "RATE = 0.25\n", "MORE = 1\n"
	p.write("rates.py", rates)
	p.write("unused.py", "")
	if err := os.Mkdir(filepath.Join(p.dir, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(filepath.Join("deep", "__init__.py"), "")
	p.write(filepath.Join("deep", "late.py"), late)
	p.write("tools.py", fileHead+"import rates\n@edge_tool\ndef f(fail: bool) -> float:\n    'd'\n    from deep.late import MORE\n    if fail: raise ValueError\n    return rates.RATE + MORE\n")
	want := []loadedFile{
		{"deep/__init__.py", digest.SHA256Of(nil)}, {"deep/late.py", digest.SHA256Of([]byte(late))}, {"rates.py", digest.SHA256Of([]byte(rates))},
	}
	for args, status := range map[string]int{`{"fail":false}`: 0, `{"fail":true}`: fault.Tool.Exit()} {
		r := p.edge("tools", "call", "tools.py", "f", "--args", args, "--json")
		got := p.object(r)
		if r.status != status || len(got.Receipt.Body.ToolCalls) != 1 {
			t.Fatalf("%s: got status %d and %+v", args, r.status, got.Receipt)
		}
		if diff := cmp.Diff(want, got.Receipt.Body.ToolCalls[0].LoadedFiles); diff != "" {
			t.Errorf("%s: in the receipt (-want +got):\n%s", args, diff)
		}
		if status == 0 {
			if diff := cmp.Diff(want, got.ToolCall.LoadedFiles); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

// A file is told everything that is wrong with it, each with its place.
func TestValidateTellsEverything(t *testing.T) {
	p := newPlace(t)
	p.write("bad.py", fileHead+`@edge_tool
def first(amount, kind: dict) -> str:
    "d"

@edge_tool(name="no spaces", permissions=["network"])
def second(many: list = 3) -> str:
    "d"
`)
	r := p.edge("tools", "validate", "bad.py", "--json")
	got := p.object(r)
	file := filepath.Join(p.dir, "bad.py")
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	var places []fault.Problem
	for _, e := range got.Errors {
		if e.Message == "" {
			t.Errorf("%+v has no message", e)
		}
		e.Message = ""
		places = append(places, e)
	}
	want := []fault.Problem{
		{Code: fault.CodeMissingParameterTypeHint, File: file, Tool: "first", Parameter: "amount", Line: 5},
		{Code: fault.CodeUnsupportedTypeHint, File: file, Tool: "first", Parameter: "kind", Line: 5},
		{Code: fault.CodeInvalidToolName, File: file, Tool: "no spaces", Line: 9},
		{Code: fault.CodeUnsupportedPermission, File: file, Tool: "no spaces", Line: 9},
		{Code: fault.CodeUnsupportedTypeHint, File: file, Tool: "no spaces", Parameter: "many", Line: 9},
	}
	if diff := cmp.Diff(want, places); diff != "" || r.status != fault.Usage.Exit() {
		t.Errorf("status %d (-want +got):\n%s", r.status, diff)
	}

	r = p.edge("tools", "validate", "bad.py")
	if r.stdout != "" || r.status != fault.Usage.Exit() {
		t.Errorf("got status %d and standard output %q", r.status, r.stdout)
	}
	for _, part := range []string{
		"bad.py:5: tool first: parameter 'amount': no type annotation", "[missing_parameter_type_hint]\n", "bad.py:5: first: parameter 'kind': dict",
		"bad.py:9: no spaces: 'no spaces' isn't", "[invalid_tool_name]\n", "bad.py:9: no spaces: permission 'network'", "bad.py:9: no spaces: parameter 'many': list", "\n      → ",
	} {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("%q is missing from\n%s", part, r.stderr)
		}
	}
}

func TestValidateWarns(t *testing.T) {
	p := newPlace(t)
	p.write("plain.py", fileHead+"@edge_tool\ndef f() -> int:\n    return 1\n\n@edge_tool\ndef g() -> int:\n    'd'\n    return 1\n")
	r := p.edge("tools", "validate", "plain.py")
	if want := "warning: plain.py:5: f: no description"; r.status != 0 || !strings.HasPrefix(r.stderr, want) || strings.Count(r.stderr, "warning") != 1 {
		t.Errorf("got status %d and %q, want one warning, %q", r.status, r.stderr, want)
	}
	if r.stdout != "plain.py: 2 tools are good\n" {
		t.Errorf("got %q", r.stdout)
	}
}
