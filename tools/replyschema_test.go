package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"edge/internal/digest"
	"edge/tools"
)

func callSet(t *testing.T) *tools.ActiveSet {
	t.Helper()
	parameters := `{"type":"object","additionalProperties":false,"required":["city"],"properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string","enum":["c","f"]}}}`
	set, err := tools.Freeze(tools.Inspection{Path: "/t.py", GeneratorVersion: "1", FileSHA256: digest.SHA256Of([]byte("t")), Tools: []tools.Tool{
		{Name: "weather", Description: "Weather.", Parameters: json.RawMessage(parameters), ExecutionLevel: tools.Read},
		{Name: "aa", Description: "Another.", Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`), ExecutionLevel: tools.Read},
	}}, tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// admits compiles a schema and says which texts it admits.
func admits(t *testing.T, schema json.RawMessage) func(text string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("x.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return func(text string) bool {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(v) == nil
	}
}

func TestCallSchema(t *testing.T) {
	const request = "What's the weather in São Paulo's centre over 3 days, \"please\"?"
	ground := &tools.Grounding{Request: request, Params: map[string]map[string]tools.ParamPolicy{"weather": {
		"city": {Source: tools.FromRequest}, "days": {Source: tools.FromRequest, Include: tools.IncludeRequired}, "unit": {Include: tools.IncludeAbsent},
	}}}
	candidates := &tools.Grounding{Request: request, Params: map[string]map[string]tools.ParamPolicy{"weather": {"city": {Candidates: []string{`"Porto"`, `"São Paulo"`}}}}}
	for _, c := range []struct {
		name    string
		options tools.GrammarOptions
		yes, no []string
	}{
		{"free", tools.GrammarOptions{Tools: []string{"weather"}},
			[]string{`{"tool_name":"weather","arguments":{"city":"X"}}`, `{"tool_name":"weather","arguments":{"city":"X","days":-4,"unit":"f"}}`},
			[]string{`{"tool_name":"weather","arguments":{}}`, `{"tool_name":"aa","arguments":{}}`, `{"tool_name":"weather","arguments":{"city":"X","more":1}}`, `{"tool_name":"weather","arguments":{"city":"X"},"x":1}`, `"words"`}},
		{"any tool", tools.GrammarOptions{},
			[]string{`{"tool_name":"aa","arguments":{}}`, `{"tool_name":"weather","arguments":{"city":"X"}}`}, []string{`{"tool_name":"bb","arguments":{}}`, `{"tool_name":"aa","arguments":{"city":"X"}}`}},
		{"grounded", tools.GrammarOptions{Tools: []string{"weather"}, Ground: ground},
			[]string{`{"tool_name":"weather","arguments":{"city":"São Paulo","days":3}}`, `{"tool_name":"weather","arguments":{"city":"please","days":3}}`},
			[]string{`{"tool_name":"weather","arguments":{"city":"Lima","days":3}}`, `{"tool_name":"weather","arguments":{"city":"São Paulo","days":4}}`, `{"tool_name":"weather","arguments":{"city":"São Paulo"}}`, `{"tool_name":"weather","arguments":{"city":"São Paulo","days":3,"unit":"c"}}`}},
		{"candidates", tools.GrammarOptions{Tools: []string{"weather"}, Ground: candidates},
			[]string{`{"tool_name":"weather","arguments":{"city":"Porto"}}`}, []string{`{"tool_name":"weather","arguments":{"city":"Lima"}}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema, err := callSet(t).CallSchema(c.options)
			if err != nil {
				t.Fatal(err)
			}
			ok := admits(t, schema)
			for _, text := range c.yes {
				if !ok(text) {
					t.Errorf("refuses %s: %s", text, schema)
				}
			}
			for _, text := range c.no {
				if ok(text) {
					t.Errorf("admits %s: %s", text, schema)
				}
			}
		})
	}
}

func TestCallSchemaKeepsTheOrderOfMembers(t *testing.T) {
	schema, err := callSet(t).CallSchema(tools.GrammarOptions{Tools: []string{"weather"}})
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, name := range []string{`"tool_name"`, `"arguments"`, `"city"`, `"days"`, `"unit"`} {
		at = append(at, strings.Index(string(schema), name))
	}
	if !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("%v in %s", at, schema)
	}
}

// TestCallSchemaOfALongRequest: where there are too many spans to list, a text is free.
func TestCallSchemaOfALongRequest(t *testing.T) {
	request := strings.Repeat("word ", 200)
	schema, err := callSet(t).CallSchema(tools.GrammarOptions{Tools: []string{"weather"}, Ground: &tools.Grounding{Request: request, Default: tools.ParamPolicy{Source: tools.FromRequest}}})
	if err != nil || len(schema) > 2000 {
		t.Fatalf("%d bytes, %v", len(schema), err)
	}
	if !admits(t, schema)(`{"tool_name":"weather","arguments":{"city":"Lima"}}`) {
		t.Error("a text isn't free")
	}
	if _, err := callSet(t).CallSchema(tools.GrammarOptions{Tools: []string{"nope"}}); err == nil {
		t.Error("a schema of an unknown tool")
	}
}
