package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"edge/internal/digest"
	"edge/internal/fault"
)

// freezeFunction freezes one tool of a surface with these parameters.
func freezeFunction(surface Surface, parameters string) (*ActiveSet, error) {
	return Freeze(Inspection{Path: "/t.py", FileSHA256: digest.SHA256Of(nil), GeneratorVersion: "1", Tools: []Tool{{
		Name: "f", Description: "d", ExecutionLevel: Read, Parameters: json.RawMessage(parameters), Surface: surface, Line: 3,
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"output":{"type":"string"}},"required":["output"],"additionalProperties":false}`),
	}}}, Selection{})
}

func TestWhatAFunctionToolLeavesOpenIsClosed(t *testing.T) {
	const open = `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"null"}]}}},
		"required":["a"],"$defs":{"A":{"type":"object","properties":{"properties":{"type":"string"}},"required":["properties"]}}}`
	if _, err := freezeFunction(FromEdge, open); !fault.Is(err, fault.CodeUnsupportedSchema) {
		t.Errorf("an @edge_tool: got %v", err)
	}
	set, err := freezeFunction(FromFunction, open)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(set.Tools()[0].Parameters), `"additionalProperties":false`); n != 3 {
		t.Errorf("closed %d objects: %s", n, set.Tools()[0].Parameters)
	}
	for arguments, good := range map[string]bool{
		`{"a":{"properties":"p"},"b":[{"x":"y"},null]}`: true,
		`{"a":{"properties":"p","more":1}}`:             false,
		`{"a":{"properties":"p"},"bar":"baz"}`:          false,
	} {
		call, err := NewCall("f", []byte(arguments))
		if err == nil {
			err = set.Validate(call)
		}
		if (err == nil) != good {
			t.Errorf("%s: got %v", arguments, err)
		}
	}
}

func TestWhatCantBeWrittenIsRefusedByToolAndParameter(t *testing.T) {
	for parameters, parameter := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","additionalProperties":true,"properties":{"x":{"type":"string"}}}}}`:                         "b",
		`{"type":"object","properties":{"a":{"type":"string"},"c":{"items":{"$ref":"#/$defs/C"}}},"$defs":{"C":{"type":"object","additionalProperties":true,"properties":{}}}}`: "c",
		`{"type":"object","properties":{"d":{"type":"string","not":{"const":"x"}}}}`:                                                                                            "d",
		`{"type":"object","additionalProperties":true,"properties":{"e":{"type":"string"}}}`:                                                                                    "",
	} {
		_, err := freezeFunction(FromFunction, parameters)
		if e := fault.From(err); err == nil || e.Code != fault.CodeUnsupportedSchema || len(e.Problems) != 1 || e.Problems[0].Tool != "f" || e.Problems[0].Parameter != parameter || e.Problems[0].Line != 3 {
			t.Errorf("%s: got %v", parameters, err)
		}
	}
	if _, err := freezeFunction("other", `{"type":"object"}`); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a surface that nobody knows: %v", err)
	}
}
