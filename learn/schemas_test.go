package learn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/learn"
	"edge/tools"
)

// TestSchemasOfFunctionTools: optional types, enums behind references, limits and nested models, as pydantic writes them.
func TestSchemasOfFunctionTools(t *testing.T) {
	set := freeze(t, tools.Tool{Name: "heat", Description: "Set a room's heating.", ExecutionLevel: tools.Read, Surface: tools.FromFunction, Parameters: []byte(
		`{"type":"object","additionalProperties":false,"required":["room","degrees","unit","note","until","place"],"properties":{
		"room":{"type":"string","pattern":"^[A-Z]-\\d+$"},"degrees":{"anyOf":[{"type":"integer","minimum":5,"maximum":30},{"type":"null"}]},
		"unit":{"anyOf":[{"$ref":"#/$defs/Unit"},{"type":"null"}]},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"until":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},"place":{"anyOf":[{"$ref":"#/$defs/Place"},{"type":"null"}]}},
		"$defs":{"Unit":{"enum":["celsius","kelvin"],"type":"string"},"Place":{"type":"object","properties":{"in":{"anyOf":[{"$ref":"#/$defs/Place"},{"type":"null"}]}},"required":["in"],"additionalProperties":false}}}`)})
	a := learn.LearnArguments(set, []learn.Example{
		example("Heat room A-1 to 20 celsius until 2026-12-03 'quiet please'", "heat", `{"room":"A-1","degrees":20,"unit":"celsius","note":"quiet please","until":"2026-12-03","place":null}`),
		example("Heat room B-12 to 18 celsius until 4 May 2027 'door open'", "heat", `{"room":"B-12","degrees":18,"unit":"celsius","note":"door open","until":"2027-05-04","place":{"in":null}}`),
		example("Heat room F-3 'as usual'", "heat", `{"room":"F-3","degrees":null,"unit":null,"note":"as usual","until":null,"place":null}`),
		example("Heat room G-31 'for Ann'", "heat", `{"room":"G-31","degrees":null,"unit":null,"note":"for Ann","until":null,"place":null}`),
		example("Heat room C-7 to 25 kelvin until 5 May 2027 'no rush'", "heat", `{"room":"C-7","degrees":25,"unit":"kelvin","note":"no rush","until":"2027-05-05","place":null}`),
	})
	want := map[string]string{"room": `"D-450"`, "degrees": "21", "unit": `"kelvin"`, "note": `"as agreed"`, "until": `"2027-06-01"`, "place": "?"}
	if diff := cmp.Diff(want, grounded(a, "heat", "Heat room D-450 to 21 kelvin until 1 June 2027 'as agreed'")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	// Where nothing speaks for a value, null is given, since strict schemas let nothing be left out.
	want = map[string]string{"room": `"H-2"`, "degrees": "null", "unit": "null", "note": `"bye"`, "until": "null", "place": "?"}
	if diff := cmp.Diff(want, grounded(a, "heat", "Heat room H-2 'bye'")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	// What the schema doesn't admit isn't copied: 400 is beyond the range, and nothing looks like a room.
	got := grounded(a, "heat", "Heat room delta to 400 kelvin until 1 June 2027 'as agreed'")
	if got["room"] != "?" || got["degrees"] != "null" {
		t.Errorf("got %v", got)
	}
}
