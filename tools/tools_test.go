package tools_test

import (
	"encoding/json"
	"testing"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

const closedOK = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`

// tool makes a read tool; parameters is the inside of a closed object schema.
func tool(name, parameters string) tools.Tool {
	if parameters == "" {
		parameters = `"properties":{},"required":[]`
	}
	return tools.Tool{
		Name:           name,
		Description:    "Does " + name + ".",
		Parameters:     json.RawMessage(`{"type":"object","additionalProperties":false,` + parameters + `}`),
		ExecutionLevel: tools.Read,
	}
}

func feeQuote() tools.Tool {
	t := tool("fee_quote", `"properties":{
		"amount":{"type":"number"},
		"tier":{"enum":["basic","pro"],"type":"string","default":"basic"},
		"note":{"type":["string","null"],"default":null},
		"ids":{"type":"array","items":{"type":"integer"},"default":[]},
		"flag":{"type":"boolean","default":false}},"required":["amount"]`)
	t.IntentTags = []string{"billing"}
	return t
}

func pay() tools.Tool {
	t := tool("pay", `"properties":{"amount":{"type":"integer"},"to":{"type":"string"}},"required":["to","amount"]`)
	t.ExecutionLevel, t.ReturnDirect, t.OutputSchema = tools.Commit, true, json.RawMessage(closedOK)
	return t
}

func inspection(list ...tools.Tool) tools.Inspection {
	for i := range list {
		list[i].Line = 10 * (i + 1)
	}
	return tools.Inspection{
		Path:             "/home/ann/tools.py",
		FileSHA256:       digest.SHA256Of([]byte("the file")),
		GeneratorVersion: "1",
		Tools:            list,
	}
}

func freeze(t testing.TB, list ...tools.Tool) *tools.ActiveSet {
	t.Helper()
	set, err := tools.Freeze(inspection(list...), tools.Selection{})
	if err != nil {
		t.Fatalf("freeze: %v", err)
	}
	return set
}

// wantCode fails the test unless err carries code, and gives the error.
func wantCode(t testing.TB, err error, code fault.Code) *fault.Error {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	return fault.From(err)
}
