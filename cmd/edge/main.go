// Command edge lets a local model call Python functions, and learn them. Its verbs are thin: flags → request → render.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"edge/runner"
)

func main() { os.Exit(run()) }

// run is main, but returns, so that everything deferred is done.
func run() int {
	if len(os.Args) > 1 && os.Args[1] == runner.SandboxCommand {
		return runner.SandboxMain(os.Args[2:], os.Environ(), os.Stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, newApp(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
