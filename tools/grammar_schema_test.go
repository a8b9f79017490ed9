package tools_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"edge/tools"
)

// limitedSchema draws a text or a number within limits.
func limitedSchema(t *rapid.T) (any, func(*rapid.T) any) {
	switch rapid.SampledFrom([]string{"integer", "number", "length", "pattern"}).Draw(t, "limited") {
	case "integer":
		low := rapid.IntRange(-12000, 12000).Draw(t, "low")
		high := low + rapid.IntRange(0, 13000).Draw(t, "width")
		schema := map[string]any{"type": "integer", "minimum": low, "exclusiveMaximum": high + 1}
		return schema, func(t *rapid.T) any { return rapid.IntRange(low, high).Draw(t, "integer") }
	case "number":
		low := rapid.IntRange(-300, 300).Draw(t, "low")
		high := low + rapid.IntRange(1, 300).Draw(t, "width")
		schema := map[string]any{"type": "number", "exclusiveMinimum": low, "maximum": high}
		return schema, func(t *rapid.T) any {
			return json.Number(strconv.FormatFloat(float64(rapid.IntRange(1000*low+1, 1000*high).Draw(t, "thousandths"))/1000, 'f', -1, 64))
		}
	case "length":
		low := rapid.IntRange(0, 4).Draw(t, "low")
		high := low + rapid.IntRange(0, 4).Draw(t, "width")
		schema := map[string]any{"type": "string", "minLength": low, "maxLength": high}
		return schema, func(t *rapid.T) any { return rapid.StringN(low, high, -1).Draw(t, "string") }
	default:
		pattern := rapid.SampledFrom([]string{`^[a-z]+$`, `^\d{2,4}-x?$`, `a|^b$`, `^"\\[\]\-\x00-\x1f]{1,3}$`, `^(?i:é|Kelvin)[^a-z"]*$`, `[\p{Greek}]`, `^$`, `^a.c$`, `^(ab|c(d|e)+)*$`, `(?s)^x.y$`}).Draw(t, "pattern")
		draw := rapid.StringMatching(pattern)
		matches := regexp.MustCompile(pattern).MatchString
		return map[string]any{"type": "string", "pattern": pattern}, func(t *rapid.T) any { return draw.Filter(matches).Draw(t, "string") }
	}
}

// compositeSchema draws a schema made of others.
func compositeSchema(t *rapid.T, kind string, depth int) (any, func(*rapid.T) any) {
	a, drawA := schemaAndValue(t, depth)
	b, drawB := schemaAndValue(t, depth)
	some := func(draw func(*rapid.T) any, low, high int) func(*rapid.T) any {
		return func(t *rapid.T) any {
			list := []any{}
			for range rapid.IntRange(low, high).Draw(t, "length") {
				list = append(list, draw(t))
			}
			return list
		}
	}
	switch kind {
	case "union":
		return map[string]any{"anyOf": []any{a, b}}, func(t *rapid.T) any {
			return rapid.SampledFrom([]func(*rapid.T) any{drawA, drawB}).Draw(t, "branch")(t)
		}
	case "limited array":
		low := rapid.IntRange(0, 3).Draw(t, "low")
		high := low + rapid.IntRange(0, 3).Draw(t, "width")
		return map[string]any{"type": "array", "items": a, "minItems": low, "maxItems": high}, some(drawA, low, high)
	case "dict":
		low := rapid.IntRange(0, 2).Draw(t, "low")
		schema := map[string]any{"type": "object", "additionalProperties": a, "minProperties": low, "maxProperties": low + 2}
		return schema, func(t *rapid.T) any {
			value := map[string]any{}
			for i := range rapid.IntRange(low, low+2).Draw(t, "size") {
				value[rapid.String().Draw(t, "name")+strconv.Itoa(i)] = drawA(t)
			}
			return value
		}
	}
	least := rapid.IntRange(0, 2).Draw(t, "least")
	return map[string]any{"type": "array", "prefixItems": []any{a, b}, "items": b, "minItems": least, "maxItems": 4}, func(t *rapid.T) any {
		n := rapid.IntRange(least, 4).Draw(t, "items")
		list := []any{drawA(t)}
		for range max(n-1, 0) {
			list = append(list, drawB(t))
		}
		return list[:n]
	}
}

// TestGrammarSchemas: the kinds of schemas that pydantic writes, one by one.
func TestGrammarSchemas(t *testing.T) {
	defs := `"$defs":{"E":{"enum":["a","b"],"type":"string"},"M":{"type":"object","properties":{"z":{"type":"integer"},"y":{"$ref":"#/$defs/E"}},"required":["z"],"additionalProperties":false},` +
		`"N":{"type":"object","properties":{"v":{"type":"integer"},"n":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}},"required":["v","n"],"additionalProperties":false},` +
		`"T/ü~":{"type":"array","items":{"$ref":"#/$defs/T~1%C3%BC~0"}}},"definitions":{"I":{"type":"integer"}}`
	for _, test := range []struct {
		schema   string
		yes, not []string
	}{
		{`{"$ref":"#/$defs/E","default":"a","description":"d"}`, []string{`"a"`, `"b"`}, []string{`"c"`, `null`}},
		{`{"allOf":[{"$ref":"#/$defs/E"}],"title":"x"}`, []string{`"a"`}, []string{`"c"`}},
		{`{"$ref":"#/definitions/I"}`, []string{`5`}, []string{`"5"`}},
		{`{"$ref":"#/$defs/M"}`, []string{`{"z":1}`, `{"z":1,"y":"a"}`}, []string{`{}`, `{"y":"a","z":1}`, `{"z":1,"y":"c"}`}},
		{`{"$ref":"#/$defs/N"}`, []string{`{"v":1,"n":null}`, `{"v":1,"n":{"v":2,"n":{"v":3,"n":null}}}`}, []string{`{"v":1}`, `{"v":1,"n":{"v":2}}`}},
		{`{"$ref":"#/$defs/T~1%C3%BC~0"}`, []string{`[]`, `[[],[[]]]`}, []string{`[1]`, `[`}},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, []string{`1`, `null`}, []string{`1.5`, `"1"`}},
		{`{"anyOf":[{"$ref":"#/$defs/M"},{"type":"array","items":{"$ref":"#/$defs/E"}},{"type":"boolean"}]}`, []string{`{"z":1}`, `["a"]`, `true`}, []string{`["c"]`, `1`}},
		{`{"oneOf":[{"type":"integer"},{"type":"string"}]}`, []string{`1`, `"x"`}, []string{`null`}},
		{`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"],"additionalProperties":false},{"type":"object","properties":{"k":{"const":"b"},"v":{"type":"null"}},"required":["k","v"],"additionalProperties":false}],"discriminator":{"propertyName":"k"}}`,
			[]string{`{"k":"a"}`, `{"k":"b","v":null}`}, []string{`{"k":"b"}`, `{"k":"a","v":null}`}},
		{`{"type":"integer","minimum":1,"maximum":100}`, []string{`1`, `9`, `10`, `99`, `100`}, []string{`0`, `101`, `01`, `-1`, `1.0`}},
		{`{"type":"integer","exclusiveMinimum":-13,"exclusiveMaximum":8}`, []string{`-12`, `-9`, `-1`, `0`, `7`}, []string{`-13`, `8`, `-20`, `-0`}},
		{`{"type":"integer","minimum":997}`, []string{`997`, `999`, `1000`, `9007199254740991`}, []string{`996`, `99`, `0`, `-997`}},
		{`{"type":"integer","maximum":-45}`, []string{`-45`, `-46`, `-100`, `-9007199254740991`}, []string{`-44`, `45`, `-5`, `0`}},
		{`{"type":"integer","minimum":2.5,"maximum":3.5}`, []string{`3`}, []string{`2`, `4`}},
		{`{"type":"number","minimum":0,"maximum":1}`, []string{`0`, `0.5`, `1`}, []string{`1.5`, `1.0`, `-0.5`, `2`, `1e3`}},
		{`{"type":"number","exclusiveMinimum":0}`, []string{`0.001`, `1`, `12345.678`}, []string{`0`, `0.0`, `-1`}},
		{`{"type":"number","minimum":-2,"exclusiveMaximum":3}`, []string{`-2`, `-1.5`, `-0.5`, `0`, `2.999`}, []string{`-2.5`, `3`, `3.1`, `-3`}},
		{`{"type":"string","minLength":1,"maxLength":3}`, []string{`"a"`, `"日本é"`, `"\"\n\u00e9"`}, []string{`""`, `"abcd"`}},
		{`{"type":"string","maxLength":5000,"minLength":2}`, []string{`"ab"`, `"` + strings.Repeat("x", 400) + `"`}, []string{`"a"`}},
		{`{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`, []string{`"AB-1"`, `"AB-123"`}, []string{`"AB-"`, `"A-1"`, `"xAB-1"`, `"AB-1x"`}},
		{`{"type":"string","pattern":"b+"}`, []string{`"b"`, `"abba"`, `"\"b"`}, []string{`"a"`, `""`}},
		{`{"pattern":"^\"$"}`, []string{`"\""`}, []string{`"""`, `1`}},
		{`{"type":"string","format":"date"}`, []string{`"2026-12-01"`, `"2024-02-29"`}, []string{`"2026-13-01"`, `"2026-02-30"`, `"2026-04-31"`, `"1.12.2026"`}},
		{`{"type":"string","format":"time"}`, []string{`"10:30"`, `"23:59:59.5Z"`, `"10:30:00+02:00"`}, []string{`"24:00"`, `"9:30"`, `"10:60"`}},
		{`{"type":"string","format":"date-time"}`, []string{`"2026-12-01T10:30:00Z"`}, []string{`"2026-12-01"`, `"2026-12-01 10:30"`}},
		{`{"type":"string","format":"email"}`, []string{`"a.b+c@mail.example.org"`}, []string{`"a"`, `"a@b"`, `"a..b@c.de"`, `"a b@c.de"`}},
		{`{"type":"string","format":"uuid4"}`, []string{`"0b7f2f5e-8d5f-4a3b-9f52-0f4ad7a4ee7a"`}, []string{`"0b7f2f5e-8d5f-1a3b-9f52-0f4ad7a4ee7a"`, `"0b7f2f5e"`}},
		{`{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":2}`, []string{`[null]`, `[null,null]`}, []string{`[]`, `[null,null,null]`}},
		{`{"type":"array","items":{"type":"null"},"maxItems":0}`, []string{`[]`}, []string{`[null]`}},
		{`{"type":"array","items":{"type":"null"},"minItems":2}`, []string{`[null,null]`, `[null,null,null]`}, []string{`[null]`, `[]`}},
		{`{"type":"array","items":{"enum":[1,2]},"uniqueItems":true}`, []string{`[1,2]`, `[]`}, []string{`[3]`}},
		{`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2,"maxItems":2}`, []string{`[1,"a"]`}, []string{`[]`, `[1]`, `["a",1]`, `[1,"a",1]`}},
		{`{"type":"array","prefixItems":[{"type":"integer"},{"type":"null"}],"minItems":1,"items":{"type":"boolean"}}`, []string{`[1]`, `[1,null]`, `[1,null,true,false]`}, []string{`[]`, `[1,true]`}},
		{`{"type":"array"}`, []string{`[]`, `[1,"a",{"b":[null]}]`}, []string{`{}`}},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{}`, `{"a":1,"b c":2}`}, []string{`{"a":"b"}`, `{"a":1,}`, `{a:1}`}},
		{`{"type":"object","additionalProperties":{"type":"null"},"minProperties":1,"maxProperties":2}`, []string{`{"a":null}`, `{"a":null,"b":null}`}, []string{`{}`, `{"a":null,"b":null,"c":null}`}},
		{`{"type":"object","additionalProperties":{"type":"null"},"propertyNames":{"$ref":"#/$defs/E"}}`, []string{`{}`, `{"a":null}`, `{"a":null,"b":null}`}, []string{`{"c":null}`, `{"a":null,"a":null}`}},
		{`{"type":"object","patternProperties":{"^x":{"type":"null"}}}`, []string{`{}`, `{"x1":null}`}, []string{`{"a":null}`}},
		{`{}`, []string{`1`, `null`, `"x"`, `{"a":[{}]}`}, []string{`x`, ``}},
		{`{"multipleOf":5,"type":"integer"}`, []string{`10`}, []string{`"10"`}},
		{`{"anyOf":[{"type":"number"},{"type":"string","pattern":"^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}]}`, []string{`1.5`}, []string{`"1.5"`}},
	} {
		set := freeze(t, functionTool("f", `"properties":{"p":`+test.schema+`},"required":["p"],`+defs))
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true})
		for _, value := range test.yes {
			matches(t, g, true, `{"p":`+value+`}`)
			if err := check(set, "f", `{"p":`+value+`}`); err != nil {
				t.Errorf("%s: %v", test.schema, err)
			}
		}
		for _, value := range test.not {
			matches(t, g, false, `{"p":`+value+`}`)
		}
	}
}

func functionTool(name, members string) tools.Tool {
	made := tool(name, members)
	made.Surface = tools.FromFunction
	return made
}

// TestIntegerRanges: every integer of a range and no other, over many ranges.
func TestIntegerRanges(t *testing.T) {
	ends := []int{-1000, -999, -120, -100, -99, -11, -10, -9, -1, 0, 1, 5, 9, 10, 11, 19, 20, 99, 100, 101, 999, 1000}
	for i, low := range ends {
		for _, high := range ends[i:] {
			g := callGrammar(t, tool("f", fmt.Sprintf(`"properties":{"p":{"type":"integer","minimum":%d,"maximum":%d}},"required":["p"]`, low, high)))
			for _, n := range slices.Concat(ends, []int{low - 1, low + 1, (low + high) / 2, high - 1, high + 1}) {
				matches(t, g, low <= n && n <= high, fmt.Sprintf(`{"p":%d}`, n))
			}
		}
	}
}

// TestWiderThanValid: what a grammar lets through and reading refuses, as docs/tools.md lists it.
func TestWiderThanValid(t *testing.T) {
	for schema, value := range map[string]string{
		`{"type":"integer"}`:                                          `9999999999999999`,
		`{"type":"integer","multipleOf":5}`:                           `7`,
		`{"type":"number","minimum":0.5}`:                             `0.25`,
		`{"type":"array","items":{"type":"null"},"uniqueItems":true}`: `[null,null]`,
		`{"type":"array","items":{"type":"null"},"maxItems":300}`:     `[` + strings.Repeat("null,", 300) + `null]`,
		`{"type":"string","maxLength":300}`:                           `"` + strings.Repeat("x", 301) + `"`,
		`{"type":"string","pattern":"\\bx"}`:                          `"y"`,
		`{"type":"string","pattern":"^a*$","maxLength":2}`:            `"aaa"`,
		`{"type":"object","additionalProperties":{"type":"null"}}`:    `{"a":null,"a":null}`,
		`{}`: strings.Repeat("[", 70) + strings.Repeat("]", 70),
	} {
		set := freeze(t, tool("f", `"properties":{"p":`+schema+`},"required":["p"]`))
		text := `{"tool_name":"f","arguments":{"p":` + value + `}}`
		if !grammar(t, set, tools.GrammarOptions{AllowCall: true}).match(text) {
			t.Errorf("%s isn't admitted", text)
		}
		reply, err := tools.ParseReply(text)
		if err == nil {
			err = set.Validate(*reply.Call)
		}
		if err == nil {
			t.Errorf("%s is valid", text)
		}
	}
}

// TestNarrowerThanValid: what is valid and a grammar doesn't let through, as docs/tools.md lists it.
func TestNarrowerThanValid(t *testing.T) {
	for schema, value := range map[string]string{
		`{"type":"number"}`:                                                 `1e+30`,
		`{"type":"number","minimum":0}`:                                     `1e-7`,
		`{"type":"string","format":"date"}`:                                 `"tomorrow"`,
		`{"type":"array","prefixItems":[{}]}`:                               `[1,2]`,
		`{"type":"object","additionalProperties":{},"properties":{"a":{}}}`: `{"a":1,"b":2}`,
		`{"minLength":2}`:                                                   `1`,
		`{"anyOf":[{"type":"number"},{"type":"string","pattern":"(?=1)"}]}`: `"1"`,
	} {
		set := freeze(t, tool("f", `"properties":{"p":`+schema+`},"required":["p"]`))
		call, err := tools.NewCall("f", []byte(`{"p":`+value+`}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := set.CallText(call)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if grammar(t, set, tools.GrammarOptions{AllowCall: true}).match(text) {
			t.Errorf("%s: %s is admitted", schema, text)
		}
	}
}
