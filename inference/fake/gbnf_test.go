package fake

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// verdict is what a grammar says of a text: refused at some byte, a beginning of something, or whole.
type verdict string

const (
	refused   verdict = "refused"
	beginning verdict = "beginning"
	whole     verdict = "whole"
)

func judge(t *testing.T, grammar, text string) verdict {
	t.Helper()
	g, err := parseGBNF(grammar)
	if err != nil {
		t.Fatalf("parse %q: %v", grammar, err)
	}
	m := newMatcher(g)
	at, ok := m.feed(m.start(), []byte(text))
	// In one piece and character by character must be the same.
	apart, okApart := m.start(), true
	for _, part := range strings.SplitAfter(text, "") {
		if okApart && utf8.ValidString(text) {
			apart, okApart = m.feed(apart, []byte(part))
		}
	}
	if utf8.ValidString(text) && (ok != okApart || ok && at.ends() != apart.ends()) {
		t.Errorf("%s on %q: in one piece %v, character by character %v", grammar, text, ok, okApart)
	}
	switch {
	case !ok:
		return refused
	case at.ends():
		return whole
	}
	return beginning
}

func TestGBNF(t *testing.T) {
	const json = `root ::= object
object ::= "{" ws ( member ("," ws member)* )? "}" ws
member ::= string ":" ws value
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
value  ::= object | array | string | number | ("true" | "false" | "null") ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20}`
	for _, tt := range []struct {
		name, grammar string
		want          map[string]verdict
	}{
		{"literal", `root ::= "yes"`, map[string]verdict{"": beginning, "y": beginning, "yes": whole, "yess": refused, "no": refused}},
		{"alternatives", `root ::= "a" | "ab" | "c"`, map[string]verdict{"a": whole, "ab": whole, "c": whole, "b": refused, "abc": refused}},
		{"empty alternative", `root ::= "a" | `, map[string]verdict{"": whole, "a": whole, "aa": refused}},
		{"empty literal", `root ::= "" "a" ""`, map[string]verdict{"": beginning, "a": whole}},
		{"sequence", `root ::= "a" "b"  "c"`, map[string]verdict{"ab": beginning, "abc": whole, "ac": refused}},
		{"rules", "root ::= word \" \" word\nword ::= [a-z]+", map[string]verdict{"ab c": whole, "ab": beginning, "ab ": beginning, "ab  c": refused}},
		{"rule used before it is defined", "a ::= \"x\" b\nroot ::= a\nb ::= \"y\"", map[string]verdict{"xy": whole}},
		{"recursion", `root ::= "(" root ")" | "x"`, map[string]verdict{"((x))": whole, "((x)": beginning, "(x))": refused}},
		{"group", `root ::= ("a" | "b") "c"`, map[string]verdict{"ac": whole, "bc": whole, "c": refused}},
		{"group over lines", "root ::= (\n  \"a\" |\n  \"b\" # second\n) \"c\"", map[string]verdict{"bc": whole}},
		{"alternatives over lines", "root ::= \"a\" |\n  \"b\"\n", map[string]verdict{"a": whole, "b": whole}},
		{"comments", "# first\nroot ::= \"#\" # not this\n# last", map[string]verdict{"#": whole}},
		{"carriage returns", "root ::= x\r\nx ::= \"a\"\r\n", map[string]verdict{"a": whole}},
		{"optional", `root ::= "a"? "b"`, map[string]verdict{"ab": whole, "b": whole, "aab": refused}},
		{"star", `root ::= "ab"* "c"`, map[string]verdict{"c": whole, "ababc": whole, "abac": refused}},
		{"plus", `root ::= [0-9]+`, map[string]verdict{"": beginning, "1": whole, "123": whole, "1a": refused}},
		{"exactly", `root ::= "a"{3}`, map[string]verdict{"aa": beginning, "aaa": whole, "aaaa": refused}},
		{"at least", `root ::= "a"{2,}`, map[string]verdict{"a": beginning, "aa": whole, "aaaaa": whole}},
		{"between", `root ::= ("a" | "b"){1,3} "."`, map[string]verdict{".": refused, "a.": whole, "aba.": whole, "abab": refused}},
		{"at most", `root ::= "a"{0,2}`, map[string]verdict{"": whole, "aa": whole, "aaa": refused}},
		{"none", `root ::= "a"{0} "b"`, map[string]verdict{"b": whole, "a": refused}},
		{"blanks in a repetition", `root ::= "a"{ 1 , 2 }`, map[string]verdict{"aa": whole}},
		{"repeated repetition", `root ::= "a"{2}{2}`, map[string]verdict{"aaaa": whole, "aaa": beginning}},
		{"more than the limit at most is no limit", `root ::= "a"{0,2001}`, map[string]verdict{strings.Repeat("a", 2500): whole}},
		{"class", `root ::= [a-cx_]`, map[string]verdict{"a": whole, "c": whole, "d": refused, "x": whole, "_": whole, "-": refused}},
		{"class with a dash at its end", `root ::= [a-]`, map[string]verdict{"a": whole, "-": whole, "b": refused}},
		{"class of escapes", `root ::= [\]\[\\\-\n\t\x41]`, map[string]verdict{"]": whole, "[": whole, "\\": whole, "-": whole, "\n": whole, "A": whole, "B": refused}},
		{"negated class", `root ::= [^a-c]`, map[string]verdict{"a": refused, "d": whole, "é": whole, "😀": whole}},
		{"any character", `root ::= . "!"`, map[string]verdict{"é!": whole, "\n!": whole, "!!": whole, "ab": refused}},
		{"escapes", `root ::= "\"\\\n\r\t\x41\u00e9\U0001F600"`, map[string]verdict{"\"\\\n\r\tAé😀": whole}},
		{"UTF-8 in the grammar", `root ::= "é" [日-本あ] "😀"`, map[string]verdict{"é日😀": whole, "éあ😀": whole, "éい😀": refused}},
		{"beginning of a character", `root ::= [é-ü]`, map[string]verdict{"\xc3": beginning, "\xc3\xa9": whole, "\xc3\xbc": whole, "\xc3\xbd": refused, "\xc4": refused}},
		{"beginning of a long character", `root ::= [\U0001F600-\U0001F64F]`, map[string]verdict{"\xf0": beginning, "\xf0\x9f": beginning, "\xf0\x9f\x98": beginning, "\xf0\x9f\x98\x80": whole, "\xf0\x9e": refused}},
		{"beginning of a character beside an excluded one", `root ::= [^\U0001F600]`, map[string]verdict{"😀": refused, "\xf0\x9f": refused, "\xf0\xa0": beginning, "é": whole}},
		{"no character but ASCII", `root ::= [^\U00000080-\U0010FFFF]`, map[string]verdict{"a": whole, "\xc3": refused, "\xe6": refused, "\xf0": refused}},
		{"bytes that aren't UTF-8", `root ::= .+`, map[string]verdict{"\xff": refused, "a\x80": refused, "\xc0\x80": refused, "\xed\xa0\x80": refused}},
		{"what can't go on isn't a beginning", "root ::= \"a\" [^\\x00-\\U0010FFFF]", map[string]verdict{"a": beginning, "ab": refused}},
		{"JSON", json, map[string]verdict{
			`{"a": [1, -2.5e3, {"b": "é\u00e9\n"}], "c": null}`: whole,
			`{"a":1`: beginning, `{"a":01}`: refused, `{a:1}`: refused, `{}`: whole, `[]`: refused,
		}},
	} {
		for text, want := range tt.want {
			if got := judge(t, tt.grammar, text); got != want {
				t.Errorf("%s: %q: got %s, want %s", tt.name, text, got, want)
			}
		}
	}
}

// TestGBNFRefuses: the message says where and what.
func TestGBNFRefuses(t *testing.T) {
	for _, tt := range []struct{ name, grammar, says string }{
		{"nothing", "", "no rule root"},
		{"no root", `start ::= "a"`, "no rule root"},
		{"root only mentioned", "start ::= root", "root isn't defined"},
		{"unknown rule", "root ::= \"a\"\nb ::= missing", "missing isn't defined"},
		{"rule defined twice", "root ::= \"a\"\nroot ::= \"b\"", "line 2: rule root is defined twice"},
		{"no definition", "root = \"a\"", `want "::="`},
		{"no name", `::= "a"`, "want a rule's name"},
		{"underscore in a name", `my_rule ::= "a"`, `want "::="`},
		{"open literal", "root ::= \"a\n", "ends inside"},
		{"open class", `root ::= [a-`, "ends inside"},
		{"open group", `root ::= ("a"`, `want ")"`},
		{"group closed twice", `root ::= ("a"))`, "isn't expected here"},
		{"alternative on a line of its own", "root ::= \"a\"\n| \"b\"", "want a rule's name"},
		{"unknown escape", `root ::= "\q"`, "unknown escape"},
		{"short number", `root ::= "\x4"`, "hex digits"},
		{"number beyond Unicode", `root ::= "\U00110000"`, "hex digits"},
		{"nothing to repeat", `root ::= * "a"`, "nothing to repeat"},
		{"repetition without numbers", `root ::= "a"{,3}`, "isn't a number"},
		{"open repetition", `root ::= "a"{1`, `want "}"`},
		{"empty repetition", `root ::= "a"{3,1}`, "empty"},
		{"too many repetitions", `root ::= "a"{2001}`, "more than 2000"},
		{"too many in all", `root ::= ("a"{0,100}){0,100}`, "more than 2000"},
		{"left recursion", `root ::= root "a" | "b"`, "left-recursive"},
		{"left recursion over rules", "root ::= a\na ::= b \"x\"\nb ::= \"y\"? a", "left-recursive"},
		{"repeated nothing", `root ::= ("a"?)*`, "left-recursive"},
	} {
		_, err := parseGBNF(tt.grammar)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want it to say %q", tt.name, err, tt.says)
		}
	}
}

// TestGBNFStaysSmall: ambiguous and deep grammars have few ways to go on.
func TestGBNFStaysSmall(t *testing.T) {
	for _, grammar := range []string{
		`root ::= ("a" "a"?){1,200}`,
		`root ::= "a"{0,2000}`,
		`root ::= ("a" | "a" | "aa"){1,300}`,
		`root ::= [^"]* "a"* "a"*`,
	} {
		g, err := parseGBNF(grammar)
		if err != nil {
			t.Fatalf("%s: %v", grammar, err)
		}
		m := newMatcher(g)
		at := m.start()
		for i := range 150 {
			var ok bool
			if at, ok = m.feed(at, []byte("a")); !ok {
				t.Fatalf("%s: refused character %d", grammar, i)
			}
			if len(at.frames) > 500 {
				t.Fatalf("%s: %d ways to go on after %d characters", grammar, len(at.frames), i)
			}
		}
	}
}
