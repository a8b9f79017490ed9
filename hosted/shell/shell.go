// Package shell is the hosted tool that runs a shell command: after a guard against characters in disguise, within a time
// limit, with an output that is safe to read.
//
// The invariant: what runs is the very command that was confirmed, byte for byte, or nothing. The tool is of commit level:
// whoever calls Call holds a person's confirmation of these arguments.
package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"edge/hosted"
	"edge/internal/canon"
	"edge/internal/fault"
	"edge/runner"
)

// limit is how long a command may run.
const limit = 60 * time.Second

type shell struct {
	env   hosted.Environment
	limit time.Duration
}

// New makes the tool, which has no options. Commands run in the tools file's folder, with what tools may know of the
// environment.
func New(options json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	if err := hosted.Options(options, &struct{}{}); err != nil {
		return nil, err
	}
	return &shell{env: env, limit: limit}, nil
}

// Call implements hosted.Tool: arguments are {"command": …}, the result {"output": …}. A command that fails or runs too
// long has a result, which says so.
func (s *shell) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	if err := s.Check(arguments); err != nil {
		return nil, err
	}
	var given struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fault.New(fault.CodeInvalidToolArgs, "parameter command: %w", err)
	}
	out, err := runner.RunCommand(ctx, runner.Command{Line: given.Command, Dir: s.env.Base, Limit: s.limit, Keep: keep})
	if err != nil {
		return nil, err
	}
	return canon.Marshal(map[string]string{"output": report(out, s.limit)})
}

// CallSandboxed implements hosted.Sandboxed: a confirmed command has the user's rights, and the receipt says so.
func (s *shell) CallSandboxed(ctx context.Context, arguments json.RawMessage) (result, sandbox json.RawMessage, err error) {
	result, err = s.Call(ctx, arguments)
	return result, json.RawMessage(`{"mechanism":"none"}`), err
}

// Check refuses arguments whose command isn't what it looks like, so that nobody is asked to confirm one.
func (s *shell) Check(arguments json.RawMessage) error {
	var given struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return fault.New(fault.CodeInvalidToolArgs, "parameter command: %w", err)
	}
	return Check(given.Command)
}

func (s *shell) Close() error { return nil }

// report is what is told of a command: its output, what of it was left out, and how it ended unless well.
func report(out runner.CommandOutput, limit time.Duration) string {
	text := plain(slices.Concat(out.Head, out.Tail))
	if out.Omitted > 0 {
		text = plain(out.Head) + fmt.Sprintf("\n[… %d bytes left out …]\n", out.Omitted) + plain(out.Tail)
	}
	switch {
	case out.TimedOut:
		text += fmt.Sprintf("\n[stopped after %s]", limit)
	case out.Status != "":
		text += "\n[" + out.Status + "]"
	}
	return text
}
