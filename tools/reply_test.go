package tools_test

import (
	"strings"
	"testing"

	"edge/internal/fault"
	"edge/tools"
)

func TestParseReplyCalls(t *testing.T) {
	for _, test := range []struct{ text, name, arguments string }{
		{`{"tool_name":"f","arguments":{}}`, "f", `{}`},
		{"\r\n\t {\"arguments\" : { \"b\" : 2.0 , \"a\" : \"x\" } , \"tool_name\" : \"f\" } \n", "f", `{"a":"x","b":2}`},
		{`{"tool_name":"no such","arguments":{"a":"{\"tool_name\":\"g\"}"}}`, "no such", `{"a":"{\"tool_name\":\"g\"}"}`},
		{`{"tool_na\u006de":"f","arguments":{}}`, "f", `{}`},
	} {
		r, err := tools.ParseReply(test.text)
		if err != nil || r.Call == nil {
			t.Errorf("%s: got %+v, %v, want a call", test.text, r, err)
		} else if r.Call.ToolName != test.name || string(r.Call.Arguments) != test.arguments || r.Answer != "" {
			t.Errorf("%s: got %+v", test.text, r)
		}
	}
}

func TestParseReplyAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"Hello":                       "Hello",
		"  Hello { there }\n":         "Hello { there }",
		"[{\"tool_name\":\"f\"}]":     "[{\"tool_name\":\"f\"}]",
		"```json\n{\"tool_name\":1}":  "```json\n{\"tool_name\":1}",
		"Sure: {\"tool_name\":\"f\"}": "Sure: {\"tool_name\":\"f\"}",
		"\u00a0{}":                    "\u00a0{}",
		"\ufeff{}":                    "\ufeff{}",
		"0":                           "0",
	} {
		if r, err := tools.ParseReply(text); err != nil || r.Call != nil || r.Answer != want {
			t.Errorf("%q: got %+v, %v, want an answer", text, r, err)
		}
	}
}

func TestParseReplyRefuses(t *testing.T) {
	for _, test := range []struct {
		text string
		code fault.Code
		word string
	}{
		{"", fault.CodeInvalidToolCall, "said nothing"},
		{" \r\n\t", fault.CodeInvalidToolCall, "said nothing"},
		{"{", fault.CodeInvalidToolCall, "one complete JSON object"},
		{"{}", fault.CodeInvalidToolCall, `"tool_name" is missing`},
		{`{"tool_name":"f"}`, fault.CodeInvalidToolCall, `"arguments"`},
		{`{"arguments":{}}`, fault.CodeInvalidToolCall, `"tool_name" is missing`},
		{`{"tool_name":null,"arguments":{}}`, fault.CodeInvalidToolCall, `"tool_name" is missing`},
		{`{"tool_name":1,"arguments":{}}`, fault.CodeInvalidToolCall, "wrong type"},
		{`{"tool_name":"f","arguments":null}`, fault.CodeInvalidToolCall, `"arguments" isn't an object`},
		{`{"tool_name":"f","arguments":"{}"}`, fault.CodeInvalidToolCall, `"arguments" isn't an object`},
		{`{"tool_name":"f","arguments":[]}`, fault.CodeInvalidToolCall, `"arguments" isn't an object`},
		{`{"Tool_name":"f","arguments":{}}`, fault.CodeInvalidToolCall, "another member"},
		{`{"tool_name":"f","ARGUMENTS":{}}`, fault.CodeInvalidToolCall, "another member"},
		{`{"tool_name":"f","arguments":{},"id":1}`, fault.CodeInvalidToolCall, "another member"},
		{`{"tool_name":"f","tool_name":"g","arguments":{}}`, fault.CodeInvalidToolCall, "twice"},
		{`{"tool_name":"f","arguments":{},"arguments":{}}`, fault.CodeInvalidToolCall, "twice"},
		{`{"tool_name":"f","arguments":{"a":1,"a":2}}`, fault.CodeInvalidToolCall, "twice"},
		{`{"tool_name":"f","arguments":{}} {"tool_name":"g","arguments":{}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{}};`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{}} Done.`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{},}`, fault.CodeInvalidToolCall, "one complete"},
		{`{'tool_name':'f','arguments':{}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":\n[1]}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":"C:\new"q""}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":NaN}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":01}}`, fault.CodeInvalidToolCall, "one complete"},
		{"{\"tool_name\":\"f\",\"arguments\":{\"a\":\"\n\"}}", fault.CodeInvalidToolCall, "one complete"},
		{"{\"tool_name\":\"f\",\"arguments\":{\"a\":\"\xff\"}}", fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":"\ud800"}}`, fault.CodeInvalidToolCall, "one complete"},
		{`{"tool_name":"f","arguments":{"a":9007199254740993}}`, fault.CodeInvalidToolArgs, "parameter a: integer 9007199254740993"},
		{`{"tool_name":"f","arguments":{"a":1e999}}`, fault.CodeInvalidToolArgs, "parameter a"},
		{`{"tool_name":"f","arguments":{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`, fault.CodeInvalidToolArgs, "nested deeper"},
	} {
		r, err := tools.ParseReply(test.text)
		if e := wantCode(t, err, test.code); !strings.Contains(e.Message, test.word) {
			t.Errorf("%s: the message lacks %q: %s", test.text, test.word, e.Message)
		}
		if r != (tools.Reply{}) {
			t.Errorf("%s: got %+v beside the error", test.text, r)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	for _, seed := range []string{`{"tool_name":"f","arguments":{"a":1,"b":[true,null,"x"]}}`, "Hello", "", "{", `{"tool_name":"f","arguments":{}}{}`,
		`{"tool_name":"f","tool_name":"g","arguments":{}}`, `{"Tool_name":"f","arguments":{}}`, "```json\n{}\n```", `{"tool_name":"f","arguments":{"a":9007199254740993}}`,
		"{\"tool_name\":\"\xff\",\"arguments\":{}}", `{"tool_name":"\ud83d\ude00","arguments":{"\u0000":-0.0}}`, "\ufeff{}", `{"tool_name":"f","arguments":{"a":\n[1,2]\n}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := tools.ParseReply(text)
		switch {
		case err != nil:
			if e := fault.From(err); e.Code != fault.CodeInvalidToolCall && e.Code != fault.CodeInvalidToolArgs {
				t.Fatalf("got code %s: %v", e.Code, err)
			}
		case r.Call == nil:
			if r.Answer == "" || r.Answer[0] == '{' || !strings.Contains(text, r.Answer) {
				t.Fatalf("%q gave the answer %q", text, r.Answer)
			}
		default:
			// What was accepted is exactly one call: written again, it is the same one.
			made, err := tools.NewCall(r.Call.ToolName, r.Call.Arguments)
			if err != nil || string(made.Arguments) != string(r.Call.Arguments) {
				t.Fatalf("%q gave arguments that aren't canonical: %s (%v)", text, r.Call.Arguments, err)
			}
			if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
				t.Fatalf("%q gave a call", text)
			}
		}
	})
}
