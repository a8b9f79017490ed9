package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"edge/evolve"
	"edge/tools"
)

// evolveReplayResult is edge.evolve_replay/v1.
type evolveReplayResult struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"` // nothing differs
	Path   string `json:"path"`
	evolve.Replay
}

func (a *app) evolveReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use: "replay FILE", Short: "Run a trajectory's calls again, without a model and in a library of its own, and compare", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.evolveReplay(c.Context(), args[0]) },
	}
}

func (a *app) evolveReplay(ctx context.Context, path string) error {
	lines, err := evolve.ReadTrajectory(path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "edge-evolve-replay-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, err := a.groundAt(dir, false)
	if err != nil {
		return err
	}
	defer g.close()
	replay, err := evolve.Again(ctx, a.plainConfig(g), lines)
	if err != nil {
		return err
	}
	result := evolveReplayResult{"edge.evolve_replay/v1", replay.Different == 0, path, replay}
	err = a.print(result, func() {
		for _, s := range replay.Steps {
			a.say("%-4d %-24s %s", s.Step, tools.EscapeForDisplay(s.Name), s.Outcome)
			if s.Outcome == evolve.ReplayDifferent {
				a.say("     was  %s", tools.EscapeForDisplay(string(s.Want)))
				a.say("     now  %s", tools.EscapeForDisplay(string(s.Got)))
			}
		}
		a.say("%s", fmt.Sprintf("%d the same, %d different, %d not replayed (they need the network)", replay.Same, replay.Different, replay.NotReplayed))
	})
	if err == nil && !result.OK {
		return exitStatus(1)
	}
	return err
}
