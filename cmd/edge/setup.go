package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"edge/inference/llamacpp/libffi"
	"edge/models"
)

func (a *app) setupCommand() *cobra.Command {
	var opt models.SetupOptions
	var optimize bool
	c := &cobra.Command{
		Use: "setup", Short: "Fetch the engine libraries and the default model, each checked against a pinned digest", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := a.models()
			if err != nil {
				return err
			}
			r, err := store.Setup(c.Context(), opt)
			if err != nil {
				return err
			}
			value := map[string]any{
				"schema": "edge.setup/v1", "ok": true,
				"engine": map[string]any{"dir": r.Runtime.Dir, "version": r.Runtime.Release.Engine, "platform": r.Runtime.Release.Platform, "sha256": r.Runtime.SHA256, "fetched": r.RuntimeFetched},
				"model":  map[string]any{"name": r.Model.Name, "path": r.Model.Path, "sha256": r.Model.SHA256, "fetched": r.ModelFetched},
			}
			if err := libffi.Check(); err != nil {
				a.notify("the engine can't be opened yet: " + err.Error() + "\n      → " + installLibffi)
			}
			var optimized modelsOptimize
			if optimize {
				if optimized, err = a.optimize(c.Context(), engineFlags{model: r.Model.Name}, ""); err != nil {
					return err
				}
				value["optimized"] = optimized
			} else if store.CanOptimize(r.Model) && (a.firstOffer() || r.ModelFetched) {
				a.notify("edge models optimize can make " + r.Model.Name + " faster on this machine")
			}
			return a.print(value, func() {
				a.say("engine  llama.cpp %s for %s, verified: %s", r.Runtime.Release.Engine, r.Runtime.Release.Platform, r.Runtime.Dir)
				a.say("model   %s, verified: %s", r.Model.Name, r.Model.Path)
				if optimize {
					a.sayOptimized(optimized)
				}
			})
		},
	}
	c.Flags().StringArrayVar(&opt.From, "from", nil, "a folder or .tgz with the engine, a .gguf or .whl with the model, used in place of a download (repeatable)")
	c.Flags().BoolVar(&optimize, "optimize", false, "then do what edge models optimize does with the default model")
	c.Flags().BoolVar(&opt.Repair, "repair", false, "replace what is damaged")
	return c
}

// firstOffer reports whether setup hasn't said before that the model can be made faster, and notes that it has. Where
// that can't be noted, nothing is said: it would be each time.
func (a *app) firstOffer() bool {
	f, err := os.OpenFile(filepath.Join(a.home.Models(), "optimize.offered"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
