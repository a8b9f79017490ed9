package main

import (
	"context"

	"github.com/spf13/cobra"

	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// toolFlags say which tools are active.
type toolFlags struct {
	file     string
	names    []string
	tags     []string
	manifest string
	facts    string
	sandbox  string
	network  func() bool // --allow-network; nil where the command has no such flag
}

// allowsNetwork reports whether hosted tools may use the network.
func (f *toolFlags) allowsNetwork() bool { return f.network != nil && f.network() }

func (f *toolFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "tools", "", "Python file with @edge_tool functions, function tools or hosted tools")
	f.registerSelection(c)
	c.Flags().StringVar(&f.manifest, "tools-manifest", "", "manifest that names the built-in fact lookup")
	c.Flags().StringVar(&f.facts, "facts-store", "", "store of local facts to look up")
}

func (f *toolFlags) registerSelection(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.names, "tool", nil, "activate this tool only (repeatable)")
	c.Flags().StringArrayVar(&f.tags, "tool-tag", nil, "activate tools with this tag only (repeatable)")
	c.Flags().StringVar(&f.sandbox, "sandbox", string(runner.SandboxAuto), "auto, required or off: how tools are confined")
	f.network = networkFlag(c)
}

// check refuses contradictions before anything is loaded.
func (f *toolFlags) check() error {
	surfaces := 0
	for _, s := range []string{f.file, f.manifest, f.facts} {
		if s != "" {
			surfaces++
		}
	}
	switch {
	case surfaces > 1:
		return fault.New(fault.CodeConflictingToolOptions, "--tools, --tools-manifest and --facts-store exclude each other")
	case f.file == "" && len(f.names)+len(f.tags) > 0:
		return fault.New(fault.CodeConflictingToolOptions, "--tool and --tool-tag select from a file, and no --tools was given")
	}
	if _, err := runner.ParseSandboxMode(f.sandbox); err != nil {
		return fault.New(fault.CodeInvalidArguments, "--sandbox: %w", err)
	}
	return nil
}

// freeze runs the tools file and freezes its active tools.
func (f *toolFlags) freeze(ctx context.Context, r *runner.Runner) (*tools.ActiveSet, tools.Inspection, error) {
	in, err := r.Inspect(ctx, f.file)
	if err != nil {
		return nil, in, err
	}
	set, err := tools.Freeze(in, tools.Selection{Names: f.names, Tags: f.tags})
	return set, in, err
}
