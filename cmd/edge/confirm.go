package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"edge/chat"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

func (a *app) confirmCommand() *cobra.Command {
	var token string
	var network func() bool
	c := &cobra.Command{
		Use: "confirm PENDING", Short: "Run a commit call that was asked for, at most once", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.recorded(c.Context(), "confirm", func(record *record) error { return a.confirm(c.Context(), args[0], token, network, record) })
		},
	}
	c.Flags().StringVar(&token, "token", "", "the confirmation token that was printed with the action")
	network = networkFlag(c)
	return c
}

// confirm checks everything, claims the action durably, and only then runs it with the user's rights.
func (a *app) confirm(ctx context.Context, path, token string, network func() bool, record *record) error {
	store, err := a.pending()
	if err != nil {
		return err
	}
	action, err := store.Load(path)
	if err != nil {
		return err
	}
	checked, err := store.Check(action, token)
	if err != nil {
		return err
	}
	binding := checked.Binding()
	record.set("pending_action_id", checked.ID())
	// The file is looked at inside the sandbox; only the confirmed call gets the user's rights, and only if the file's
	// bytes are still those that were frozen.
	r, err := a.newRunner(runner.SandboxAuto)
	if err != nil {
		return err
	}
	set, err := a.rebind(ctx, binding, r)
	if err != nil {
		r.Close()
		return err
	}
	active, err := a.fileSurface(ctx, &toolFlags{network: network}, set, r)
	if err != nil {
		return err
	}
	defer active.close()
	record.tools(set)
	a.notify("confirmed: " + binding.ToolName)
	for _, line := range argumentLines(binding.Arguments) {
		a.notify(line)
	}
	claimed, err := store.Claim(checked)
	if err != nil {
		return err
	}
	d := &chat.Dispatcher{Set: set, Runner: active.run, Pending: store, Context: json.RawMessage(binding.Context)}
	out := chat.ToolCall{
		ToolName: binding.ToolName, Arguments: binding.Arguments, ArgsSHA256: binding.ArgsSHA256,
		ExecutionLevel: binding.ExecutionLevel, ToolSchemaSHA256: binding.ToolSchemaSHA256, ReturnDirect: true,
	}
	runErr := d.Execute(ctx, binding.Call(), &out, true)
	record.set("tool_calls", []any{callRecord(out)})
	outcome := digest.SHA256Of([]byte(out.Status))
	if out.ResultSHA256 != nil {
		outcome = *out.ResultSHA256
	}
	finishErr := store.Finish(claimed, outcome)
	if runErr != nil {
		if finishErr != nil {
			a.notify("the end of the action can't be recorded: " + finishErr.Error())
		}
		return fault.From(runErr).WithHint("it was confirmed and isn't run again: see what it did, and ask for the action again if it must run once more")
	}
	if finishErr != nil {
		return fmt.Errorf("%s ran, and its end can't be recorded: %w", out.ToolName, finishErr)
	}
	if err := a.finishCall(out, nil, record); err != nil {
		return fmt.Errorf("%s ran, and that can't be told in full: %w", out.ToolName, err)
	}
	return nil
}

// rebind freezes the bound file again and makes sure that it is what was offered.
func (a *app) rebind(ctx context.Context, b tools.Binding, r *runner.Runner) (*tools.ActiveSet, error) {
	in, err := r.Inspect(ctx, b.ToolsFile)
	if fault.Is(err, fault.CodeToolsFileNotFound) {
		return nil, fault.New(fault.CodeToolsFileChanged, "the tools file %s is gone", b.ToolsFile).WithHint("put it back as it was, or ask for the action again")
	}
	if err != nil {
		return nil, err
	}
	if in.FileSHA256 != b.ToolsFileSHA256 { // said before anything that is wrong with the new file
		e := fault.New(fault.CodeToolsFileChanged, "the tools file %s changed after the action was offered", b.ToolsFile).WithHint("ask for the action again")
		e.Mismatches = []fault.Mismatch{{Field: "tools_file_sha256", Want: b.ToolsFileSHA256.String(), Got: in.FileSHA256.String()}}
		return nil, e
	}
	set, err := tools.Freeze(in, b.Selection)
	if err != nil {
		return nil, err
	}
	return set, b.Against(set)
}

func (a *app) pendingCommand() *cobra.Command {
	c := &cobra.Command{Use: "pending", Short: "Actions that wait for a confirmation"}
	list := &cobra.Command{
		Use: "list", Short: "List pending actions", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.pending()
			if err != nil {
				return err
			}
			actions, err := store.List()
			if err != nil {
				return err
			}
			if actions == nil {
				actions = []tools.PendingInfo{}
			}
			return a.print(map[string]any{"schema": "edge.pending/v1", "ok": true, "actions": actions}, func() {
				for _, p := range actions {
					a.say("%-9s %-20s %s  %s", p.State, tools.EscapeForDisplay(p.ToolName), p.ExpiresAt.Format("2006-01-02T15:04:05Z07:00"), p.Path)
				}
				if len(actions) == 0 {
					a.say("nothing waits")
				}
			})
		},
	}
	var cutoff bool
	prune := &cobra.Command{
		Use: "prune", Short: "Remove actions that are past their ten minutes", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.pending()
			if err != nil {
				return err
			}
			pruned, err := store.Prune(cutoff)
			if err != nil {
				return err
			}
			pruned.Removed, pruned.Cutoff = orEmpty(pruned.Removed), orEmpty(pruned.Cutoff)
			return a.print(map[string]any{"schema": "edge.pending_prune/v1", "ok": true, "removed": pruned.Removed, "cut_off": pruned.Cutoff}, func() {
				a.say("removed %d actions", len(pruned.Removed))
				for _, p := range pruned.Cutoff {
					a.say("kept %s (%s): it was confirmed and never recorded an end; remove it with --cut-off once you know what it did", p.Path, tools.EscapeForDisplay(p.ToolName))
				}
			})
		},
	}
	prune.Flags().BoolVar(&cutoff, "cut-off", false, "also remove actions that were confirmed and never recorded an end")
	c.AddCommand(list, prune)
	return c
}

// orEmpty makes a nil list an empty one, for JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
