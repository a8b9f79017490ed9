package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edge/internal/fault"
	"edge/tools"
)

func TestCheckResult(t *testing.T) {
	f, declared, wrapped := tool("f", ""), tool("declared", ""), tool("wrapped", "")
	declared.ReturnDirect, declared.OutputSchema = true, json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"},"list":{"type":"array","items":{"enum":["a","b"]}},"n":{"minimum":3}},"required":["ok"],"additionalProperties":false}`)
	wrapped.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`)
	set := freeze(t, f, declared, wrapped)
	exact := `{"a":"` + strings.Repeat("x", tools.MaxResultBytes-8) + `"}`
	for _, test := range []struct {
		tool, raw, want string
		code            fault.Code
		word            string
	}{
		{"f", `{"b": 1.0, "a": "\u65e5"}`, `{"a":"日","b":1}`, "", ""},
		{"f", exact, exact, "", ""},
		{"f", strings.ReplaceAll(exact, `":"`, `" : "`), exact, "", ""}, // measured in canonical form
		{"f", `{"a":"` + strings.Repeat("x", tools.MaxResultBytes-7) + `"}`, "", fault.CodeToolResultOversized, "65537 bytes"},
		{"f", `[1]`, "", fault.CodeUnsupportedToolResult, "isn't a JSON object"},
		{"f", `"x"`, "", fault.CodeUnsupportedToolResult, "isn't a JSON object"},
		{"f", `{"a":9007199254740993}`, "", fault.CodeUnsupportedToolResult, "beyond"},
		{"f", `{"a":NaN}`, "", fault.CodeUnsupportedToolResult, "isn't usable JSON"},
		{"f", `{"a":"\udc00"}`, "", fault.CodeUnsupportedToolResult, "surrogate"},
		{"f", `{"secret":1,"secret":2}`, "", fault.CodeUnsupportedToolResult, "a key stands twice"},
		{"f", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "", fault.CodeUnsupportedToolResult, "deeper"},
		{"f", ``, "", fault.CodeUnsupportedToolResult, ""},
		{"declared", `{"ok":true,"list":["b"]}`, `{"list":["b"],"ok":true}`, "", ""},
		{"declared", `{"ok":"secret"}`, "", fault.CodeToolResultSchemaMismatch, "result field ok: got a string, want a boolean"},
		{"declared", `{"ok":1}`, "", fault.CodeToolResultSchemaMismatch, "result field ok: got a number, want a boolean"},
		{"declared", `{}`, "", fault.CodeToolResultSchemaMismatch, "result field ok: missing, want a boolean"},
		{"declared", `{"ok":true,"more":"secret"}`, "", fault.CodeToolResultSchemaMismatch, "result field more: unknown"},
		{"declared", `{"ok":true,"list":["a","secret"]}`, "", fault.CodeToolResultSchemaMismatch, `result field list[1]: got a string, want one of "a", "b"`},
		{"declared", `{"ok":true,"n":2}`, "", fault.CodeToolResultSchemaMismatch, `result field n: got a number that breaks "minimum"`},
		{"declared", `{"result":true}`, "", fault.CodeToolResultSchemaMismatch, "result field ok: missing"},
		{"wrapped", `{"result":3}`, `{"result":3}`, "", ""},
		{"wrapped", `{"result":"3"}`, "", fault.CodeToolResultSchemaMismatch, "result field result: got a string, want an integer"},
		{"none", `{}`, "", fault.CodeUnknownTool, "declared, f, wrapped"},
	} {
		got, err := set.CheckResult(test.tool, []byte(test.raw))
		name := test.tool + " " + test.raw[:min(len(test.raw), 40)]
		if test.code == "" {
			if err != nil || string(got) != test.want {
				t.Errorf("%s: got %.60s, %v, want %.60s", name, got, err, test.want)
			}
			continue
		}
		e := wantCode(t, err, test.code)
		if !strings.Contains(e.Message, test.word) || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: the message lacks %q or tells the result: %s", name, test.word, e.Message)
		}
		if got != nil {
			t.Errorf("%s: a refused result was given out", name)
		}
	}
}
