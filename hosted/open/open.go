// Package open makes a hosted tool out of its configuration. It is apart from package hosted, which the kinds import.
package open

import (
	"context"
	"encoding/json"

	"edge/hosted"
	"edge/hosted/computer"
	"edge/hosted/filesearch"
	"edge/hosted/interpreter"
	"edge/hosted/shell"
	"edge/hosted/websearch"
	"edge/internal/fault"
)

// Open makes the tool called name; config is what the Python side says of it, an object with "kind" and the kind's
// options. The tool must be closed. Errors: invalid_tool_metadata, and those of the kind.
func Open(ctx context.Context, env hosted.Environment, name string, config json.RawMessage) (hosted.Tool, error) {
	options := map[string]json.RawMessage{}
	var kind string
	if err := json.Unmarshal(config, &options); err != nil {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "hosted tool %s: configuration: %w", name, err)
	}
	if err := json.Unmarshal(options["kind"], &kind); err != nil {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "hosted tool %s: kind: %w", name, err)
	}
	delete(options, "kind")
	rest, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "file_search":
		return filesearch.Open(rest, env)
	case "web_search":
		return websearch.Open(rest, env)
	case "computer":
		return computer.New(rest, env)
	case "computer_submit":
		return computer.NewSubmit(rest, env)
	case "shell":
		return shell.New(rest, env)
	case "code_interpreter":
		return interpreter.Open(rest, env)
	}
	return nil, fault.New(fault.CodeInvalidToolMetadata, "hosted tool %s: edge has no kind %q", name, kind)
}
