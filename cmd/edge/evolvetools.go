package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edge/evolve"
	"edge/tools"
)

// evolveToolsResult is edge.evolve_tools/v1: what edge evolve tools says, whichever of its verbs was used.
type evolveToolsResult struct {
	Schema  string              `json:"schema"`
	OK      bool                `json:"ok"`
	Library string              `json:"library"`
	Tools   []evolve.Record     `json:"tools"`
	Tests   []evolve.TestReport `json:"tests,omitempty"`
	Removed string              `json:"removed,omitempty"`
}

func (a *app) evolveToolsCommand() *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "The library of tools that edge evolve has made"}
	c.AddCommand(
		a.libraryCommand("list", "List the tools, and how often each has helped and failed", cobra.NoArgs, a.evolveToolsList),
		a.libraryCommand("show NAME", "Show a tool: its code, parameters, tests and where it comes from", cobra.ExactArgs(1), a.evolveToolsShow),
		a.libraryCommand("test [NAME]", "Run the recorded tests again; a quarantined tool that passes is offered again", cobra.MaximumNArgs(1), a.evolveToolsTest),
		a.libraryCommand("rm NAME", "Take a tool out of the library", cobra.ExactArgs(1), a.evolveToolsRemove),
	)
	return c
}

// libraryCommand is a verb that works on the library.
func (a *app) libraryCommand(use, short string, args cobra.PositionalArgs, do func(*cobra.Command, *evolve.Library, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
		library, err := evolve.NewLibrary(a.evolvePlace().Library(), a.notify)
		if err != nil {
			return stateError(err)
		}
		return do(c, library, args)
	}}
}

func libraryResult(library *evolve.Library, list []evolve.Record) evolveToolsResult {
	if list == nil {
		list = []evolve.Record{}
	}
	return evolveToolsResult{Schema: "edge.evolve_tools/v1", OK: true, Library: library.Dir(), Tools: list}
}

func (a *app) evolveToolsList(_ *cobra.Command, library *evolve.Library, _ []string) error {
	list, err := library.List()
	if err != nil {
		return err
	}
	return a.print(libraryResult(library, list), func() {
		if len(list) == 0 {
			a.say("the library is empty")
		}
		for _, r := range list {
			note := ""
			switch {
			case r.Quarantined:
				note = "  (quarantined)"
			case !r.Validated:
				note = "  (never tested)"
			}
			a.say("%-24s %d uses, %d failed  %s%s", r.Name, r.Uses, r.Failures, tools.EscapeForDisplay(r.Description), note)
		}
	})
}

func (a *app) evolveToolsShow(_ *cobra.Command, library *evolve.Library, args []string) error {
	r, err := library.Find(args[0])
	if err != nil {
		return err
	}
	return a.print(libraryResult(library, []evolve.Record{r}), func() {
		a.say("%s: %s", r.Name, tools.EscapeForDisplay(r.Description))
		a.say("  parameters     %s", tools.EscapeForDisplay(string(r.Parameters)))
		a.say("  source_sha256  %s", r.SourceSHA256)
		a.say("  made           %s by %s, for: %s", plain(r.Provenance.CreatedAt), plain(r.Provenance.Model), tools.EscapeForDisplay(r.Provenance.Task))
		a.say("  trajectory     %s", plain(r.Provenance.Trajectory))
		a.say("  used           %d times, %d failed; tests: %d; quarantined: %s", r.Uses, r.Failures, len(r.Tests), yes(r.Quarantined))
		a.say("\n%s", plain(r.Code))
	})
}

func (a *app) evolveToolsTest(c *cobra.Command, library *evolve.Library, args []string) error {
	g, err := a.openGround(false)
	if err != nil {
		return err
	}
	defer g.close()
	list, err := library.List()
	if len(args) == 1 {
		var one evolve.Record
		one, err = library.Find(args[0])
		list = []evolve.Record{one}
	}
	if err != nil {
		return err
	}
	result := libraryResult(library, nil)
	for _, r := range list {
		report, err := library.Test(c.Context(), g.workbench, r)
		if err != nil {
			return err
		}
		result.Tests = append(result.Tests, report)
		result.OK = result.OK && report.Failed == 0
		if now, ok := library.Get(r.Name); ok {
			result.Tools = append(result.Tools, now)
		}
	}
	err = a.print(result, func() {
		for _, t := range result.Tests {
			line := fmt.Sprintf("%-24s %d passed, %d failed", t.Name, t.Passed, t.Failed)
			if t.Lifted {
				line += "; it is offered again"
			}
			a.say("%s", line)
			for _, why := range t.Reasons {
				a.say("  %s", plain(why))
			}
		}
	})
	if err == nil && !result.OK {
		return exitStatus(1)
	}
	return err
}

func (a *app) evolveToolsRemove(c *cobra.Command, library *evolve.Library, args []string) error {
	if err := library.Remove(c.Context(), args[0]); err != nil {
		return err
	}
	result := libraryResult(library, nil)
	result.Removed = args[0]
	return a.print(result, func() { a.say("removed %s", args[0]) })
}
