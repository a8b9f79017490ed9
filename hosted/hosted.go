// Package hosted runs on this machine what agent SDKs run at a provider: file search, web search, a code interpreter, a
// shell command and computer use. This package has what they share; each kind has a package of its own, and package
// hosted/open makes one out of its configuration.
//
// The invariant: nothing of it reaches the network unless Environment.AllowNetwork says so.
package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	strict "github.com/go-json-experiment/json"

	"edge/internal/canon"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/runner"
	"edge/tools"
)

// Tool is one hosted tool that is ready to be called. Calls may come from several goroutines.
type Tool interface {
	// Call takes the validated arguments and gives the result, both JSON objects. What a model can learn from, such as a
	// search without results, is a result; an error ends the turn and is a *fault.Error.
	Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)
	Close() error
}

// Sandboxed is a Tool that starts processes, and knows how each call was confined: the receipt says it.
type Sandboxed interface {
	Tool
	// CallSandboxed is Call, and also gives the runner's block about the sandbox; nil where nothing was started.
	CallSandboxed(ctx context.Context, arguments json.RawMessage) (result, sandbox json.RawMessage, err error)
}

// Checker is a Tool that judges arguments beyond their schema, before anybody is asked to confirm them.
type Checker interface {
	Tool
	Check(arguments json.RawMessage) error
}

// Environment is what a hosted tool may use.
type Environment struct {
	// Home is where state is kept, under Home.Hosted().
	Home home.Dir
	// AllowNetwork is the user's word, for this command, that the network may be used.
	AllowNetwork bool
	// Python runs code in the sandbox.
	Python *runner.Runner
	// Getenv reads edge's own environment.
	Getenv func(string) string
	// Base is the folder of the tools file: relative paths in a configuration begin there.
	Base string
	// Notify tells the user what happened beside the answer, such as an index that was made anew; nil tells nobody.
	Notify func(string)
}

// Say tells the user, if anybody listens.
func (e Environment) Say(text string) {
	if e.Notify != nil {
		e.Notify(text)
	}
}

// NeedsNetwork is the error of a tool that the network is refused to.
func NeedsNetwork(what string) error {
	return fault.New(fault.CodeNetworkNotAllowed, "%s needs the network, and --allow-network wasn't given", what)
}

// Runner runs a call: *runner.Runner does, and so does a Mux.
type Runner interface {
	Call(ctx context.Context, req runner.CallRequest) (runner.Result, error)
}

// Mux runs a hosted tool's calls by that tool, and all others by Python.
type Mux struct {
	Python Runner
	By     map[string]Tool
}

// Call runs one call that was frozen and validated. Errors are *fault.Error.
func (m Mux) Call(ctx context.Context, req runner.CallRequest) (runner.Result, error) {
	tool, ok := m.By[req.Call.ToolName]
	if !ok {
		return m.Python.Call(ctx, req)
	}
	begun := time.Now()
	raw, sandbox, err := callTool(ctx, tool, req.Call.Arguments)
	result := runner.Result{Duration: time.Since(begun), Sandbox: sandbox}
	if err != nil {
		return result, fault.From(err)
	}
	canonical, err := canon.Transform(raw)
	if err != nil {
		return result, fault.New(fault.CodeUnsupportedToolResult, "tool %s: result: %w", req.Call.ToolName, err)
	}
	if len(canonical) > tools.MaxResultBytes {
		return result, fault.New(fault.CodeToolResultOversized, "tool %s: result: got %d bytes of canonical JSON, want at most %d", req.Call.ToolName, len(canonical), tools.MaxResultBytes)
	}
	result.Canonical = canonical
	return result, nil
}

// Check asks the call's tool about its arguments. Errors are *fault.Error.
func (m Mux) Check(call tools.Call) error {
	if c, ok := m.By[call.ToolName].(Checker); ok {
		return c.Check(call.Arguments)
	}
	return nil
}

func callTool(ctx context.Context, tool Tool, arguments json.RawMessage) (result, sandbox json.RawMessage, err error) {
	if s, ok := tool.(Sandboxed); ok {
		return s.CallSandboxed(ctx, arguments)
	}
	result, err = tool.Call(ctx, arguments)
	return result, json.RawMessage(`{"mechanism":"builtin"}`), err
}

// Close closes the hosted tools.
func (m Mux) Close() error {
	var all []error
	for _, tool := range m.By {
		all = append(all, tool.Close())
	}
	return errors.Join(all...)
}

// Options reads a tool's configuration strictly: one that says more than is known is refused, not half honoured.
func Options(config json.RawMessage, into any) error {
	if err := strict.Unmarshal(config, into, strict.RejectUnknownMembers(true)); err != nil {
		return fault.New(fault.CodeInvalidToolMetadata, "hosted tool: configuration: %w", err).WithHint("see docs/function-tools.md")
	}
	return nil
}
