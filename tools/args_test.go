package tools_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"edge/internal/canon"
	"edge/internal/fault"
	"edge/tools"
)

// check makes and validates a call, as every way into a tool does.
func check(set *tools.ActiveSet, name, arguments string) error {
	c, err := tools.NewCall(name, []byte(arguments))
	if err != nil {
		return err
	}
	return set.Validate(c)
}

func TestValidateAccepts(t *testing.T) {
	set := freeze(t, feeQuote(), pay(), tool("ping", ""))
	for _, c := range [][2]string{
		{"fee_quote", `{"amount":1}`},
		{"fee_quote", `{"amount":-1.5e-7,"tier":"pro","note":null,"ids":[],"flag":true}`},
		{"fee_quote", `{"amount":1e300,"note":"日本 ✓","ids":[1,-2,3.0]}`},
		{"pay", `{"amount":3.0,"to":""}`},
		{"pay", `{"amount":9007199254740991,"to":"x"}`},
		{"pay", `{"amount":-9007199254740991,"to":"x"}`},
		{"pay", `{"amount":-0,"to":"x"}`},
		{"ping", ` {} `},
	} {
		if err := check(set, c[0], c[1]); err != nil {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	set := freeze(t, feeQuote(), pay(), tool("ping", ""))
	for _, test := range []struct{ tool, arguments, parameter, message string }{
		{"pay", `{"amount":"3","to":"x"}`, "amount", `parameter amount: got "3" (a string), want an integer`},
		{"pay", `{"amount":3.5,"to":"x"}`, "amount", `parameter amount: got 3.5 (a number), want an integer`},
		{"pay", `{"amount":true,"to":"x"}`, "amount", `parameter amount: got true (a boolean), want an integer`},
		{"pay", `{"amount":null,"to":"x"}`, "amount", `parameter amount: got null, want an integer`},
		{"pay", `{"amount":[3],"to":"x"}`, "amount", `parameter amount: got [3] (an array), want an integer`},
		{"pay", `{"amount":9007199254740993,"to":"x"}`, "amount", `parameter amount: integer 9007199254740993 is beyond ±(2^53−1)`},
		{"pay", `{"amount":1e30,"to":"x"}`, "amount", `parameter amount: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{"pay", `{"amount":1e400,"to":"x"}`, "amount", `parameter amount: number 1e400 is out of range`},
		{"pay", `{"amount":1,"to":"\ud800"}`, "to", `parameter to: lone surrogate`},
		{"pay", `{"amount":1,"to":5}`, "to", `parameter to: got 5 (a number), want a string`},
		{"pay", `{"to":"x"}`, "amount", `parameter amount: missing, want an integer`},
		{"pay", `{"Amount":1,"amount":1,"to":"x"}`, "Amount", `parameter Amount: unknown, want one of amount, to`},
		{"ping", `{"a":1}`, "a", `parameter a: unknown: there are no parameters`},
		{"fee_quote", `{"amount":1,"tier":"max"}`, "tier", `parameter tier: got "max" (a string), want one of "basic", "pro"`},
		{"fee_quote", `{"amount":1,"tier":null}`, "tier", `parameter tier: got null, want a string`},
		{"fee_quote", `{"amount":1,"note":false}`, "note", `parameter note: got false (a boolean), want a string or null`},
		{"fee_quote", `{"amount":1,"ids":[1,"2"]}`, "ids", `parameter ids[1]: got "2" (a string), want an integer`},
		{"fee_quote", `{"amount":1,"ids":[1e30]}`, "ids", `parameter ids[0]: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{"fee_quote", `{"amount":1,"ids":"[1]"}`, "ids", `parameter ids: got "[1]" (a string), want an array`},
		{"fee_quote", `{"amount":1,"flag":1}`, "flag", `parameter flag: got 1 (a number), want a boolean`},
		{"fee_quote", `{"amount":"` + strings.Repeat("é", 100) + `"}`, "amount", `parameter amount: got "` + strings.Repeat("é", 79) + `… (a string), want a number`},
		{"fee_quote", "{\"amount\":\"\u202e\"}", "amount", `parameter amount: got "\u{202E}" (a string), want a number`},
		{"fee_quote", `{"amount":1,"amount":2}`, "", `arguments: duplicate key "amount"`},
		{"fee_quote", `[1]`, "", `arguments: got [1] (an array), want an object`},
		{"fee_quote", `null`, "", `arguments: got null, want an object`},
		{"fee_quote", `{"amount":1} {}`, "", `arguments: more than one value`},
		{"fee_quote", `{"amount":1`, "", `arguments: unexpected EOF`},
		{"fee_quote", ``, "", `arguments: unexpected EOF`},
	} {
		e := wantCode(t, check(set, test.tool, test.arguments), fault.CodeInvalidToolArgs)
		if want := "tool " + test.tool + ": " + test.message; e.Message != want {
			t.Errorf("%s\n got %s\nwant %s", test.arguments, e.Message, want)
		}
		if len(e.Problems) != 1 || e.Problems[0].Parameter != test.parameter || e.Problems[0].Tool != test.tool {
			t.Errorf("%s: got problems %+v", test.arguments, e.Problems)
		}
	}
}

// One message tells a model everything it has to correct, in an order that never changes.
func TestValidateReportsAll(t *testing.T) {
	set := freeze(t, feeQuote())
	const want = `tool fee_quote: parameter amount: missing, want a number; parameter flag: got "x" (a string), want a boolean; ` +
		`parameter ids[0]: got null, want an integer; parameter ids[1]: got 1.5 (a number), want an integer; and 2 more`
	for range 50 {
		e := wantCode(t, check(set, "fee_quote", `{"zz":1,"ids":[null,1.5],"flag":"x","tier":1}`), fault.CodeInvalidToolArgs)
		if e.Message != want {
			t.Fatalf("\n got %s\nwant %s", e.Message, want)
		}
		if len(e.Problems) != 6 {
			t.Fatalf("got %d problems, want 6", len(e.Problems))
		}
	}
}

func TestValidateMatchesNamesExactly(t *testing.T) {
	set := freeze(t, tool("delete_all", ""), tool("delete_draft", ""))
	for _, name := range []string{"delete", "Delete_all", "delete_all ", "", "delete-all", "del\u202eete"} {
		e := wantCode(t, check(set, name, `{}`), fault.CodeUnknownTool)
		if !strings.HasSuffix(e.Message, "the active tools are delete_all, delete_draft") || strings.Contains(e.Message, "\u202e") {
			t.Errorf("got message %q", e.Message)
		}
	}
}

func TestValidateWantsOneTextPerValue(t *testing.T) {
	set := freeze(t, pay())
	err := set.Validate(tools.Call{ToolName: "pay", Arguments: []byte(`{"to":"x", "amount":3}`)})
	if err == nil || fault.From(err).Code != fault.CodeInternal {
		t.Errorf("got %v, want a bug reported", err)
	}
	a, errA := tools.NewCall("pay", []byte(`{"to":"x", "amount":3.0}`))
	b, errB := tools.NewCall("pay", []byte(`{"amount":3e0,"to":"\u0078"}`))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if diff := cmp.Diff(string(a.Arguments), string(b.Arguments)); diff != "" || a.ArgsSHA256() != b.ArgsSHA256() {
		t.Errorf("equal arguments have two texts: %s", diff)
	}
}

func FuzzValidateArguments(f *testing.F) {
	set := freeze(f, feeQuote(), pay(), tool("ping", ""))
	for _, seed := range []string{`{"amount":1}`, `{"amount":1,"tier":"pro","note":null,"ids":[1,2],"flag":true}`, `{"amount":"3","to":"x"}`,
		`{"amount":9007199254740993}`, `{"amount":1e30,"to":"x"}`, `{"amount":1,"amount":2}`, `{"to":"\ud800"}`, `[]`, `{`, ``, `{"amount":-0.0,"to":""}`,
		`{"":{"":[[[[[[]]]]]]}}`, `{"amount":1e-999999999,"to":"\u0000"}`} {
		f.Add("pay", seed)
		f.Add("fee_quote", seed)
	}
	f.Add("none", `{}`)
	f.Fuzz(func(t *testing.T, name, arguments string) {
		c, err := tools.NewCall(name, []byte(arguments))
		if err == nil {
			err = set.Validate(c)
		}
		if err == nil {
			if again, err := canon.Transform(c.Arguments); err != nil || string(again) != string(c.Arguments) {
				t.Fatalf("valid arguments aren't canonical: %s (%v)", c.Arguments, err)
			}
			if text, err := set.CallText(c); err != nil {
				t.Fatalf("a valid call has no text: %v", err)
			} else if reply, err := tools.ParseReply(text); err != nil || string(reply.Call.Arguments) != string(c.Arguments) {
				t.Fatalf("%s is read back as %+v (%v)", text, reply.Call, err)
			}
			return
		}
		if e := fault.From(err); e.Code != fault.CodeInvalidToolArgs && e.Code != fault.CodeUnknownTool {
			t.Fatalf("got code %s: %v", e.Code, err)
		} else if strings.ContainsFunc(e.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("the message isn't safe to print: %q", e.Message)
		}
	})
}
