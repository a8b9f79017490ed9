package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows of the leaderboard's shape, made up for these tests.
func feeFunction() function {
	return function{"shop.fee", "Compute the service fee of an amount.", json.RawMessage(
		`{"type":"dict","properties":{"amount":{"type":"float"},"tier":{"type":"string","enum":["basic","pro"],"default":"basic"},"note":{"type":"string","default":null}},"required":["amount"]}`)}
}

func orderFunction() function {
	return function{"order_status", "Look up where an order is.", json.RawMessage(
		`{"type":"dict","properties":{"order_id":{"type":"string"}},"required":["order_id"]}`)}
}

func feeRow(id, request, amount string) row {
	return row{ID: id, Request: request, Functions: []function{feeFunction(), orderFunction()}, Truth: truth("shop.fee", `{"amount":[`+amount+`],"tier":["","basic"]}`)}
}

func orderRow(id, request, order string) row {
	return row{ID: id, Request: request, Functions: []function{feeFunction(), orderFunction()}, Truth: truth("order_status", `{"order_id":["`+order+`"]}`)}
}

func truth(name, allowed string) []map[string]map[string][]json.RawMessage {
	var values map[string][]json.RawMessage
	if err := json.Unmarshal([]byte(allowed), &values); err != nil {
		panic(err)
	}
	return []map[string]map[string][]json.RawMessage{{name: values}}
}

func texts(list []json.RawMessage) (out []string) {
	for _, raw := range list {
		out = append(out, compact(raw))
	}
	return out
}

func TestTranslate(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"types", `{"type":"dict","properties":{"a":{"type":"float"},"b":{"type":"tuple","items":{"type":"integer"}},"c":{"type":"boolean"}},"required":["a"]}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"number"},"b":{"items":{"type":"integer"},"type":"array"},"c":{"type":"boolean"}},"required":["a"],"type":"object"}`},
		{"any loses its type", `{"type":"any","description":"x"}`, `{"description":"x"}`},
		{"a dict without properties stays open", `{"type":"dict"}`, `{"type":"object"}`},
		{"a nested dict is closed", `{"type":"array","items":{"type":"dict","properties":{"a":{"type":"bool"}}}}`,
			`{"items":{"additionalProperties":false,"properties":{"a":{"type":"boolean"}},"type":"object"},"type":"array"}`},
		{"a default of null", `{"type":"string","enum":["a"],"default":null}`, `{"default":null,"enum":["a",null],"type":["string","null"]}`},
		{"another default", `{"type":"string","default":"null"}`, `{"default":"null","type":"string"}`},
		{"optional is no keyword", `{"type":"integer","optional":true}`, `{"type":"integer"}`},
		{"a parameter called type", `{"type":"dict","properties":{"type":{"type":"string"},"optional":{"type":"any"}}}`,
			`{"additionalProperties":false,"properties":{"optional":{},"type":{"type":"string"}},"type":"object"}`},
		{"other keywords are for edge to refuse", `{"type":"integer","maximum":3}`, `{"maximum":3,"type":"integer"}`},
		{"and other types", `{"type":"date"}`, `{"type":"date"}`},
	}
	for _, test := range tests {
		got, err := translate(json.RawMessage(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// What is refused, and by which words: none of it may become a grammar that admits anything.
func TestRefusals(t *testing.T) {
	tests := []struct{ name, parameters, want string }{
		{"an open dict", `{"type":"dict","properties":{"x":{"type":"dict"}}}`, `unsupported_schema: the parameters aren't a closed object: the object at … lacks "additionalProperties": false`},
		{"an enum of another type", `{"type":"dict","properties":{"x":{"type":"array","items":{"type":"string"},"enum":["a"]}}}`, "unsupported_schema: parameter …: an enum without a value can't be enforced while decoding"},
		{"a keyword", `{"type":"dict","properties":{"x":{"type":"integer","not":{"const":3}}}}`, `unsupported_schema: parameter …: the keyword "not" can't be enforced while decoding`},
		{"a pattern that looks around", `{"type":"dict","properties":{"x":{"type":"string","pattern":"^(?=a)"}}}`, "unsupported_schema: "},
		{"an unknown type", `{"type":"dict","properties":{"x":{"type":"date"}}}`, "unsupported_schema: the parameters aren't a JSON Schema: at …: "},
	}
	for _, test := range tests {
		_, err := usable([]function{{"f", "", json.RawMessage(test.parameters)}})
		if err == nil || !strings.HasPrefix(refusal(err), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	var many []function
	for _, name := range strings.Fields("a b c d e f g h i") {
		many = append(many, function{name, "", json.RawMessage(`{"type":"dict","properties":{}}`)})
	}
	if _, err := usable(many[:8]); err != nil {
		t.Error(err)
	}
	if _, err := usable(many); err == nil || refusal(err) != "active_tool_limit_exceeded: more than 8 functions" {
		t.Errorf("nine functions: %v", err)
	}
}

func TestTruthCalls(t *testing.T) {
	schema := `{"properties":{"a":{"type":"integer"},"b":{"type":"string"},"d":{"type":"object","properties":{"k":{"type":"string"},"o":{"type":"string"}},"required":["k"]},
		"l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"integer"}}}}},"required":["a"]}`
	tests := []struct {
		name, allowed string
		want          []string
	}{
		{"one value each", `{"a":[1],"b":["x"]}`, []string{`{"a":1,"b":"x"}`}},
		{"other values, one at a time", `{"a":[1,2],"b":["x","y"]}`, []string{`{"a":1,"b":"x"}`, `{"a":2,"b":"x"}`, `{"a":1,"b":"y"}`}},
		{"an optional one", `{"a":[1],"b":["","x"]}`, []string{`{"a":1,"b":"x"}`, `{"a":1}`}},
		{"one that is only ever left out", `{"a":[1],"b":[""]}`, []string{`{"a":1}`}},
		{"a required number can't be left out", `{"a":["",1]}`, []string{`{"a":1}`}},
		{"members of a dict have several values too", `{"a":[1],"d":[{"k":["x","y"],"o":["","z"]}]}`,
			[]string{`{"a":1,"d":{"k":"x","o":"z"}}`, `{"a":1,"d":{"k":"y","o":"z"}}`, `{"a":1,"d":{"k":"x"}}`}},
		{"and of the dicts of a list", `{"a":[1],"l":[[{"k":[1,2]},{"k":[3]}]]}`,
			[]string{`{"a":1,"l":[{"k":1},{"k":3}]}`, `{"a":1,"l":[{"k":2},{"k":3}]}`}},
		{"a list is one value", `{"a":[1],"b":[["x","y"]]}`, []string{`{"a":1,"b":["x","y"]}`}},
		{"null is a value", `{"a":[1],"b":[null]}`, []string{`{"a":1,"b":null}`}},
	}
	for _, test := range tests {
		var allowed map[string][]json.RawMessage
		if err := json.Unmarshal([]byte(test.allowed), &allowed); err != nil {
			t.Fatal(err)
		}
		got, err := truthCalls(allowed, json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, texts(got)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestExamine(t *testing.T) {
	reader, err := newReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.model.Close()
	open := feeRow("open", "x", "1")
	open.Functions = append(open.Functions, function{"bag", "", json.RawMessage(`{"type":"dict","properties":{"x":{"type":"dict"}}}`)})
	enum := feeRow("enum", "where is my order?", "1")
	enum.Truth = truth("shop.fee", `{"amount":[1],"tier":["gold"]}`)
	kind := feeRow("kind", "x", `1, "1"`)
	unknown := feeRow("unknown", "x", "1")
	unknown.Truth = truth("shop.fee", `{"amount":[1],"colour":["red"]}`)
	bag := open
	bag.ID, bag.Truth = "bag", truth("bag", `{"x":[{}]}`)
	none := feeRow("none", "x", "1")
	none.Truth = nil

	report, truths, err := examine(reader, "multiple", []row{feeRow("good", "what fee?", "250"), open, enum, kind, unknown, bag, none, feeRow("small", "x", "1e-9")})
	if err != nil {
		t.Fatal(err)
	}
	want := schemaReport{
		Category: "multiple", Functions: 18, Grammars: 16, Requests: 8, Sets: 6, Unrelated: 4, WordChoices: 5, WordsRight: 1, Truths: 7, Known: 6, Whole: 3, Part: 1, Calls: 11, CallsAccepted: 8,
		Refused:         map[string]int{`unsupported_schema: the parameters aren't a closed object: the object at … lacks "additionalProperties": false`: 2},
		RefusedRequests: map[string]int{`unsupported_schema: the parameters aren't a closed object: the object at … lacks "additionalProperties": false`: 2},
		Exceptions: []truthException{
			{"enum", outsideEnum, `tool shop_fee: parameter tier: got "gold" (a string), want one of "basic", "pro"`, `{"amount":1,"tier":"gold"}`},
			{"kind", otherType, `tool shop_fee: parameter amount: got "1" (a string), want a number`, `{"amount":"1","tier":"basic"}`},
			{"unknown", unknownMember, "tool shop_fee: parameter colour: unknown, want one of amount, note, tier", `{"amount":1,"colour":"red"}`},
		},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	if len(truths) != 6 || truths[0].ID != "good" || string(truths[0].Calls["1"].Arguments) != `{"amount":250}` {
		t.Errorf("the checker would get %+v", truths)
	}
}

func TestAdmits(t *testing.T) {
	reader, err := newReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.model.Close()
	for text, want := range map[string]bool{"ab": true, "a": false, "abc": false, "": false} {
		if got, err := reader.admits(`root ::= "ab"`, text); got != want || err != nil {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	if _, err := reader.admits(`root ::= missing`, "a"); err == nil {
		t.Error("a broken grammar was read")
	}
}

func TestPick(t *testing.T) {
	other := orderRow("d", "x", "1")
	other.System = "Be brief."
	rows := []row{feeRow("a", "x", "1"), other, orderRow("b", "x", "1"), feeRow("c", "x", "1")}
	ids := func(o options) (out []string) {
		for _, r := range pick(rows, o) {
			out = append(out, r.ID)
		}
		return out
	}
	if diff := cmp.Diff([]string{"a", "d", "b"}, ids(options{first: 3})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids(options{first: 9, shared: 2})); diff != "" {
		t.Error(diff)
	}
}

func TestReadRows(t *testing.T) {
	dir := t.TempDir()
	if _, err := readRows(dir, "multiple"); err == nil || !strings.Contains(err.Error(), "bfcl.py --steps install,extract") {
		t.Errorf("without data: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "data", "multiple.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"id":"a","system":"","request":"x","functions":[{"name":"f","description":"d","parameters":{"type":"dict","properties":{}}}],"truth":[{"f":{"p":[1,""]}}]}` + "\n" +
		`{"id":"b","system":"s","request":"y","functions":[],"truth":null}` + "\n")
	rows, err := readRows(dir, "multiple")
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %v, %v", rows, err)
	}
	if name, allowed, ok := rows[0].wanted(); !ok || name != "f" || len(allowed["p"]) != 2 {
		t.Errorf("got %s %v %v", name, allowed, ok)
	}
	if _, _, ok := rows[1].wanted(); ok {
		t.Error("a request without ground truth wants a function")
	}
	write("{\n")
	if _, err := readRows(dir, "multiple"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("broken data: %v", err)
	}
}
