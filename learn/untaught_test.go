package learn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/learn"
	"edge/tools"
)

// office is a set of tools that no example calls.
func office(t testing.TB) *tools.ActiveSet {
	t.Helper()
	return freeze(t,
		tool("book_room", "Book a room for a day, written YYYY-MM-DD.", `{"type":"object","additionalProperties":false,"required":["room","date"],
			"properties":{"room":{"type":"string"},"date":{"type":"string"},"seats":{"type":"integer"}}}`),
		tool("write_memo", "Write a memo to someone.", `{"type":"object","additionalProperties":false,"required":["to","body"],
			"properties":{"to":{"type":"string"},"body":{"type":"string"},"urgent":{"type":"boolean"}}}`),
		tool("page_people", "Page people by their badges.", `{"type":"object","additionalProperties":false,"required":["badges"],
			"properties":{"badges":{"type":"array","items":{"type":"string"}},"note":{"type":"string"}}}`),
		tool("set_heat", "Set the heating.", `{"type":"object","additionalProperties":false,"required":["low","high"],
			"properties":{"low":{"type":"number"},"high":{"type":"number"},"from":{"type":"string","format":"time"}}}`),
	)
}

// TestGroundWithoutExamples: values are found by what they look like and by the names beside them.
func TestGroundWithoutExamples(t *testing.T) {
	a := learn.LearnArguments(office(t), nil)
	for _, c := range []struct {
		tool, request string
		want          map[string]string
	}{
		{"book_room", "Book room B-12 on 3 May 2027", map[string]string{"room": `"B-12"`, "date": `"2027-05-03"`, "seats": "-"}},
		{"book_room", "Please book Blue Lagoon for 2027-05-03, 8 people", map[string]string{"room": `"Blue Lagoon"`, "date": `"2027-05-03"`, "seats": "8"}},
		{"write_memo", "Write to Carol: lunch is off", map[string]string{"to": `"Carol"`, "body": `"lunch is off"`, "urgent": "-"}},
		{"write_memo", "an urgent memo to Dan, \"no lunch\"", map[string]string{"to": `"Dan"`, "body": `"no lunch"`, "urgent": "true"}},
		{"page_people", "Page X-1 and X-22", map[string]string{"badges": `["X-1","X-22"]`, "note": "-"}},
		{"page_people", "Page X-1 and X-22, \"at once\"", map[string]string{"badges": `["X-1","X-22"]`, "note": `"at once"`}},
		{"set_heat", "heating: 17 to 21", map[string]string{"low": "17", "high": "21", "from": "-"}},
		{"set_heat", "heat high 21, low 17, from 6:30", map[string]string{"low": "17", "high": "21", "from": `"06:30"`}},
		{"set_heat", "heating please", map[string]string{"low": "?", "high": "?", "from": "-"}},
	} {
		if diff := cmp.Diff(c.want, grounded(a, c.tool, c.request)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.request, diff)
		}
	}
}

// TestWithoutExamplesARequestNeedsAReason: a shared word or a value, and the numbers that a tool asks for.
func TestWithoutExamplesARequestNeedsAReason(t *testing.T) {
	w := world(t, newEngine())
	set := office(t)
	l, err := learn.Teach(set, &learn.Sample{}, func(text string) ([]learn.Vector, error) { return learn.Look(read(t, w, text).Hidden()), nil })
	if err != nil {
		t.Fatal(err)
	}
	r := learn.NewReplier(w, set, l)
	for request, want := range map[string]string{
		"book a room on 2027-05-03":    "book_room",
		"set the heating to 17 and 21": "set_heat",
		"set the heating":              "", // to what?
		"hello there":                  "",
		"how are you":                  "",
	} {
		p := r.Plan(request, read(t, w, request).Hidden())
		got := ""
		if p.AllowsCall() {
			got = p.Choice.Class
		}
		if got != want {
			t.Errorf("%s: got %q, want %q (%+v)", request, got, want, p.Choice)
		}
	}
}
