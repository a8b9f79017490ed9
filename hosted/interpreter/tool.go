package interpreter

import (
	"context"
	"encoding/json"

	"edge/hosted"
	"edge/internal/fault"
)

// tool is the interpreter as a hosted tool.
type tool struct {
	*Interpreter
	packages bool
}

// Open makes the hosted tool of kind code_interpreter.
func Open(options json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	var o struct {
		AllowPackages bool `json:"allow_packages"`
	}
	if err := hosted.Options(options, &o); err != nil {
		return nil, err
	}
	return &tool{New(env), o.AllowPackages}, nil
}

func (t *tool) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	result, _, err := t.CallSandboxed(ctx, arguments)
	return result, err
}

// CallSandboxed makes it a hosted.Sandboxed.
func (t *tool) CallSandboxed(ctx context.Context, arguments json.RawMessage) (result, sandbox json.RawMessage, err error) {
	var args struct {
		Code     string   `json:"code"`
		Packages []string `json:"packages"`
	}
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, nil, fault.New(fault.CodeInvalidToolArgs, "code_interpreter: %w", err)
	}
	if !t.packages {
		args.Packages = nil
	}
	out, err := t.Run(ctx, args.Code, args.Packages)
	if err != nil {
		return nil, out.Sandbox, err
	}
	result, err = json.Marshal(out)
	return result, out.Sandbox, err
}

func (t *tool) Close() error { return nil }
