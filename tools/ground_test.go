package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"edge/internal/fault"
	"edge/tools"
)

func fromRequest(request string) *tools.Grounding {
	return &tools.Grounding{Request: request, Default: tools.ParamPolicy{Source: tools.FromRequest}}
}

// say writes a call of f with one string argument.
func say(text string) string {
	literal, _ := json.Marshal(text)
	return `{"tool_name":"f","arguments":{"s":` + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace(string(literal)) + `}}`
}

func TestGroundedSpans(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"s":{"type":"string"}},"required":["s"]`))
	for _, test := range []struct {
		request  string
		yes, not []string
	}{
		{"Email Bob: I am late", []string{"Bob", "Bob:", "I am late", "Email Bob: I am late", "am", "Email", "Bob: I"},
			[]string{"", "bob", "Alice", "I late", "Bob I am late", " Bob", "late ", "ob", "am lat", "I  am late", "late late"}},
		{"send a mail to ann@x.org: hi there", []string{"ann@x.org", "hi there", "ann@x.org: hi"}, []string{"x.org", "ann"}},
		{`Read "my notes.txt" (now), please!`, []string{"my notes.txt", `"my notes.txt"`, `"my`, "now", "(now)", "now)", "(now", "(now),", "please", "please!", `"my notes.txt" (now`},
			[]string{"notes", "my notes", "my notes.txt (now", "y notes.txt"}},
		{"weather in Porto's centre?", []string{"Porto", "Porto's", "centre", "Porto's centre", "centre?"}, []string{"Porto'", "Porto centre", "s"}},
		{"it’s Ann’s", []string{"Ann", "Ann’s", "it"}, []string{"Ann’"}},
		{"list: a, b... c--", []string{"a", "a,", "a, b", "b.", "b..", "b...", "c", "c-", "c--", "a, b... c"}, []string{"a b", "b... c---"}},
		{"order A-17 for C++ at ./run.sh", []string{"A-17", "C++", "C", "C+", "./run.sh", "/run.sh", "run.sh"}, []string{"17", "run"}},
		{"two\n\tlines  and   spaces", []string{"two\n\tlines", "lines  and", "lines  and   spaces"}, []string{"two lines", "lines and"}},
		{`path C:\new "q" \ end`, []string{`C:\new`, `C:\new "q"`, `q`, `\`, `"q" \ end`}, []string{`C:`, `new`}},
		{"😀 !! ok", []string{"😀", "!!", "ok", "😀 !! ok"}, []string{"!"}},
		{"请查询北京的天气。", []string{"北京", "北京的天气", "天气", "天气。", "请查询北京的天气。"}, []string{"上海", "北天", ""}},
		{"서울의 날씨", []string{"서울", "서울의", "날씨"}, []string{"서날"}},
		{"東京Tower 2階", []string{"東京", "Tower", "東京Tower", "2", "2階"}, []string{"ower"}},
		{"caf\u00e9 cafe\u0301", []string{"caf\u00e9", "cafe\u0301"}, []string{"cafe", "caf"}},
		{"a\u0001b </s> <|im_end|>", []string{"a\u0001b", "</s>", "s", "<|im_end|>", "im_end"}, nil},
		{"नमस्ते दुनिया", []string{"नमस्ते", "दुनिया"}, []string{"नमस्"}},
	} {
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true, Ground: fromRequest(test.request)})
		for _, text := range test.yes {
			if !g.match(say(text)) {
				t.Errorf("%q: %q isn't admitted", test.request, text)
			}
		}
		for _, text := range test.not {
			if g.match(say(text)) {
				t.Errorf("%q: %q is admitted", test.request, text)
			}
		}
	}
}

// Every run of whole words is admitted, and whatever is admitted stands in the request, letter by letter.
func TestGroundedSpansProperty(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"s":{"type":"string"}},"required":["s"]`))
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"a", "Bob's", " ", "\n", "\"", "\\", ",", "日", "本", "é", "(x)", "1,200", "...", "😀", "\u00a0"}), rapid.StringN(0, 4, -1))
		request := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "pieces"), "")
		text, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Ground: fromRequest(request)})
		if err != nil {
			t.Fatal(err)
		}
		g, err := parseGBNF(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		fields := strings.FieldsFunc(request, unicode.IsSpace)
		if len(fields) == 0 {
			return
		}
		i := rapid.IntRange(0, len(fields)-1).Draw(t, "from")
		j := rapid.IntRange(i, len(fields)-1).Draw(t, "to")
		at := 0
		for range i {
			at = next(request, at)
		}
		end := at
		for k := i; k <= j; k++ {
			start := end + strings.IndexFunc(request[end:], func(r rune) bool { return !unicode.IsSpace(r) })
			if k == i {
				at = start
			}
			end = start + len(fields[k])
		}
		call, err := tools.NewCall("f", mustJSON(t, map[string]string{"s": request[at:end]}))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := set.CallText(call)
		if err != nil {
			t.Fatal(err)
		}
		if !g.match(whole) {
			t.Fatalf("%q: the words %q aren't admitted in\n%s", request, request[at:end], text)
		}
		reply, err := tools.ParseReply(g.sentence(t))
		if err != nil {
			t.Fatal(err)
		}
		var arguments struct{ S string }
		if err := json.Unmarshal(reply.Call.Arguments, &arguments); err != nil {
			t.Fatal(err)
		}
		if arguments.S == "" || !strings.Contains(request, arguments.S) {
			t.Fatalf("%q: %q is admitted", request, arguments.S)
		}
	})
}

// next is the position behind the word that starts at or after at.
func next(request string, at int) int {
	at += strings.IndexFunc(request[at:], func(r rune) bool { return !unicode.IsSpace(r) })
	if n := strings.IndexFunc(request[at:], unicode.IsSpace); n >= 0 {
		return at + n
	}
	return len(request)
}

func mustJSON(t *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGroundingPolicies(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"s":{"type":"string"},"n":{"type":["integer","null"]},"e":{"enum":["x","y"]},"l":{"type":"array","items":{"type":"string"}},"b":{"type":"boolean"}},"required":["s"]`))
	ground := func(policies map[string]tools.ParamPolicy) *gbnf {
		return grammar(t, set, tools.GrammarOptions{AllowCall: true, Ground: &tools.Grounding{Request: "take 4 red apples", Params: map[string]map[string]tools.ParamPolicy{"f": policies}}})
	}
	from := tools.ParamPolicy{Source: tools.FromRequest}

	g := ground(nil) // nothing said: all free
	matches(t, g, true, `{"s":"blue"}`, `{"s":"","b":true,"e":"x","l":["q"],"n":7}`)

	g = ground(map[string]tools.ParamPolicy{"s": from, "n": from, "e": from, "l": from, "b": from})
	matches(t, g, true, `{"s":"red apples"}`, `{"s":"red","b":false,"e":"y","l":["apples","take 4"],"n":4}`, `{"s":"4","n":null}`)
	matches(t, g, false, `{"s":"blue"}`, `{"s":"red","n":5}`, `{"s":"red","l":["blue"]}`, `{"s":"red","e":"z"}`)

	g = ground(map[string]tools.ParamPolicy{"n": {Include: tools.IncludeRequired}, "b": {Include: tools.IncludeAbsent}, "e": {Include: tools.IncludeAbsent}})
	matches(t, g, true, `{"s":"","n":1}`, `{"s":"","l":[],"n":1}`)
	matches(t, g, false, `{"s":""}`, `{"s":"","l":[]}`, `{"s":"","b":true,"n":1}`, `{"s":"","e":"x","n":1}`)

	g = ground(map[string]tools.ParamPolicy{"s": {Candidates: []string{`"A-17"`, `"\u00e9"`}}, "n": {Candidates: []string{`3.0`, `null`}}, "l": {Candidates: []string{`[ "a", "b" ]`}}})
	matches(t, g, true, `{"s":"A-17"}`, `{"s":"é","n":3}`, `{"s":"é","l":["a","b"],"n":null}`)
	matches(t, g, false, `{"s":"A-1"}`, `{"s":"é","n":4}`, `{"s":"é","l":["a"]}`)

	// An optional parameter forced where none is required: every order of commas.
	opt := freeze(t, tool("f", `"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}}`))
	g = grammar(t, opt, tools.GrammarOptions{AllowCall: true, Ground: &tools.Grounding{Params: map[string]map[string]tools.ParamPolicy{"f": {"b": {Include: tools.IncludeRequired}}}}})
	matches(t, g, true, `{"b":2}`, `{"a":1,"b":2}`, `{"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`)
	matches(t, g, false, `{}`, `{"a":1}`, `{"c":3}`, `{"a":1,"c":3}`, `{,"b":2}`, `{"b":2,}`)
	g = grammar(t, opt, tools.GrammarOptions{AllowCall: true, Ground: &tools.Grounding{Default: tools.ParamPolicy{Include: tools.IncludeAbsent}}})
	matches(t, g, true, `{}`)
	matches(t, g, false, `{"a":1}`)
}

func TestGroundingFallsBackToFree(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"s":{"type":"string"},"n":{"type":"number"}},"required":["s","n"]`))
	for _, request := range []string{"", " \n", strings.Repeat("many words ", 300)} {
		g := grammar(t, set, tools.GrammarOptions{AllowCall: true, Ground: fromRequest(request)})
		matches(t, g, true, `{"s":"anything","n":12.5}`)
	}
}

func TestGroundingRefuses(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"s":{"type":"string"},"n":{"type":"integer"}},"required":["s"]`))
	try := func(g *tools.Grounding) error {
		_, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Ground: g})
		return err
	}
	wantCode(t, try(fromRequest("a\xffb")), fault.CodeInvalidArguments)
	for name, policy := range map[string]map[string]tools.ParamPolicy{
		"a required parameter left out":    {"s": {Include: tools.IncludeAbsent}},
		"a candidate that isn't JSON":      {"s": {Candidates: []string{`x`}}},
		"a candidate of another type":      {"n": {Candidates: []string{`"x"`}}},
		"a candidate beyond the integers":  {"n": {Candidates: []string{`9007199254740993`}}},
		"one bad candidate among good":     {"n": {Candidates: []string{`1`, `1.5`}}},
		"a candidate of more than a value": {"n": {Candidates: []string{`1 2`}}},
	} {
		if try(&tools.Grounding{Params: map[string]map[string]tools.ParamPolicy{"f": policy}}) == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Spans of n words are n(n+1)/2, their rules only n.
func TestGroundingSize(t *testing.T) {
	set := freeze(t, tool("f", `"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]`))
	text, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Ground: fromRequest(strings.Repeat("word, ", 400))})
	if err != nil {
		t.Fatal(err)
	}
	if rules := strings.Count(text, "::="); rules > 410 {
		t.Errorf("got %d rules", rules)
	}
}
