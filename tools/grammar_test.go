package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"edge/internal/canon"
	"edge/internal/fault"
	"edge/tools"
)

func grammar(t rapid.TB, set *tools.ActiveSet, o tools.GrammarOptions) *gbnf {
	t.Helper()
	text, err := set.Grammar(o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := parseGBNF(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return g
}

func callGrammar(t testing.TB, list ...tools.Tool) *gbnf {
	t.Helper()
	return grammar(t, freeze(t, list...), tools.GrammarOptions{AllowCall: true})
}

// matches holds texts against a grammar; a text of arguments alone stands for a call of f.
func matches(t testing.TB, g *gbnf, want bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.HasPrefix(strings.TrimLeft(text, " "), `{"tool_name"`) && !strings.HasPrefix(text, `{"arguments"`) {
			text = `{"tool_name":"f","arguments":` + text + `}`
		}
		if got := g.match(text); got != want {
			t.Errorf("match(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestGrammarGolden(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"n":{"type":"integer"},"s":{"enum":["a\"b","é"]}},"required":["n"]`), tool("ping", ""))
	got, err := set.Grammar(tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
root ::= r4 | r5
r0 ::= "-"? ("0" | [1-9] [0-9]{0,15})
r1 ::= (","  "\"s\":" ("\"a\\\"b\"" | "\"é\""))?
r2 ::= "\"n\":" r0 r1
r3 ::= "f\",\"arguments\":" "{" r2 "}" | "ping\",\"arguments\":" "{}"
r4 ::= "{\"tool_name\":\"" r3 "}"
r5 ::= [^{ \t\r\n] .*
`, "\n")
	if diff := cmp.Diff(strings.ReplaceAll(want, "  ", " "), got); diff != "" {
		t.Error(diff)
	}
}

func TestGrammarObjects(t *testing.T) {
	g := callGrammar(t, tool("f", `"properties":{"z":{"type":"null"},"y":{"type":"null"},"b":{"type":"null"},"a":{"type":"null"}},"required":["z","y"]`))
	matches(t, g, true, `{"z":null,"y":null}`, `{"z":null,"y":null,"a":null}`, `{"z":null,"y":null,"b":null}`, `{"z":null,"y":null,"a":null,"b":null}`)
	matches(t, g, false, `{}`, `{"z":null}`, `{"y":null,"z":null}`, `{"z":null,"y":null,"b":null,"a":null}`, `{"z":null,"y":null,}`, `{"z":null,,"y":null}`,
		`{"z":null,"y":null,"a":null,"a":null}`, `{"z":null "y":null}`, `{"z": null,"y":null}`, `{"z":null,"y":null,"c":null}`)

	g = callGrammar(t, tool("f", `"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}`))
	matches(t, g, true, `{}`, `{"a":null}`, `{"b":null}`, `{"c":null}`, `{"a":null,"b":null}`, `{"a":null,"c":null}`, `{"b":null,"c":null}`, `{"a":null,"b":null,"c":null}`)
	matches(t, g, false, `{,"a":null}`, `{"a":null,}`, `{"a":null"b":null}`, `{"b":null,"a":null}`, `{ }`, ``)

	g = callGrammar(t, tool("f", ""), tool("g", `"properties":{"a":{"type":"object","properties":{},"additionalProperties":false}},"required":["a"]`))
	matches(t, g, true, `{}`, `{"tool_name":"g","arguments":{"a":{}}}`)
	matches(t, g, false, `{"a":{}}`, `{"tool_name":"g","arguments":{}}`, `{"tool_name":"h","arguments":{}}`, `{"tool_name": "f","arguments":{}}`, `{"arguments":{},"tool_name":"f"}`, ` {"tool_name":"f","arguments":{}}`, `{"tool_name":"f","arguments":{}} `)
}

func TestGrammarValues(t *testing.T) {
	for _, test := range []struct {
		schema   string
		yes, not []string
	}{
		{`{"type":"string"}`,
			[]string{`""`, `"a b"`, `"日本 😀 é"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u0000\uD7FF\uE000\uffff"`, `"{\"tool_name\":1}"`, "\"\u007f\u2028\""},
			[]string{`"`, `a`, "\"\n\"", "\"\x01\"", "\"\x1f\"", `"\"`, `"\x"`, `"\u12"`, `"\ud800"`, `"\uDfff"`, `"\uD83D\uDE00"`, `""x`, `'a'`, `null`, "\"\t\""}},
		{`{"type":"integer"}`,
			[]string{`0`, `-1`, `10`, `9007199254740991`, `-9007199254740991`},
			[]string{`01`, `-`, `+1`, `1.0`, `1e3`, `12345678901234567`, `"1"`, ``, `--1`, `1 `, `NaN`}},
		{`{"type":"number"}`,
			[]string{`0`, `-0.5`, `250`, `75.5`, `0.1234567890123456`, `1234567890123456.1234567890123456`, `8.854e-12`, `-1E-5`, `1e-05`, `1e-99`, `1e3`, `2.5e+6`},
			[]string{`.5`, `5.`, `01.5`, `1e`, `1e-`, `e5`, `1e10`, `1e-100`, `1e-0`, `1e--5`, `1.e5`, `1e5.0`, `0.12345678901234567`, `-`, `Infinity`, `1,5`}},
		{`{"type":"boolean"}`, []string{`true`, `false`}, []string{`True`, `1`, `"true"`, `null`, `truefalse`}},
		{`{"type":["integer","null"]}`, []string{`1`, `null`}, []string{`"1"`, `nul`, `1null`}},
		{`{"enum":["celsius",1,1.5,true,null,[1,"a"],{"a":1}]}`,
			[]string{`"celsius"`, `1`, `1.5`, `true`, `null`, `[1,"a"]`, `{"a":1}`},
			[]string{`"kelvin"`, `"Celsius"`, `1.0`, `"1"`, `false`, `[1, "a"]`, `"celsius`}},
		{`{"enum":["a","b",null],"type":["string","null"]}`, []string{`"a"`, `"b"`, `null`}, []string{`"c"`}},
		{`{"enum":["a",1,2.5,null],"type":"integer"}`, []string{`1`}, []string{`"a"`, `2.5`, `null`}},
		{`{"enum":["😀","日本","\u00e9","e\u0301","tab\t\"q\\","</s>"]}`,
			[]string{`"😀"`, `"日本"`, "\"\u00e9\"", "\"e\u0301\"", `"tab\t\"q\\"`, `"</s>"`},
			[]string{`"日"`, `"e"`, `"\u00e9"`, "\"tab\t\"q\\\""}},
		{`{"const":"x"}`, []string{`"x"`}, []string{`"y"`}},
		{`{"const":42.0}`, []string{`42`}, []string{`42.0`, `4`}},
		{`{"type":"array","items":{"type":"integer"}}`, []string{`[]`, `[1]`, `[1,-2,30]`}, []string{`[1,]`, `[,1]`, `[ ]`, `[1, 2]`, `["1"]`, `[1`, `[[1]]`}},
		{`{"type":"array","items":{"type":"array","items":{"enum":["a","b"]}}}`, []string{`[[],["a"],["b","a"]]`, `[]`}, []string{`["a"]`, `[["c"]]`, `[[]`}},
		{`{"type":["array","null"],"items":{"type":["boolean","null"]}}`, []string{`null`, `[null,true]`}, []string{`true`}},
		{`{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}},"required":["b"],"additionalProperties":false}`,
			[]string{`{"b":null}`, `{"b":null,"a":null}`}, []string{`{}`, `{"a":null,"b":null}`, `{"a":null}`}},
		{`{"type":"string","title":"T","description":"D","default":"x","examples":["y"],"format":"x","deprecated":true}`, []string{`"anything"`}, []string{`1`}},
	} {
		g := callGrammar(t, tool("f", `"properties":{"p":`+test.schema+`},"required":["p"]`))
		for _, value := range test.yes {
			matches(t, g, true, `{"p":`+value+`}`)
		}
		for _, value := range test.not {
			matches(t, g, false, `{"p":`+value+`}`)
		}
	}
}

func TestGrammarAnswers(t *testing.T) {
	set := freeze(t, tool("f", ""))
	both := grammar(t, set, tools.GrammarOptions{AllowAnswer: true, AllowCall: true})
	answer := grammar(t, set, tools.GrammarOptions{AllowAnswer: true})
	call := grammar(t, set, tools.GrammarOptions{AllowCall: true})
	for _, text := range []string{"Hello", "日本", "x { \n }", "[", "\"quoted\"", "0"} {
		if !both.match(text) || !answer.match(text) || call.match(text) {
			t.Errorf("%q: got %v, %v, %v, want true, true, false", text, both.match(text), answer.match(text), call.match(text))
		}
	}
	const one = `{"tool_name":"f","arguments":{}}`
	if !both.match(one) || answer.match(one) || !call.match(one) {
		t.Errorf("a call: got %v, %v, %v, want true, false, true", both.match(one), answer.match(one), call.match(one))
	}
	for _, text := range []string{"", " ", " x", "\nx", "\tx", "\rx", "{", "{x"} {
		if both.match(text) || answer.match(text) {
			t.Errorf("%q was taken", text)
		}
	}
	if _, err := set.Grammar(tools.GrammarOptions{}); err == nil {
		t.Error("a grammar of nothing was made")
	}
}

func TestGrammarOfSomeTools(t *testing.T) {
	set := freeze(t, tool("f", ""), tool("g", ""), tool("h", ""))
	g := grammar(t, set, tools.GrammarOptions{AllowCall: true, Tools: []string{"h", "f"}})
	matches(t, g, true, `{"tool_name":"f","arguments":{}}`, `{"tool_name":"h","arguments":{}}`)
	matches(t, g, false, `{"tool_name":"g","arguments":{}}`)
	_, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Tools: []string{"F"}})
	wantCode(t, err, fault.CodeUnknownTool)
}

// One tool whose schema can't be enforced is named, with the parameter; the other tools' grammar is still to be had.
func TestGrammarRefusesSchemas(t *testing.T) {
	for schema, words := range map[string][]string{
		`{"type":"string","pattern":"(?=a)"}`:                                           {"parameter p", "the pattern (?=a)"},
		`{"type":"array","items":{"type":"string","pattern":"(?!a)"}}`:                  {"parameter p[0]", "the pattern"},
		`{"type":"integer","minimum":3,"maximum":2}`:                                    {"parameter p", "a range that holds no number"},
		`{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":4}`:                  {"parameter p", "a range that holds no number"},
		`{"type":"number","exclusiveMinimum":3,"maximum":3}`:                            {"parameter p", "a range that holds no number"},
		`{"anyOf":[{"type":"string"},{"not":{}}]}`:                                      {"parameter p", `"not"`},
		`{"anyOf":[{"type":"string"},{"type":"null"}],"type":"string"}`:                 {"parameter p", `"anyOf" beside others`},
		`{"oneOf":[{"type":"number"},{"type":"integer"}]}`:                              {"parameter p", `"oneOf"`},
		`{"oneOf":[{"enum":["a","b"]},{"enum":["b"]}]}`:                                 {"parameter p", `"oneOf"`},
		`{"allOf":[{"type":"string"},{"minLength":1}]}`:                                 {"parameter p", `"allOf" of several`},
		`{"$ref":"#/$defs/x","minLength":1}`:                                            {"parameter p", `"$ref" beside others`},
		`{"$ref":"#/$defs/round"}`:                                                      {"parameter p", "leads back to itself"},
		`{"$ref":"#/$defs/turn"}`:                                                       {"parameter p", "leads back to itself"},
		`{"$ref":"#/$defs/endless"}`:                                                    {"parameter p", "without end"},
		`{"type":"array","prefixItems":[{"type":"string"}],"items":false,"minItems":2}`: {"parameter p", "more items than are declared"},
		`false`: {"parameter p", "admits nothing"},
		`{"type":"object","additionalProperties":false,"properties":{"q":{"if":{}}}}`:                       {"parameter p.q", `"if"`},
		`{"type":"object","additionalProperties":false,"properties":{},"required":["q"]}`:                   {"parameter p.q", "declared"},
		`{"type":"object","additionalProperties":{"type":"null"},"required":["q"]}`:                         {"parameter p.q", "declared"},
		`{"type":"object","additionalProperties":{"contains":{}}}`:                                          {"parameter p.*", `"contains"`},
		`{"enum":["a"],"type":"integer"}`:                                                                   {"parameter p", "enum without a value"},
		`{"type":"object","additionalProperties":false,"patternProperties":{"x":{}},"properties":{"q":{}}}`: {"parameter p", `"patternProperties"`},
		`{"type":"string","x-` + strings.Repeat("long", 50) + `":1}`:                                        {"parameter p", "…"},
	} {
		parameters := `"properties":{"p":` + schema + `},"$defs":{"x":{"type":"string"},"round":{"$ref":"#/$defs/round"},` +
			`"turn":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/back"}]},"back":{"allOf":[{"$ref":"#/$defs/turn"}]},` +
			`"endless":{"type":"object","properties":{"e":{"type":"array","items":{"$ref":"#/$defs/endless"},"minItems":1}},"required":["e"],"additionalProperties":false}}`
		set := freeze(t, tool("bad", parameters), tool("good", ""))
		_, err := set.Grammar(tools.GrammarOptions{AllowCall: true})
		e := wantCode(t, err, fault.CodeUnsupportedSchema)
		for _, word := range append(words, "tool bad") {
			if !strings.Contains(e.Message, word) {
				t.Errorf("%s: the message lacks %q: %s", schema, word, e.Message)
			}
		}
		if _, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Tools: []string{"good"}}); err != nil {
			t.Errorf("the good tool: %v", err)
		}
	}
}

func TestGrammarKeepsAlikeNamesApart(t *testing.T) {
	g := callGrammar(t,
		tool("a_b", `"properties":{"x-y":{"const":1},"x_y":{"const":2},"x.y":{"const":3},"X_y":{"const":4},"x\"y":{"const":5},"ü":{"const":6}},"required":["x-y","x_y","x.y","X_y","x\"y","ü"]`),
		tool("A_b", `"properties":{"x_y":{"const":7}},"required":["x_y"]`))
	matches(t, g, true, `{"tool_name":"a_b","arguments":{"x-y":1,"x_y":2,"x.y":3,"X_y":4,"x\"y":5,"ü":6}}`, `{"tool_name":"A_b","arguments":{"x_y":7}}`)
	matches(t, g, false, `{"tool_name":"a_b","arguments":{"x_y":7}}`, `{"tool_name":"A_b","arguments":{"x_y":2}}`)
}

// 48 optional parameters stay small: rules grow with their number, not with their combinations.
func TestGrammarSize(t *testing.T) {
	var properties []string
	for i := range 48 {
		properties = append(properties, fmt.Sprintf(`"p%02d":{"type":["integer","null"]}`, i))
	}
	set := freeze(t, tool("f", `"properties":{`+strings.Join(properties, ",")+`}`))
	text, err := set.Grammar(tools.GrammarOptions{AllowCall: true})
	if err != nil {
		t.Fatal(err)
	}
	if rules := strings.Count(text, "::="); rules > 60 || len(text) > 6000 {
		t.Errorf("got %d rules of %d bytes", rules, len(text))
	}
	g, err := parseGBNF(text)
	if err != nil {
		t.Fatal(err)
	}
	matches(t, g, true, `{}`, `{"p00":1,"p47":null}`, `{"p31":-5}`)
	matches(t, g, false, `{"p47":1,"p00":1}`)
}

// schemaAndValue draws a schema that a grammar can be made of, and a way to draw values of it.
func schemaAndValue(t *rapid.T, depth int) (any, func(*rapid.T) any) {
	kinds := []string{"string", "integer", "number", "boolean", "enum", "nullable", "nullable enum", "limited"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "nullable array", "union", "tuple", "dict", "limited array")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "string", "integer", "number", "boolean":
		return map[string]any{"type": kind, "description": "d"}, func(t *rapid.T) any { return primitive(t, kind) }
	case "nullable":
		kind := rapid.SampledFrom([]string{"string", "integer", "number", "boolean"}).Draw(t, "base")
		return map[string]any{"type": []string{kind, "null"}, "default": nil}, func(t *rapid.T) any {
			if rapid.Bool().Draw(t, "null") {
				return nil
			}
			return primitive(t, kind)
		}
	case "enum", "nullable enum":
		values := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a\"", "a\\", "\n", "日本", "é", "e\u0301", "😀", "", "null", "</s>", "{\"tool_name\":"}), 1, 5, rapid.ID).Draw(t, "values")
		list, types := []any{}, []string{"string"}
		for _, v := range values {
			list = append(list, v)
		}
		if kind == "nullable enum" {
			list, types = append(list, nil), append(types, "null")
		}
		return map[string]any{"enum": list, "type": types}, func(t *rapid.T) any { return rapid.SampledFrom(list).Draw(t, "value") }
	case "array", "nullable array":
		items, draw := schemaAndValue(t, depth-1)
		types := []string{"array"}
		if kind == "nullable array" {
			types = append(types, "null")
		}
		return map[string]any{"type": types, "items": items}, func(t *rapid.T) any {
			if len(types) == 2 && rapid.Bool().Draw(t, "null") {
				return nil
			}
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				list = append(list, draw(t))
			}
			return list
		}
	case "limited":
		return limitedSchema(t)
	case "union", "tuple", "dict", "limited array":
		return compositeSchema(t, kind, depth-1)
	default:
		return objectSchema(t, depth-1)
	}
}

func objectSchema(t *rapid.T, depth int) (any, func(*rapid.T) any) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "a_b", "a-b", "A", "tool_name", "arguments", "größe", "\"", "", "r0", "root"}), 0, 5, rapid.ID).Draw(t, "names")
	required := []string{}
	properties := map[string]any{}
	draws := map[string]func(*rapid.T) any{}
	for _, name := range names {
		properties[name], draws[name] = schemaAndValue(t, depth)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	return schema, func(t *rapid.T) any {
		value := map[string]any{}
		for _, name := range names {
			if slices.Contains(required, name) || rapid.Bool().Draw(t, "there") {
				value[name] = draws[name](t)
			}
		}
		return value
	}
}

func primitive(t *rapid.T, kind string) any {
	switch kind {
	case "string":
		return rapid.String().Draw(t, "string")
	case "integer":
		return rapid.Int64Range(-canon.MaxInteger, canon.MaxInteger).Draw(t, "integer")
	case "number":
		return json.Number(fmt.Sprintf("%d.%03d", rapid.Int64Range(-1e9, 1e9).Draw(t, "whole"), rapid.IntRange(0, 999).Draw(t, "thousandths")))
	}
	return rapid.Bool().Draw(t, "boolean")
}

// randomSet draws an active set and, for one of its tools, a valid call.
func randomSet(t *rapid.T) (*tools.ActiveSet, tools.Call) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"f", "F", "ff", "f_", "_f", "r0", "tool_name"}), 1, 4, rapid.ID).Draw(t, "tools")
	var list []tools.Tool
	var call tools.Call
	for i, name := range names {
		schema, draw := objectSchema(t, 2)
		raw, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tools.Tool{Name: name, Description: "d", Parameters: raw, ExecutionLevel: tools.Read})
		if i == 0 {
			arguments, err := json.Marshal(draw(t))
			if err != nil {
				t.Fatal(err)
			}
			if call, err = tools.NewCall(name, arguments); err != nil {
				t.Fatal(err)
			}
		}
	}
	set, err := tools.Freeze(inspection(list...), tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return set, call
}

// mustRead checks that what a grammar admits is a valid call, apart from what Grammar documents.
func mustRead(t *rapid.T, set *tools.ActiveSet, text string) {
	reply, err := tools.ParseReply(text)
	if err == nil {
		err = set.Validate(*reply.Call)
	}
	if err != nil && !strings.Contains(err.Error(), "2^53") && !strings.Contains(err.Error(), "given twice") {
		t.Fatalf("the grammar admits %s, and reading says %v", text, err)
	}
}

func TestGrammarAdmitsEveryValidCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, call := randomSet(t)
		text, err := set.CallText(call)
		if err != nil {
			t.Fatal(err)
		}
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
		if !g.match(text) {
			t.Fatalf("%s isn't admitted", text)
		}
	})
}

func TestGrammarAdmitsOnlyValidCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := randomSet(t)
		mustRead(t, set, grammar(t, set, tools.GrammarOptions{AllowCall: true}).sentence(t))
	})
}

func TestGrammarRefusesMutations(t *testing.T) {
	admitted := 0
	rapid.Check(t, func(t *rapid.T) {
		set, call := randomSet(t)
		text, err := set.CallText(call)
		if err != nil {
			t.Fatal(err)
		}
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true})
		for range 20 {
			runes := []rune(text)
			at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
			to := min(len(runes), at+rapid.IntRange(0, 3).Draw(t, "cut"))
			insert := rapid.SampledFrom([]string{"", ",", "\"", "{", "}", "[", "]", " ", "0", "1", "-", ".", "\\", "null", "é", ":", "\n", string(runes[at:to])}).Draw(t, "insert")
			mutant := string(runes[:at]) + insert + string(runes[to:])
			if g.match(mutant) {
				mustRead(t, set, mutant)
				admitted++
			}
		}
	})
	if admitted == 0 {
		t.Error("no mutation was admitted, so nothing was checked")
	}
}
