package main

import "github.com/spf13/cobra"

func (a *app) demoCommand() *cobra.Command {
	c := &cobra.Command{Use: "demo", Short: "Learn tools into an imprint, and chat"}
	learn := &cobra.Command{Use: "learn", Short: "Learn tools, a profile and examples"}
	learn.AddCommand(a.learnRunCommand(), a.learnEvalCommand())
	c.AddCommand(learn, a.chatCommand())
	return c
}
