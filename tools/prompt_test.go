package tools_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/fault"
	"edge/tools"
)

func TestPromptJSON(t *testing.T) {
	set := freeze(t, feeQuote(), tool("ping", ""), tool("opt", `"properties":{"größe":{"type":"string"}}`))
	want := []string{
		`{"name":"fee_quote","description":"Does fee_quote.","parameters":{"properties":{"amount":{"type":"number"},"flag":{"default":false,"type":"boolean"},` +
			`"ids":{"default":[],"items":{"type":"integer"},"type":"array"},"note":{"default":null,"type":["string","null"]},` +
			`"tier":{"default":"basic","enum":["basic","pro"],"type":"string"}},"required":["amount"]}}`,
		`{"name":"opt","description":"Does opt.","parameters":{"properties":{"größe":{"type":"string"}}}}`,
		`{"name":"ping","description":"Does ping.","parameters":{}}`,
	}
	var got []string
	for _, tool := range set.Tools() {
		text, err := tool.PromptJSON()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCallText(t *testing.T) {
	nested := tool("nested", `"properties":{"z":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"},"c":{"type":"null"}},"required":["b"],"additionalProperties":false},
		"list":{"type":"array","items":{"type":"object","properties":{"y":{"type":"integer"},"x":{"type":"integer"}},"required":["y","x"],"additionalProperties":false}}},"required":["z"]`)
	set := freeze(t, feeQuote(), pay(), nested, tool("ping", ""))
	for _, test := range []struct{ tool, arguments, want string }{
		{"pay", `{"amount":5,"to":"Ann <a@b.c>"}`, `{"tool_name":"pay","arguments":{"to":"Ann <a@b.c>","amount":5}}`},
		{"fee_quote", `{"tier":"pro","note":null,"amount":1.50,"flag":true}`, `{"tool_name":"fee_quote","arguments":{"amount":1.5,"flag":true,"note":null,"tier":"pro"}}`},
		{"nested", `{"list":[{"x":1,"y":2},{"y":3,"x":4}],"z":{"a":"é","b":1,"c":null}}`, `{"tool_name":"nested","arguments":{"z":{"b":1,"a":"é","c":null},"list":[{"y":2,"x":1},{"y":3,"x":4}]}}`},
		{"ping", `{}`, `{"tool_name":"ping","arguments":{}}`},
	} {
		c, err := tools.NewCall(test.tool, []byte(test.arguments))
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.CallText(c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
		if back, err := tools.ParseReply(got); err != nil || !cmp.Equal(*back.Call, c) {
			t.Errorf("%s is read back as %+v (%v)", got, back.Call, err)
		}
	}
	c, _ := tools.NewCall("ping", []byte(`{"a":1}`))
	_, err := set.CallText(c)
	wantCode(t, err, fault.CodeInvalidToolArgs)
}

func TestArgumentOrder(t *testing.T) {
	set := freeze(t, feeQuote(), pay(), tool("ping", ""))
	for name, want := range map[string][]string{"fee_quote": {"amount", "flag", "ids", "note", "tier"}, "pay": {"to", "amount"}, "ping": {}} {
		tool, _ := set.Lookup(name)
		got := append([]string{}, tool.ArgumentOrder()...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
