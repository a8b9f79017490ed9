package hosted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"edge/hosted"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// fixed gives the same result to every call.
type fixed struct {
	result string
	err    error
	closed int
}

func (f *fixed) Call(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(strings.ReplaceAll(f.result, "ARGS", string(arguments))), f.err
}

func (f *fixed) Close() error {
	f.closed++
	return f.err
}

// python is the runner of everything else.
type python struct{}

func (python) Call(_ context.Context, req runner.CallRequest) (runner.Result, error) {
	return runner.Result{Canonical: []byte(`"python ` + req.Call.ToolName + `"`)}, nil
}

func TestMux(t *testing.T) {
	failed := errors.New("failed")
	m := hosted.Mux{Python: python{}, By: map[string]hosted.Tool{
		"good":  &fixed{result: `{"b": ARGS, "a": 1.0}`},
		"bad":   &fixed{result: `{`},
		"large": &fixed{result: `"` + strings.Repeat("x", tools.MaxResultBytes) + `"`},
		"error": &fixed{err: failed},
		"coded": &fixed{err: hosted.NeedsNetwork("this")},
		"ended": &fixed{err: context.Canceled},
	}}
	for name, want := range map[string]string{"good": `{"a":1,"b":{"q":1}}`, "other": `"python other"`} {
		got, err := m.Call(context.Background(), call(name))
		if err != nil || string(got.Canonical) != want || name == "good" && string(got.Sandbox) != `{"mechanism":"builtin"}` {
			t.Errorf("%s: %s, sandbox %s, %v", name, got.Canonical, got.Sandbox, err)
		}
	}
	for name, want := range map[string]fault.Code{
		"bad": fault.CodeUnsupportedToolResult, "large": fault.CodeToolResultOversized, "error": fault.CodeInternal,
		"coded": fault.CodeNetworkNotAllowed, "ended": fault.CodeCancelled,
	} {
		got, err := m.Call(context.Background(), call(name))
		if !fault.Is(err, want) || got.Canonical != nil {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := m.Close(); !errors.Is(err, failed) {
		t.Errorf("close: %v", err)
	}
	for name, tool := range m.By {
		if tool.(*fixed).closed != 1 {
			t.Errorf("%s was closed %d times", name, tool.(*fixed).closed)
		}
	}
}

func call(name string) runner.CallRequest {
	return runner.CallRequest{Call: tools.Call{ToolName: name, Arguments: json.RawMessage(`{"q":1}`)}}
}

func TestOptionsAreReadStrictly(t *testing.T) {
	var o struct {
		Number int `json:"number"`
	}
	if err := hosted.Options(json.RawMessage(`{"number":3}`), &o); err != nil || o.Number != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, text := range []string{`{"number":3,"more":1}`, `{"Number":3}`, `{"number":"3"}`, `{"number":3,"number":4}`, ``, `{}x`} {
		if err := hosted.Options(json.RawMessage(text), &o); !fault.Is(err, fault.CodeInvalidToolMetadata) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSay(t *testing.T) {
	hosted.Environment{}.Say("to nobody")
	var heard string
	hosted.Environment{Notify: func(text string) { heard = text }}.Say("this")
	if heard != "this" {
		t.Errorf("heard %q", heard)
	}
}
