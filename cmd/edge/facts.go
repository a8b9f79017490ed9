package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"edge/facts"
	"edge/internal/fault"
	"edge/tools"
)

func (a *app) factsCommand() *cobra.Command {
	c := &cobra.Command{Use: "facts", Short: "A local store of facts for the built-in lookup"}
	c.AddCommand(a.factsImportCommand(), a.factsListCommand(), a.factsSearchCommand())
	return c
}

func (a *app) factsImportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import STORE FILE", Short: "Put the facts of a .jsonl or .csv file into a store", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			format, err := facts.FormatOf(args[1])
			if err != nil {
				return err
			}
			f, err := os.Open(args[1])
			if errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.CodeInvalidArguments, "there is no file %s", args[1])
			}
			if err != nil {
				return err
			}
			defer f.Close()
			sum, err := facts.Import(c.Context(), args[0], f, format)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.facts_import/v1", "ok": true, "added": sum.Added, "replaced": sum.Replaced, "unchanged": sum.Unchanged, "total": sum.Total}, func() {
				a.say("%d added, %d replaced, %d unchanged; %d facts in %s", sum.Added, sum.Replaced, sum.Unchanged, sum.Total, args[0])
			})
		},
	}
}

func (a *app) factsListCommand() *cobra.Command {
	var offset, limit int
	c := &cobra.Command{
		Use: "list STORE", Short: "List facts", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := facts.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer store.Close()
			list, err := store.List(c.Context(), offset, limit)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.facts/v1", "ok": true, "facts": orEmpty(list)}, func() {
				for _, f := range list {
					a.sayFact(f)
				}
			})
		},
	}
	c.Flags().IntVar(&offset, "offset", 0, "skip so many")
	c.Flags().IntVar(&limit, "limit", 100, "show at most so many")
	return c
}

func (a *app) factsSearchCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "search STORE QUERY", Short: "Search as the model would", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := facts.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer store.Close()
			matches, err := store.Search(c.Context(), args[1], limit)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.facts_search/v1", "ok": true, "matches": orEmpty(matches)}, func() {
				for _, m := range matches {
					a.sayFact(m.Fact)
				}
				if len(matches) == 0 {
					a.say("no match")
				}
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 5, "give at most so many")
	return c
}

func (a *app) sayFact(f facts.Fact) {
	line := tools.EscapeForDisplay(f.Text)
	if f.Source != "" {
		line += "  (" + tools.EscapeForDisplay(f.Source) + ")"
	}
	if len(f.Tags) > 0 {
		line += "  [" + strings.Join(f.Tags, ", ") + "]"
	}
	a.say("%s", line)
}
