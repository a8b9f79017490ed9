package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edge/chat"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// toolsResult is edge.tools/v1.
type toolsResult struct {
	Schema                 string          `json:"schema"`
	OK                     bool            `json:"ok"`
	ToolsFileSHA256        digest.SHA256   `json:"tools_file_sha256"`
	ActiveSetSHA256        digest.SHA256   `json:"active_set_sha256"`
	SchemaGeneratorVersion string          `json:"schema_generator_version"`
	Tools                  []tools.Tool    `json:"tools"`
	Errors                 []fault.Problem `json:"errors"`
	Warnings               []fault.Problem `json:"warnings"`
}

func (a *app) toolsCommand() *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "Validate, inspect, call and confirm Python tools"}
	c.AddCommand(a.validateCommand(), a.inspectCommand(), a.callCommand(), a.confirmCommand(), a.pendingCommand())
	return c
}

func (a *app) validateCommand() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "validate FILE", Short: "Check names, types, levels and limits of a tools file (this runs its top level)", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.file = args[0]
			r, err := a.inspect(c.Context(), &f)
			if err != nil {
				return err
			}
			return a.print(r, func() {
				if len(r.Tools) == 1 {
					a.say("%s: 1 tool is good", plain(args[0]))
				} else {
					a.say("%s: %d tools are good", plain(args[0]), len(r.Tools))
				}
				a.sayWarnings(r)
			})
		},
	}
	f.registerSelection(c)
	return c
}

func (a *app) inspectCommand() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "inspect FILE", Short: "Show each tool's schema and digests (this runs the file's top level)", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.file = args[0]
			r, err := a.inspect(c.Context(), &f)
			if err != nil {
				return err
			}
			return a.print(r, func() { a.sayInspection(args[0], r) })
		},
	}
	f.registerSelection(c)
	return c
}

func (a *app) inspect(ctx context.Context, f *toolFlags) (*toolsResult, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	r, err := a.newRunner(runner.SandboxMode(f.sandbox))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	set, in, err := f.freeze(ctx, r)
	if err != nil {
		return nil, err
	}
	result := &toolsResult{
		Schema: "edge.tools/v1", OK: true, ToolsFileSHA256: set.FileSHA256(), ActiveSetSHA256: set.SHA256(),
		SchemaGeneratorVersion: set.GeneratorVersion(), Tools: set.Tools(), Errors: []fault.Problem{}, Warnings: in.Warnings,
	}
	if result.Warnings == nil {
		result.Warnings = []fault.Problem{}
	}
	return result, nil
}

func (a *app) sayInspection(file string, r *toolsResult) {
	for _, t := range r.Tools {
		what := ""
		if t.Surface != tools.FromEdge {
			what = string(t.Surface) + ", "
		}
		a.say("%s (%s%s, line %d)", t.Name, what, t.ExecutionLevel, t.Line)
		if t.Description != "" {
			a.say("  %s", tools.EscapeForDisplay(t.Description))
		}
		a.say("  parameters     %s", t.Parameters)
		if t.OutputSchema != nil {
			a.say("  output_schema  %s", t.OutputSchema)
		}
		if len(t.IntentTags) > 0 {
			a.say("  tags           %s", strings.Join(t.IntentTags, ", "))
		}
		a.say("  schema_sha256  %s", t.SchemaSHA256)
	}
	a.say("active set  %s", r.ActiveSetSHA256)
	a.say("%s  %s", file, r.ToolsFileSHA256)
	a.sayWarnings(r)
}

func (a *app) sayWarnings(r *toolsResult) {
	for _, w := range r.Warnings {
		a.notify("warning: " + problemLine(w))
	}
}

// callResult is edge.tool_call/v1.
type callResult struct {
	Schema        string              `json:"schema"`
	OK            bool                `json:"ok"`
	ToolCall      chat.ToolCall       `json:"tool_call"`
	PendingAction *chat.PendingAction `json:"pending_action"`
	ReceiptPath   string              `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256       `json:"receipt_sha256"`
}

func (a *app) callCommand() *cobra.Command {
	var f toolFlags
	var arguments, given string
	c := &cobra.Command{
		Use: "call FILE NAME", Short: "Run one call by hand, exactly as a chat would", Args: cobra.ExactArgs(2),
		Example: `  edge tools call tools.py calculate_fee --args '{"amount": 250}'`,
		RunE: func(c *cobra.Command, args []string) error {
			f.file = args[0]
			return a.recorded(c.Context(), "tool_call", func(record *record) error {
				return a.call(c.Context(), &f, args[1], arguments, given, record)
			})
		},
	}
	f.registerSelection(c)
	c.Flags().StringVar(&arguments, "args", "{}", "the arguments, a JSON object")
	c.Flags().StringVar(&given, "context", "null", "what a function tool gets as its context, JSON")
	return c
}

func (a *app) call(ctx context.Context, f *toolFlags, name, arguments, given string, record *record) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := checkContext(given); err != nil {
		return err
	}
	// By hand one tool is named, so a file of more than eight needs no further selection.
	if len(f.names)+len(f.tags) == 0 {
		f.names = []string{name}
	}
	r, err := a.newRunner(runner.SandboxMode(f.sandbox))
	if err != nil {
		return err
	}
	set, err := a.freezeForCall(ctx, f, name, r)
	if err != nil {
		r.Close()
		return err
	}
	active, err := a.fileSurface(ctx, f, set, r)
	if err != nil {
		return err
	}
	defer active.close()
	active.ahead()
	record.tools(set)
	if !json.Valid([]byte(arguments)) {
		return fault.New(fault.CodeInvalidToolArgs, "tool %s: --args isn't JSON: %s", name, tools.EscapeForDisplay(arguments))
	}
	call, err := tools.NewCall(name, []byte(arguments))
	if err != nil {
		return err
	}
	pending, err := a.pending()
	if err != nil {
		return err
	}
	d := &chat.Dispatcher{Set: set, Runner: active.run, Pending: pending, Context: json.RawMessage(given)}
	out, action, err := d.Dispatch(ctx, call)
	record.set("tool_calls", []any{callRecord(out)})
	if err != nil {
		return err
	}
	if action != nil {
		record.set("pending_action_path", action.Path)
	}
	return a.finishCall(out, action, record)
}

// freezeForCall freezes the named tool alone, so that its digests are those of a set of one.
func (a *app) freezeForCall(ctx context.Context, f *toolFlags, name string, r *runner.Runner) (*tools.ActiveSet, error) {
	set, in, err := f.freeze(ctx, r)
	if fault.Is(err, fault.CodeNoToolsFound) && len(in.Tools) > 0 {
		var names []string
		for _, t := range in.Tools {
			names = append(names, t.Name)
		}
		if slices.Contains(names, name) {
			return nil, err // the selection is wrong, not the name
		}
		return nil, fault.New(fault.CodeUnknownTool, "%s has no tool %q; it has %s", f.file, name, strings.Join(names, ", "))
	}
	return set, err
}

func (a *app) finishCall(out chat.ToolCall, action *chat.PendingAction, record *record) (err error) {
	result := callResult{Schema: "edge.tool_call/v1", OK: true, ToolCall: out, PendingAction: action}
	if result.ReceiptPath, result.ReceiptSHA256, err = record.write(nil); err != nil {
		return err
	}
	return a.print(result, func() {
		if action != nil {
			a.say("%s waits for your confirmation; nothing was done yet:", out.ToolName)
			for _, line := range argumentLines(action.Arguments) {
				a.say("%s", line)
			}
			a.say("  %s", action.Command)
			a.say("  before %s", action.ExpiresAt)
		} else {
			a.say("%s", out.Result)
			if out.Told != nil {
				a.notify("  told     " + plain(out.Told.Kind) + ": the tool failed, and a model would read these words")
			}
		}
		a.notify("  receipt  " + result.ReceiptPath)
	})
}

// argumentLines shows every argument in full, with what could hide something escaped.
func argumentLines(arguments json.RawMessage) []string {
	var args map[string]json.RawMessage
	if json.Unmarshal(arguments, &args) != nil {
		return []string{"  " + tools.EscapeForDisplay(string(arguments))}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		lines = append(lines, "  "+name+" = "+tools.EscapeForDisplay(string(args[name])))
	}
	return lines
}
