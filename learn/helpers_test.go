package learn_test

import (
	"encoding/json"
	"testing"
	"time"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/learn"
	"edge/tools"
)

// The tools of most tests, as a runner would describe them.
const (
	feeParameters = `{"type":"object","additionalProperties":false,"required":["amount"],"properties":{
		"amount":{"type":"number"},"tier":{"type":"string","enum":["basic","pro"],"default":"basic"},"note":{"type":["string","null"],"default":null}}}`
	orderParameters = `{"type":"object","additionalProperties":false,"required":["order_id"],"properties":{"order_id":{"type":"string"}}}`
)

func tool(name, description, parameters string) tools.Tool {
	return tools.Tool{Name: name, Description: description, Parameters: json.RawMessage(parameters), ExecutionLevel: tools.Read}
}

func freeze(t testing.TB, list ...tools.Tool) *tools.ActiveSet {
	t.Helper()
	set, err := tools.Freeze(tools.Inspection{Path: "/tools.py", GeneratorVersion: "1", FileSHA256: digest.SHA256Of([]byte("tools")), Tools: list}, tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func shop(t testing.TB) *tools.ActiveSet {
	t.Helper()
	return freeze(t, tool("calculate_fee", "Compute the service fee for an amount.", feeParameters), tool("order_status", "Look up an order.", orderParameters))
}

// example is a request and the arguments of its call; "" arguments make it a request without one.
func example(prompt, toolName, arguments string) learn.Example {
	if toolName == "" {
		answer := arguments
		return learn.Example{Prompt: prompt, Answer: &answer}
	}
	return learn.Example{Prompt: prompt, Call: &learn.ExampleCall{ToolName: toolName, Arguments: json.RawMessage(arguments)}}
}

func shopExamples() []learn.Example {
	return []learn.Example{
		example("What is the fee for 250?", "calculate_fee", `{"amount":250}`),
		example("Quote the fee for amount 100, tier pro", "calculate_fee", `{"amount":100,"tier":"pro"}`),
		example("Fee of 75", "calculate_fee", `{"amount":75}`),
		example("Where is order A-17?", "order_status", `{"order_id":"A-17"}`),
		example("Status of order 555", "order_status", `{"order_id":"555"}`),
		example("Thanks, goodbye", "", "You're welcome."),
	}
}

// world is everything around a fake model.
func world(t testing.TB, engine *fake.Engine) learn.World {
	t.Helper()
	m, err := engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err) // a session or a grammar was left open
		}
	})
	return worldOf(t, engine, m)
}

func worldOf(t testing.TB, engine *fake.Engine, m inference.Model) learn.World {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	p := inference.DefaultParams()
	p.BatchTokens, p.UBatchTokens = 64, 32
	return learn.World{Engine: engine.Info(), Model: m, Params: p, Renderer: r, File: learn.ModelFile{
		Name: "fake", SHA256: digest.SHA256Of([]byte("model")), TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte(m.Info().ChatTemplate)),
	}}
}

// tick is a clock that moves by a second each time it is read.
func tick() func() time.Time {
	at := time.Unix(1_800_000_000, 0)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}
