// Command bfcl measures edge on the data of the Berkeley Function-Calling Leaderboard, which bfcl.py reads from the
// package bfcl-eval. What it makes of that data stays under the folder that it is given; none of it is in this repository.
// It refuses what edge refuses, and counts it as wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"edge/models"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bfcl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bfcl schemas|calls", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.dir, "dir", "", "folder with data/, where the reports go")
	flags.BoolVar(&o.engine, "engine", false, "schemas: read the grammars with the engine's own code")
	flags.StringVar(&o.category, "category", "multiple", "calls: which category")
	flags.IntVar(&o.first, "n", 100, "calls: how many requests, from the first")
	flags.IntVar(&o.shared, "shared", 0, "calls: only requests whose functions so many requests share, and learn from the others of them")
	flags.StringVar(&o.model, "model", models.DefaultModel, "which model")
	flags.IntVar(&o.threads, "threads", 1, "calls: threads that compute")
	if len(args) == 0 {
		flags.Usage()
		return flag.ErrHelp
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.dir == "" {
		return fmt.Errorf("-dir is missing: the folder that bfcl.py wrote")
	}
	switch args[0] {
	case "schemas":
		return schemas(ctx, o, out)
	case "calls":
		return calls(ctx, o, out)
	}
	return fmt.Errorf("no command %q, want schemas or calls", args[0])
}
