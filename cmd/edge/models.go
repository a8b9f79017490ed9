package main

import (
	"github.com/spf13/cobra"

	"edge/models"
)

func (a *app) modelsCommand() *cobra.Command {
	c := &cobra.Command{Use: "models", Short: "The catalogue, and the model files that are here"}
	c.AddCommand(a.modelsListCommand(), a.modelsPullCommand(), a.modelsShowCommand(), a.modelsVerifyCommand(), a.modelsOptimizeCommand())
	return c
}

func (a *app) modelsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the catalogue and the local models", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.models()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.models/v1", "ok": true, "models": orEmpty(list)}, func() {
				for _, m := range list {
					state := "not here; edge models pull " + m.Name
					if m.Path != "" {
						state = m.Path
					}
					if m.Layout != "" {
						state += " (" + string(m.Layout) + " of " + m.Source + ", sha256 " + m.SourceSHA256.String() + ")"
					}
					a.say("%-20s %s", m.Name, state)
				}
			})
		},
	}
}

func (a *app) modelsPullCommand() *cobra.Command {
	var opt models.PullOptions
	c := &cobra.Command{
		Use: "pull NAME", Short: "Fetch a model", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := a.models()
			if err != nil {
				return err
			}
			m, fetched, err := store.Pull(c.Context(), args[0], opt)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.model/v1", "ok": true, "model": m, "fetched": fetched}, func() { a.sayModel(m) })
		},
	}
	c.Flags().StringVar(&opt.From, "from", "", "a file to use in place of a download")
	c.Flags().BoolVar(&opt.Repair, "repair", false, "replace a damaged file")
	return c
}

func (a *app) modelsShowCommand() *cobra.Command {
	var f servedFlags
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a model's metadata and digests", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := a.models()
			if err != nil {
				return err
			}
			if ref, err := store.Resolve(args[0]); err != nil || ref.Served() {
				if err != nil {
					return err
				}
				return a.showServed(c.Context(), f, ref, store)
			}
			m, err := store.Open(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.model/v1", "ok": true, "model": m}, func() { a.sayModel(m) })
		},
	}
	f.network = networkFlag(c)
	return c
}

func (a *app) modelsVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify NAME", Short: "Read every byte of a model again and check its digest", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			store, err := a.models()
			if err != nil {
				return err
			}
			m, err := store.Verify(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.model/v1", "ok": true, "model": m}, func() { a.sayModel(m) })
		},
	}
}

func (a *app) sayModel(m models.Model) {
	a.say("%s", m.Name)
	a.say("  path          %s", m.Path)
	a.say("  architecture  %s, %d tensors, %d parameters, %s", m.Architecture, m.Tensors, m.Parameters, m.FileType)
	a.say("  context       %d tokens; vocabulary %d", m.ContextLength, m.Vocabulary)
	a.say("  sha256        %s (pinned: %t)", m.SHA256, m.Pinned)
}
