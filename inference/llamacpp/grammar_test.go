package llamacpp_test

import (
	"strings"
	"testing"

	"edge/inference"
	"edge/inference/fake"
)

// verdict is what a model's grammar says of a text that is written token by token.
type verdict struct{ allowed, mayEnd bool }

func judge(t *testing.T, m inference.Model, gbnf, text string) verdict {
	t.Helper()
	g, err := m.NewGrammar(gbnf)
	if err != nil {
		t.Fatalf("%s: %v", gbnf, err)
	}
	defer g.Close()
	tokens, err := m.Tokenize(text, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if len(g.Filter([]inference.Token{token})) == 0 {
			return verdict{}
		}
		g.Accept(token)
	}
	return verdict{true, len(g.Filter([]inference.Token{m.Info().EOS})) == 1}
}

// TestGrammarAgreesWithFake: tests of chat run on the fake's grammars, so those must say what the engine's say.
func TestGrammarAgreesWithFake(t *testing.T) {
	real := smol(t)
	double, err := fake.New(fake.Options{}).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer double.Close()
	const call = `root   ::= answer | call
answer ::= [^{\x00-\x1f] [^\x00]{0,20}
call   ::= "{\"tool_name\":" (quote | convert) "}"
quote  ::= "\"fee_quote\",\"arguments\":{\"amount\":" number (",\"currency\":" currency)? "}"
convert ::= "\"convert\",\"arguments\":{\"text\":" string ",\"flags\":[" (bool ("," bool){0,2})? "]}"
currency ::= "\"EUR\"" | "\"日本円\"" | "\"caf\u00e9\"" | "null"
bool   ::= "true" | "false"
number ::= "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})?
string ::= "\"" ([^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})){0,30} "\""`
	for _, tt := range []struct {
		grammar string
		texts   []string
	}{
		{call, []string{
			"", "{", "Hello", "Hello 日本 😀, this is a longer answer than may be", "\n", "é", "😀",
			`{"tool_name":"fee_quote","arguments":{"amount":250}}`, `{"tool_name":"fee_quote","arguments":{"amount":-0.75,"currency":"EUR"}}`,
			`{"tool_name":"fee_quote","arguments":{"amount":007}}`, `{"tool_name":"fee_quote","arguments":{"amount":1.}}`, `{"tool_name":"fee_quote","arguments":{"amount":1`,
			`{"tool_name":"fee_quote","arguments":{"amount":1,"currency":"日本円"}}`, `{"tool_name":"fee_quote","arguments":{"amount":1,"currency":"café"}}`,
			`{"tool_name":"fee_quote","arguments":{"amount":1,"currency":"日本"}}`, `{"tool_name":"fee_quote","arguments":{"amount":1,"currency":null}}`,
			`{"tool_name": "fee_quote"}`, `{"tool_name":"fee_quote","arguments":{"amount":1}} `, `{"tool_name":"no_such","arguments":{}}`,
			`{"tool_name":"convert","arguments":{"text":"a \"b\" \\ \u00e9 é日😀","flags":[true,false]}}`, `{"tool_name":"convert","arguments":{"text":"","flags":[]}}`,
			`{"tool_name":"convert","arguments":{"text":"` + strings.Repeat("x", 30) + `","flags":[true]}}`, `{"tool_name":"convert","arguments":{"text":"` + strings.Repeat("x", 31) + `","flags":[true]}}`,
			`{"tool_name":"convert","arguments":{"text":"a\q","flags":[]}}`, "{\"tool_name\":\"convert\",\"arguments\":{\"text\":\"a\nb\",\"flags\":[]}}",
			`{"tool_name":"convert","arguments":{"text":"a","flags":[true,true,true,true]}}`,
		}},
		{`root ::= ("ab" | "a" "b"* | "")+ "!"?`, nil}, // left-recursive: both must refuse it
		{`root ::= [a-z]{2,4} ("-" [a-z]{2,4}){0,2}`, []string{"a", "ab", "abcde", "ab-cd", "ab-cd-ef", "ab-cd-ef-gh", "ab-"}},
		{"root ::= \"x\" tail # comment\ntail ::= \"y\" tail |\n  \"z\"\n", []string{"x", "xz", "xyyz", "xyy", "z"}},
		// A character beyond ASCII excludes its neighbours too, where a token holds only its first bytes; so none is tried.
		{`root ::= [^a-zé\U0001F600]+`, []string{"A", "a", "é", "😀", "日本", "Aé"}},
		{`root ::= . .`, []string{"a", "ab", "日本", "😀😀", "a\n", "abc"}},
		{`root ::= "\x41\u00e9\U0001F600\t\"\\"`, []string{"Aé😀\t\"\\", "Aé😀"}},
	} {
		if tt.texts == nil {
			for name, m := range map[string]inference.Model{"engine": real, "fake": double} {
				if g, err := m.NewGrammar(tt.grammar); err == nil {
					g.Close()
					t.Errorf("the %s takes the grammar %s", name, tt.grammar)
				}
			}
		}
		for _, text := range tt.texts {
			if got, want := judge(t, double, tt.grammar, text), judge(t, real, tt.grammar, text); got != want {
				t.Errorf("%q under %s: the fake says %+v, the engine %+v", text, tt.grammar, got, want)
			}
		}
	}
}
