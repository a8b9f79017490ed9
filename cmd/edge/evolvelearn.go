package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"edge/evolve"
	"edge/hosted/interpreter"
	"edge/runner"
)

func (a *app) evolveLearnCommand() *cobra.Command {
	var f engineFlags
	c := &cobra.Command{
		Use: "learn", Short: "Learn the library's best tools into an imprint, with the requests that they answered", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.recorded(c.Context(), "learn", func(record *record) error { return a.evolveLearn(c.Context(), f, record) })
		},
	}
	f.register(c)
	return c
}

// evolveLearn makes a tools file and a sample of the library, and learns them as edge demo learn run does.
func (a *app) evolveLearn(ctx context.Context, f engineFlags, record *record) error {
	place := a.evolvePlace()
	library, err := evolve.NewLibrary(place.Library(), a.notify)
	if err != nil {
		return stateError(err)
	}
	list, err := library.List()
	if err != nil {
		return err
	}
	lesson, err := evolve.NewLesson(evolve.Best(list), interpreter.Packages(a.home))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "edge-evolve-learn-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, sample := filepath.Join(dir, "tools.py"), filepath.Join(dir, "sample.json")
	if err := os.WriteFile(file, lesson.File, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(sample, lesson.Sample, 0o600); err != nil {
		return err
	}
	flags := learnFlags{engineFlags: f, toolFlags: toolFlags{file: file, sandbox: string(runner.SandboxRequired)}, sample: sample}
	result, err := a.learnFrom(ctx, flags, record)
	if err != nil {
		return err
	}
	if err := place.Keep(result.ArtifactID, lesson); err != nil {
		return stateError(err)
	}
	return a.print(*result, func() {
		a.sayLearned(*result)
		a.say("  use it   edge evolve --with-imprint %s", result.ArtifactID)
	})
}
