package canon_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/canon"
)

// The worked examples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestRFCExamples(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"3.2.2", `{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"3.2.3", `{
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
}`, `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
			`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := canon.Transform([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// RFC 8785, appendix B. A row without text is a number that this package refuses: no number at all, or an integer
// beyond ±(2^53−1) that its canonical text would write out in digits.
func TestRFCNumbers(t *testing.T) {
	tests := []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x433fffffffffffff, "9007199254740991"},
		{0x4340000000000000, ""},
		{0xc340000000000000, ""},
		{0x4430000000000000, ""},
		{0x7fffffffffffffff, ""},
		{0x7ff0000000000000, ""},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, ""},
		{0x444b1ae4d6e2ef4f, ""},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	}
	for _, test := range tests {
		number := math.Float64frombits(test.bits)
		got, err := canon.Marshal(number)
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%016x: got %q (%v), want %q", test.bits, got, err, test.want)
		}
	}
}

func TestNumberLiterals(t *testing.T) {
	tests := []struct{ in, want string }{
		{"9007199254740991", "9007199254740991"},
		{"-9007199254740991", "-9007199254740991"},
		{"9007199254740992", ""},
		{"9007199254740993", ""},
		{"-9007199254740992", ""},
		{"9007199254740991.0", "9007199254740991"},
		{"9007199254740992.0", ""},
		{"9.007199254740992e15", ""},
		{"123456789012345678901", ""},
		{"1e20", ""},
		{"-1e20", ""},
		{"999999999999999999999", ""},
		{"1000000000000000000000", ""},
		{"1e21", "1e+21"},
		{"1.0e21", "1e+21"},
		{"1" + strings.Repeat("0", 400), ""},
		{"1e400", ""},
		{"-1e400", ""},
		{"1e-400", "0"},
		{"-0", "0"},
		{"-0.0e5", "0"},
		{"1.0", "1"},
		{"1E2", "100"},
		{"0.1", "0.1"},
		{"01", ""},
		{"+1", ""},
		{"1.", ""},
		{".5", ""},
		{"0x10", ""},
		{"1_000", ""},
		{"NaN", ""},
		{"Infinity", ""},
		{"-Infinity", ""},
	}
	for _, test := range tests {
		got, err := canon.Transform([]byte(test.in))
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%.50s: got %q (%v), want %q", test.in, got, err, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	tests := []struct{ name, in, says string }{
		{"nothing", ``, "EOF"},
		{"white space only", " \n", "EOF"},
		{"two values", `1 2`, "more than one value"},
		{"two values with a comma", `1,2`, ""},
		{"a value and a bracket", `{}]`, ""},
		{"half an object", `{"a":1`, "EOF"},
		{"no value", `{"a":}`, ""},
		{"no colon", `{"a" 1}`, ""},
		{"no comma in an array", `[1 2]`, ""},
		{"no comma in an object", `{"a":1 "b":2}`, ""},
		{"a comma at the end of an array", `[1,]`, ""},
		{"a comma at the end of an object", `{"a":1,}`, ""},
		{"a comma at the start", `[,1]`, ""},
		{"the wrong bracket", `[1}`, ""},
		{"a bare word", `{a:1}`, ""},
		{"single quotes", `{'a':1}`, ""},
		{"a comment", `{"a":1/**/}`, ""},
		{"a byte order mark", "\ufeff{}", ""},
		{"a control character in a string", "\"a\nb\"", ""},
		{"a bad escape", `"\x"`, ""},
		{"half an escape", `"\u12`, ""},
		{"half an escape at the end of a string", `"\u12"`, ""},
		{"a signed escape", `"\u+123"`, ""},
		{"invalid UTF-8", "\"\xff\"", "UTF-8"},
		{"a surrogate in UTF-8", "\"\xed\xa0\x80\"", "UTF-8"},
		{"invalid UTF-8 in a key", "{\"\xc0\xaf\":1}", "UTF-8"},
		{"a lone high surrogate", `"\ud800"`, "lone surrogate"},
		{"a lone low surrogate", `"\udc00"`, "lone surrogate"},
		{"a high surrogate and a letter", `"\ud800x"`, "lone surrogate"},
		{"two high surrogates", `"\ud800\ud800"`, "lone surrogate"},
		{"a pair the wrong way round", `"\udc00\ud800"`, "lone surrogate"},
		{"a high surrogate and another escape", `"\uD83D\u0041"`, "lone surrogate"},
		{"a lone surrogate in a key", `{"\udead":1}`, "lone surrogate"},
		{"a lone surrogate after a quote in a string", `["\"","\ud800"]`, "lone surrogate"},
		{"a duplicate key", `{"a":1,"b":2,"a":1}`, `duplicate key "a"`},
		{"a duplicate key, escaped", `{"a":1,"\u0061":2}`, `duplicate key "a"`},
		{"a duplicate key inside", `[{"x":{"é":1,"\u00e9":1}}]`, `duplicate key "é"`},
		{"a duplicate empty key", `{"":1,"":2}`, `duplicate key ""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := canon.Transform([]byte(test.in))
			if err == nil {
				t.Fatalf("accepted as %s", got)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, want it to say %q", err, test.says)
			}
			var into any
			if canon.Unmarshal([]byte(test.in), &into) == nil {
				t.Error("Unmarshal accepts what Transform refuses")
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"a string", ` "x" `, `"x"`},
		{"a literal", "\ttrue\r\n", `true`},
		{"empty", ` [ { } , [ ] , "" ] `, `[{},[],""]`},
		{"a surrogate pair", `"\ud83d\ude00\ud83d\ude00"`, `"😀😀"`},
		{"an escaped backslash before a u", `"\\ud800"`, `"\\ud800"`},
		{"equal keys in different objects", `[{"a":1},{"a":{"a":2}}]`, `[{"a":1},{"a":{"a":2}}]`},
		{"HTML is not escaped", `"<a href='x'>&\u2028</a>"`, "\"<a href='x'>&\u2028</a>\""},
		{"no normalisation", `["e\u0301","\u00e9"]`, "[\"e\u0301\",\"\u00e9\"]"},
		{"control characters", `"\u0000\u001f\u007f\b\f"`, "\"\\u0000\\u001f\u007f\\b\\f\""},
		{"keys by UTF-16 unit", `{"\ue000":1,"\ud800\udc00":2}`, "{\"\U00010000\":2,\"\ue000\":1}"},
		{"a key that begins another", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := canon.Transform([]byte(test.in))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	nest := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	for _, test := range []struct{ open, inner, closing string }{{"[", "", "]"}, {"[", "1", "]"}, {`{"a":`, "{}", "}"}, {`[{"a":`, "[]", "}]"}} {
		per := strings.Count(test.open, "[") + strings.Count(test.open, "{")
		inner := strings.Count(test.inner, "[") + strings.Count(test.inner, "{")
		fits := (canon.MaxDepth - inner) / per
		if err := canon.Check([]byte(nest(test.open, test.inner, test.closing, fits))); err != nil {
			t.Errorf("%d × %s: %v", fits, test.open, err)
		}
		if err := canon.Check([]byte(nest(test.open, test.inner, test.closing, fits+1))); err == nil || !strings.Contains(err.Error(), "nested deeper than 64") {
			t.Errorf("%d × %s: got %v", fits+1, test.open, err)
		}
	}
	// Hostile depth costs an error, and neither a stack nor a second.
	if err := canon.Check([]byte(strings.Repeat("[", 10_000_000))); err == nil {
		t.Error("ten million brackets were accepted")
	}
}

func TestMarshal(t *testing.T) {
	type inner struct {
		B int               `json:"b"`
		A []string          `json:"a"`
		Z map[string]any    `json:"z,omitempty"`
		R json.RawMessage   `json:"r"`
		M map[string]string `json:"m"`
	}
	got, err := canon.Marshal(inner{B: 1, A: []string{"<&>"}, R: json.RawMessage(`{"y":1.0,"x":"\u00e9"}`), M: map[string]string{"k2": "", "k1": ""}})
	want := `{"a":["<&>"],"b":1,"m":{"k1":"","k2":""},"r":{"x":"é","y":1}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	for name, value := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(-1), "a channel": make(chan int), "a big integer": int64(1 << 53),
		"a big unsigned": uint64(math.MaxUint64), "raw duplicate keys": json.RawMessage(`{"a":1,"a":2}`),
		"a lone surrogate": json.RawMessage(`"\ud800"`), "raw rubbish": json.RawMessage(`{`),
	} {
		if got, err := canon.Marshal(value); err == nil {
			t.Errorf("%s became %s", name, got)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	type target struct {
		Confirm bool    `json:"confirm"`
		Count   int     `json:"count"`
		Share   float64 `json:"share"`
		Inner   *struct {
			Name string `json:"name"`
		} `json:"inner"`
		Raw json.RawMessage `json:"raw"`
	}
	var got target
	if err := canon.Unmarshal([]byte(`{"confirm":true,"count":7,"inner":{"name":"n"},"raw":[1, 2]}`), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Confirm || got.Count != 7 || got.Inner == nil || got.Inner.Name != "n" || string(got.Raw) != "[1, 2]" {
		t.Errorf("got %+v", got)
	}
	for name, in := range map[string]string{
		"an unknown field":           `{"confirm":true,"more":1}`,
		"an unknown field inside":    `{"inner":{"name":"n","nick":"m"}}`,
		"a field in the wrong case":  `{"CONFIRM":true}`,
		"the wrong case beside it":   `{"confirm":false,"Confirm":true}`,
		"a string for a number":      `{"count":"7"}`,
		"a number for a bool":        `{"confirm":1}`,
		"a fraction for an int":      `{"count":1.5}`,
		"a duplicate field":          `{"count":1,"count":2}`,
		"a duplicate in a raw field": `{"raw":{"a":1,"a":1}}`,
		"a big integer in a raw one": `{"raw":9007199254740993}`,
		"more than one value":        `{} {}`,
		"an array":                   `[]`,
	} {
		if err := canon.Unmarshal([]byte(in), &target{}); err == nil {
			t.Errorf("%s was accepted: %s", name, in)
		}
	}
}
