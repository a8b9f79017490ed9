package tools_test

import (
	"fmt"
	"strings"
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

// TestPromptOfRicherSchemas: what pydantic says of nested models is told in few words.
func TestPromptOfRicherSchemas(t *testing.T) {
	want := map[string]string{
		"optional":        `{"properties":{"a":{"type":["integer","null"]},"b":{"type":["integer","null"]}},"required":["a","b"]}`,
		"optional_enum":   `{"properties":{"unit":{"enum":["celsius","kelvin",null],"type":["string","null"]}},"required":["unit"]}`,
		"enums":           `{"properties":{"level":{"default":1,"enum":[1,2],"type":"integer"},"unit":{"enum":["celsius","kelvin"],"type":"string"}},"required":["unit","level"]}`,
		"optional_nested": `{"properties":{"others":{"items":{"description":"Where somebody lives.","properties":{"number":{"description":"The house's number.","minimum":1,"type":"integer"},"street":{"type":"string"},"zip":{"type":["string","null"]}},"required":["street","number","zip"],"type":"object"},"type":"array"},"person":{"properties":{"age":{"maximum":150,"minimum":0,"type":"integer"},"home":{"description":"Where somebody lives.","properties":{"number":{"description":"The house's number.","minimum":1,"type":"integer"},"street":{"type":"string"},"zip":{"type":["string","null"]}},"required":["street","number","zip"],"type":["object","null"]},"name":{"maxLength":40,"minLength":1,"type":"string"},"unit":{"default":"celsius","enum":["celsius","kelvin"],"type":"string"}},"required":["name","age","home","unit"],"type":["object","null"]}},"required":["person","others"]}`,
		"discriminated":   `{"properties":{"pet":{"anyOf":[{"properties":{"kind":{"const":"cat","type":"string"},"lives":{"type":"integer"}},"required":["kind","lives"],"type":"object"},{"properties":{"kind":{"const":"dog","type":"string"},"name":{"type":"string"}},"required":["kind","name"],"type":"object"}]}},"required":["pet"]}`,
		"recursive":       `{"properties":{"node":{"$ref":"#/$defs/Node"}},"required":["node"],"$defs":{"Node":{"properties":{"children":{"default":[],"items":{"$ref":"#/$defs/Node"},"type":"array"},"value":{"type":"integer"}},"required":["value","children"],"type":"object"}}}`,
	}
	for _, c := range pydanticCases(t) {
		tool, _ := c.set(t).Lookup(c.Name)
		text, err := tool.PromptJSON()
		if err != nil {
			t.Fatal(err)
		}
		if parameters, ok := want[c.Name]; ok {
			if diff := cmp.Diff(`{"name":"`+c.Name+`","description":"d","parameters":`+parameters+`}`, string(text)); diff != "" {
				t.Error(diff)
			}
			delete(want, c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not in the corpus: %v", want)
	}
}

// TestPromptOfReferencesThatFanOut stays short: 10 definitions, each with 10 references to the next.
func TestPromptOfReferencesThatFanOut(t *testing.T) {
	var defs []string
	for i := range 10 {
		var members []string
		for j := range 10 {
			members = append(members, fmt.Sprintf(`"m%d":{"$ref":"#/$defs/D%d"}`, j, i+1))
		}
		defs = append(defs, fmt.Sprintf(`"D%d":{"type":"object","properties":{%s}}`, i, strings.Join(members, ",")))
	}
	set := freeze(t, functionTool("f", `"properties":{"p":{"$ref":"#/$defs/D0"}},"$defs":{`+strings.Join(defs, ",")+`,"D10":{"type":"null"}}`))
	tool, _ := set.Lookup("f")
	text, err := tool.PromptJSON()
	if err != nil || len(text) > 40_000 {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
	grammar, err := set.Grammar(tools.GrammarOptions{AllowCall: true})
	if err != nil || len(grammar) > 10_000 {
		t.Errorf("got a grammar of %d bytes, %v", len(grammar), err)
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
