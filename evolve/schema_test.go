package evolve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edge/evolve"
)

func TestNormaliseSchema(t *testing.T) {
	const empty = `{"properties":{},"type":"object"}`
	for _, c := range []struct{ name, in, want string }{
		{"whole", `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`, `{"properties":{"x":{"type":"integer"}},"required":["x"],"type":"object"}`},
		{"no type", `{"properties":{"x":{"type":"integer"}},"required":["x"],"title":"t"}`, `{"properties":{"x":{"type":"integer"}},"required":["x"],"type":"object"}`},
		{"the wrong type", `{"type":"string","properties":{"x":{}}}`, `{"properties":{"x":{}},"type":"object"}`},
		{"properties alone", `{"x":{"type":"integer"},"y":{"type":"string"}}`, `{"properties":{"x":{"type":"integer"},"y":{"type":"string"}},"type":"object"}`},
		{"a type alone", `{"type":"object"}`, empty},
		{"a text", `"x"`, empty},
		{"null", `null`, empty},
		{"a list", `[1]`, empty},
		{"nothing", ``, empty},
	} {
		if got := string(evolve.NormaliseSchema(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// What a JSON Schema says becomes a typed function, and what has no annotation goes in as it was.
func TestParametersOfEveryKind(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	const schema = `{"type":"object","properties":{
		"text":{"type":"string"},"whole":{"type":"integer"},"real":{"type":"number"},"flag":{"type":"boolean"},
		"list":{"type":"array","items":{"type":"integer"}},"choice":{"type":"string","enum":["a","b\"'\\","ü😀"]},
		"perhaps":{"type":["string","null"]},"deep":{"type":"object","properties":{"x":{"type":"integer"}}},"anything":{},"mixed":{"type":"array"},
		"extra":{"type":"integer","default":5}},
		"required":["text","whole","real","flag","list","choice","perhaps","deep","anything","mixed"]}`
	args := `{"text":"t","whole":1,"real":2.5,"flag":true,"list":[1,2],"choice":"ü😀","perhaps":null,"deep":{"x":1},"anything":"as it is","mixed":[1,"a"]}`
	var test map[string]json.RawMessage
	if err := json.Unmarshal([]byte(args), &test); err != nil {
		t.Fatal(err)
	}
	test["anything"] = json.RawMessage(`[null]`)
	out, err := g.cfg.Library.Create(t.Context(), g.cfg.Workbench, evolve.Proposal{
		Name: "every_kind", Description: "every kind", Parameters: json.RawMessage(schema), TestArgs: test,
		Code: "def run(**kwargs):\n    return {k: [type(v).__name__, v] for k, v in kwargs.items()}\n",
	})
	if err != nil || !out.Success {
		t.Fatalf("got %+v, %v: %+v", out, err, out.Validation)
	}
	ran := g.cfg.Workbench.Run(t.Context(), g.record("every_kind"), test)
	want := `{"anything":["list",[null]],"choice":["str","ü😀"],"deep":["dict",{"x":1}],"flag":["bool",true],"list":["list",[1,2]],"mixed":["list",[1,"a"]],"perhaps":["NoneType",null],"real":["float",2.5],"text":["str","t"],"whole":["int",1]}`
	if string(ran.Result) != want {
		t.Errorf("got %s %s, want %s", ran.Result, ran.Error, want)
	}
	for name, value := range map[string]string{"whole": `"1"`, "choice": `"c"`, "nobody": `1`} {
		wrong := map[string]json.RawMessage{}
		for k, v := range test {
			wrong[k] = v
		}
		wrong[name] = json.RawMessage(value)
		if ran := g.cfg.Workbench.Run(t.Context(), g.record("every_kind"), wrong); ran.Success || !ran.Misused {
			t.Errorf("%s = %s: got %+v, want a refusal", name, value, ran)
		}
	}
	closed, err := g.cfg.Workbench.Closed(t.Context(), g.record("every_kind"))
	if err != nil || !strings.Contains(string(closed), `"additionalProperties":false`) {
		t.Errorf("got %s, %v", closed, err)
	}
}

// What json.dumps(default=str) does to a result in the original happens here, too.
func TestResultsOfEveryKind(t *testing.T) {
	g := newGround(t, evolve.ToolTimeout)
	for body, want := range map[string]string{
		"return 5":          `{"result":5}`,
		"return None":       `{"result":null}`,
		"return [1, 'a']":   `{"result":[1,"a"]}`,
		"return {1: 'one'}": `{"1":"one"}`,
		"import datetime; return {'d': datetime.date(2020, 1, 2)}": `{"d":"2020-01-02"}`,
		"print('__TOOL_RESULT__{}'); return {'a': 1}":              `{"a":1}`,
	} {
		out := g.put("any_result", "def run(**kwargs):\n    "+body+"\n", daysArgs)
		if !out.Success {
			t.Fatalf("%s: got %+v", body, out)
		}
		if ran := g.cfg.Workbench.Run(t.Context(), g.record("any_result"), map[string]json.RawMessage{"start": json.RawMessage(`"a"`), "end": json.RawMessage(`"b"`)}); string(ran.Result) != want {
			t.Errorf("%s: got %s %s, want %s", body, ran.Result, ran.Error, want)
		}
		if err := g.cfg.Library.Remove(t.Context(), "any_result"); err != nil {
			t.Fatal(err)
		}
	}
}
