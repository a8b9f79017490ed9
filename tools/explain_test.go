package tools_test

import (
	"testing"

	"edge/internal/fault"
)

// TestValidateExplainsRicherSchemas: behind references and unions a message says the same as without.
func TestValidateExplainsRicherSchemas(t *testing.T) {
	set := freeze(t, functionTool("f", `"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]},"e":{"$ref":"#/$defs/E"},"m":{"anyOf":[{"$ref":"#/$defs/M"},{"type":"null"}]},`+
		`"pet":{"anyOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]},"r":{"type":"integer","minimum":1},"t":{"type":"array","prefixItems":[{"type":"integer"}],"items":false},`+
		`"d":{"type":"object","additionalProperties":{"type":"integer"}},"s":{"type":"array","items":{"type":"integer"},"uniqueItems":true}},"required":["n"],`+
		`"$defs":{"E":{"enum":["a","b"]},"M":{"type":"object","properties":{"x":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/M"},{"type":"null"}]}},"required":["x"],"additionalProperties":false},`+
		`"Cat":{"type":"object","properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},"required":["kind","lives"],"additionalProperties":false},`+
		`"Dog":{"type":"object","properties":{"kind":{"const":"dog"},"name":{"type":"string"}},"required":["kind","name"],"additionalProperties":false}}`))
	for _, test := range []struct{ arguments, message string }{
		{`{"n":"x"}`, `parameter n: got "x" (a string), want an integer or null`},
		{`{}`, `parameter n: missing, want an integer or null`},
		{`{"n":1e30}`, `parameter n: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{`{"n":1,"e":"c"}`, `parameter e: got "c" (a string), want one of "a", "b"`},
		{`{"n":1,"m":{"x":"y"}}`, `parameter m.x: got "y" (a string), want an integer`},
		{`{"n":1,"m":{"x":1,"next":{"x":1e30}}}`, `parameter m.next.x: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{`{"n":1,"m":5}`, `parameter m: got 5 (a number), want an object or null`},
		{`{"n":1,"pet":{"kind":"dog","name":5}}`, `parameter pet.name: got 5 (a number), want a string`},
		{`{"n":1,"pet":{"kind":"dog","lives":5}}`, `parameter pet.lives: unknown; parameter pet.name: missing, want a value`},
		{`{"n":1,"pet":{"kind":"cow"}}`, `parameter pet.kind: got "cow" (a string), want "cat"; parameter pet.lives: missing, want a value`},
		{`{"n":1,"t":[1e30]}`, `parameter t[0]: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{`{"n":1,"d":{"k":1e30}}`, `parameter d.k: got 1e+30 (a number), want an integer within ±(2^53−1)`},
		{`{"n":1,"r":0}`, `parameter r: minimum: got 0, want 1`},
		{`{"n":1,"s":[1,1]}`, `parameter s: items at 0 and 1 are equal`},
	} {
		e := wantCode(t, check(set, "f", test.arguments), fault.CodeInvalidToolArgs)
		if want := "tool f: " + test.message; e.Message != want {
			t.Errorf("%s\n got %s\nwant %s", test.arguments, e.Message, want)
		}
	}
}
