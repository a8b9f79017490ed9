package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/fault"
	"edge/tools"
)

func TestFreezeSortsAndSelects(t *testing.T) {
	list := make([]tools.Tool, 9)
	for i := range list {
		list[i] = tool(fmt.Sprintf("t%d", 8-i), "")
		list[i].IntentTags = []string{fmt.Sprintf("g%d", (8-i)%3)}
	}
	for _, test := range []struct {
		name string
		sel  tools.Selection
		want []string
	}{
		{"names", tools.Selection{Names: []string{"t2", "t1"}}, []string{"t1", "t2"}},
		{"tag", tools.Selection{Tags: []string{"g1"}}, []string{"t1", "t4", "t7"}},
		{"names and tags add up", tools.Selection{Names: []string{"t0", "t1"}, Tags: []string{"g1"}}, []string{"t0", "t1", "t4", "t7"}},
		{"a name twice", tools.Selection{Names: []string{"t1", "t1"}}, []string{"t1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := tools.Freeze(inspection(list...), test.sel)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, set.Names()); diff != "" {
				t.Error(diff)
			}
			again, err := tools.Freeze(inspection(list...), set.Selection())
			if err != nil || again.SHA256() != set.SHA256() {
				t.Errorf("its own selection gives another set: %v", err)
			}
		})
	}
}

func TestFreezeRefusesSelections(t *testing.T) {
	var nine []tools.Tool
	for i := range 9 {
		nine = append(nine, tool(fmt.Sprintf("t%d", i), ""))
	}
	nine[0].IntentTags = []string{"money"}
	for _, test := range []struct {
		name  string
		tools []tools.Tool
		sel   tools.Selection
		code  fault.Code
		words []string
	}{
		{"no tool at all", nil, tools.Selection{}, fault.CodeNoToolsFound, []string{"/home/ann/tools.py"}},
		{"nine", nine, tools.Selection{}, fault.CodeActiveToolLimitExceeded, []string{"9 tools", "8 is the most", "t0, t1, t2, t3, t4, t5, t6, t7, t8"}},
		{"unknown name", nine, tools.Selection{Names: []string{"t1", "fee"}}, fault.CodeNoToolsFound, []string{`"fee"`, "t0, t1"}},
		{"unknown tag", nine, tools.Selection{Tags: []string{"home"}}, fault.CodeNoToolsFound, []string{`"home"`, "its tags are money"}},
		{"no tags anywhere", nine[1:3], tools.Selection{Tags: []string{"home"}}, fault.CodeNoToolsFound, []string{"its tags are none"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tools.Freeze(inspection(test.tools...), test.sel)
			e := wantCode(t, err, test.code)
			for _, word := range test.words {
				if !strings.Contains(e.Message, word) {
					t.Errorf("the message lacks %q: %s", word, e.Message)
				}
			}
		})
	}
	if _, err := tools.Freeze(inspection(nine[:8]...), tools.Selection{}); err != nil {
		t.Errorf("eight tools: %v", err)
	}
}

func TestFreezeRefusesTools(t *testing.T) {
	with := func(change func(*tools.Tool)) tools.Tool {
		t := tool("f", "")
		change(&t)
		return t
	}
	direct := func(level tools.ExecutionLevel, direct bool, output string) tools.Tool {
		return with(func(t *tools.Tool) {
			t.ExecutionLevel, t.ReturnDirect, t.OutputSchema = level, direct, json.RawMessage(output)
		})
	}
	local := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(local, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	nested := func(inner string) string {
		return `{"type":"object","additionalProperties":false,"properties":{"a":` + inner + `}}`
	}
	const missing = fault.CodeReturnDirectOutputSchemaRequired
	for _, test := range []struct {
		name string
		tool tools.Tool
		code fault.Code
		word string
	}{
		{"name with a space", with(func(t *tools.Tool) { t.Name = "no spaces" }), fault.CodeInvalidToolName, `"no spaces"`},
		{"name with a digit first", with(func(t *tools.Tool) { t.Name = "1a" }), fault.CodeInvalidToolName, ""},
		{"name of 65", with(func(t *tools.Tool) { t.Name = "a" + strings.Repeat("b", 64) }), fault.CodeInvalidToolName, ""},
		{"name outside ASCII", with(func(t *tools.Tool) { t.Name = "größe" }), fault.CodeInvalidToolName, ""},
		{"no name", with(func(t *tools.Tool) { t.Name = "" }), fault.CodeInvalidToolName, ""},
		{"permission", with(func(t *tools.Tool) { t.Permissions = []string{"read_local", "network"} }), fault.CodeUnsupportedPermission, `"network"`},
		{"level", with(func(t *tools.Tool) { t.ExecutionLevel = "write" }), fault.CodeInvalidExecutionLevel, `"write"`},
		{"parameters not closed", with(func(t *tools.Tool) { t.Parameters = json.RawMessage(`{"type":"object"}`) }), fault.CodeUnsupportedSchema, "additionalProperties"},
		{"parameters open below", with(func(t *tools.Tool) { t.Parameters = json.RawMessage(nested(`{"type":"object"}`)) }), fault.CodeUnsupportedSchema, "properties.a"},
		{"parameters not a schema", with(func(t *tools.Tool) { t.Parameters = json.RawMessage(`{"type":"thing"}`) }), fault.CodeUnsupportedSchema, ""},
		{"parameters not JSON", with(func(t *tools.Tool) { t.Parameters = json.RawMessage(`{`) }), fault.CodeUnsupportedSchema, ""},
		{"parameters absent", with(func(t *tools.Tool) { t.Parameters = nil }), fault.CodeUnsupportedSchema, ""},
		{"return_direct alone", direct(tools.Read, true, ""), missing, "return_direct needs"},
		{"return_direct, open", direct(tools.Read, true, `{"type":"object","properties":{}}`), missing, "additionalProperties"},
		{"return_direct, true", direct(tools.Read, true, `{"type":"object","additionalProperties":true}`), missing, "additionalProperties"},
		{"return_direct, no type", direct(tools.Read, true, `{"additionalProperties":false}`), missing, "type object"},
		{"return_direct, open below", direct(tools.Read, true, nested(`{"properties":{"b":{"type":"string"}}}`)), missing, "properties.a"},
		{"return_direct, open in an array", direct(tools.Read, true, nested(`{"type":"array","items":{"type":"object"}}`)), missing, "properties.a.items"},
		{"return_direct, open in a choice", direct(tools.Read, true, nested(`{"anyOf":[{"type":"null"},{"type":["object","null"]}]}`)), missing, "properties.a.anyOf[1]"},
		{"return_direct, open definition", direct(tools.Read, true, `{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object"}}}`), missing, "$defs.d"},
		{"prepare without schema", direct(tools.Prepare, true, "null"), missing, "prepare needs"},
		{"prepare without return_direct", direct(tools.Prepare, false, closedOK), missing, "return_direct=True"},
		{"commit without schema", direct(tools.Commit, true, ""), missing, "commit needs"},
		{"commit without return_direct", direct(tools.Commit, false, closedOK), missing, "return_direct=True"},
		{"output_schema of another draft", direct(tools.Read, false, `{"$schema":"http://json-schema.org/draft-07/schema#"}`), fault.CodeInvalidOutputSchema, "2020-12"},
		{"output_schema with a remote part", direct(tools.Read, false, `{"properties":{"a":{"$ref":"https://example.org/a.json"}}}`), fault.CodeInvalidOutputSchema, "example.org"},
		{"output_schema with a local file", direct(tools.Read, false, `{"$ref":"file://`+filepath.ToSlash(local)+`"}`), fault.CodeInvalidOutputSchema, "reads no other place"},
		{"output_schema with a dangling part", direct(tools.Read, false, `{"$ref":"#/$defs/none"}`), fault.CodeInvalidOutputSchema, ""},
		{"output_schema with a bad keyword", direct(tools.Read, false, nested(`{"type":"text"}`)), fault.CodeInvalidOutputSchema, "properties.a.type"},
		{"output_schema with a bad pattern", direct(tools.Read, false, nested(`{"pattern":"(?=x)"}`)), fault.CodeInvalidOutputSchema, ""},
		{"output_schema that is no object", direct(tools.Read, false, `[]`), fault.CodeInvalidOutputSchema, "an array"},
		{"output_schema that no result follows", direct(tools.Read, false, `{"type":"string"}`), fault.CodeInvalidOutputSchema, "always an object"},
		{"output_schema with a key twice", direct(tools.Read, false, `{"type":"object","type":"object"}`), fault.CodeInvalidOutputSchema, "duplicate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tools.Freeze(inspection(test.tool), tools.Selection{})
			e := wantCode(t, err, test.code)
			if !strings.Contains(e.Message, test.word) || !strings.Contains(e.Message, "/home/ann/tools.py:10: ") {
				t.Errorf("the message lacks %q or its place: %s", test.word, e.Message)
			}
			if len(e.Problems) == 0 || e.Problems[0].Code != test.code || e.Problems[0].Line != 10 {
				t.Errorf("got problems %+v", e.Problems)
			}
		})
	}
}

func TestFreezeAcceptsOutputSchemas(t *testing.T) {
	for name, schema := range map[string]string{
		"closed":                   closedOK,
		"map of numbers":           `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"object","additionalProperties":{"type":"number"}}}}`,
		"definitions":              `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object","additionalProperties":false}}}`,
		"a property called type":   `{"type":"object","additionalProperties":false,"properties":{"properties":{"type":"string"}}}`,
		"a condition on an object": `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["a"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := tool("f", "")
			f.ReturnDirect, f.OutputSchema = true, json.RawMessage(schema)
			freeze(t, f)
		})
	}
	open := tool("f", "")
	open.OutputSchema = json.RawMessage(`{"type":"object"}`)
	freeze(t, open) // what a model reads need not be closed
}

// All problems of a file are told, the runner's and ours, in the order of the file, and also about tools that the
// selection leaves out.
func TestFreezeReportsEveryProblem(t *testing.T) {
	bad := tool("bad", "")
	bad.ReturnDirect = true
	in := inspection(tool("good", ""), bad, tool("good", ""))
	in.Problems = append(make([]fault.Problem, 0, 8), // room that must not be written to
		fault.Problem{Code: fault.CodeMissingParameterTypeHint, Tool: "other", Parameter: "a", Line: 25, Message: "no type annotation"},
		fault.Problem{Code: fault.CodeReturnDirectOutputSchemaRequired, Tool: "bad", Line: 20, Message: "said by the runner"},
	)
	_, err := tools.Freeze(in, tools.Selection{Names: []string{"good"}})
	e := wantCode(t, err, fault.CodeReturnDirectOutputSchemaRequired)
	var got []string
	for _, p := range e.Problems {
		got = append(got, fmt.Sprintf("%d %s %s", p.Line, p.Tool, p.Code))
	}
	want := []string{"20 bad return_direct_output_schema_required", "25 other missing_parameter_type_hint", "30 good duplicate_tool_name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "/home/ann/tools.py:20: tool bad: said by the runner (and 2 more problems)"; e.Message != want {
		t.Errorf("got message %q, want %q", e.Message, want)
	}
	in.Problems, in.Tools = in.Problems[:1], nil
	_, err = tools.Freeze(in, tools.Selection{})
	e = wantCode(t, err, fault.CodeMissingParameterTypeHint)
	if want := "/home/ann/tools.py:25: tool other: parameter a: no type annotation"; e.Message != want {
		t.Errorf("got message %q, want %q", e.Message, want)
	}
	in.Problems = in.Problems[:2]
	if in.Problems[0].Tool != "other" {
		t.Error("the inspection was changed")
	}
}

func TestActiveSetIsImmutable(t *testing.T) {
	list := []tools.Tool{tool("b", ""), tool("a", "")}
	in, sel := inspection(list...), tools.Selection{Names: []string{"a"}}
	set, err := tools.Freeze(in, sel)
	if err != nil {
		t.Fatal(err)
	}
	in.Tools[1].Name, sel.Names[0] = "x", "x"
	set.Tools()[0].Name, set.Names()[0] = "y", "y"
	if diff := cmp.Diff([]string{"a"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	if got := set.Selection().Names[0]; got != "a" {
		t.Errorf("the selection became %q", got)
	}
	if _, ok := set.Lookup("a"); !ok {
		t.Error("a isn't found")
	}
	if _, ok := set.Lookup("A"); ok {
		t.Error("names aren't case-sensitive")
	}
	if set.Path() != "/home/ann/tools.py" || set.GeneratorVersion() != "1" || set.FileSHA256() != in.FileSHA256 {
		t.Error("the set lost what it was frozen from")
	}
}
