package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"edge/chat"
	"edge/runner"
	"edge/serve"
)

// served is what a command has when it runs in the server; nil in a process of its own.
type served struct {
	host    *host
	streams serve.Streams
	python  *runner.Config // of the runner that the command made; nil: none
}

// compute runs what uses the engine: at once, or in the server when its turn has come.
func (a *app) compute(ctx context.Context, do func() error) error {
	if a.served == nil {
		return do()
	}
	return a.served.host.queue.Do(ctx, func(before int) { a.notify(waiting(before)) }, do)
}

func waiting(before int) string {
	if before == 1 {
		return "waiting: edge serve works on one thing that came before"
	}
	return fmt.Sprintf("waiting: edge serve works on %d things that came before", before)
}

// gate is where an imprint is verified: nil for the file's own way.
func (a *app) gate() chat.Gate {
	if a.served == nil {
		return nil
	}
	return a.served.host.pool.Verify
}

// interrupts hears Ctrl-C until stop is called.
func (a *app) interrupts() (heard <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	if a.served == nil {
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		return c, func() { signal.Stop(c) }
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-a.served.streams.Interrupts:
				select {
				case c <- os.Interrupt:
				default: // one waits to be heard
				}
			case <-ended:
				return
			}
		}
	}()
	return c, func() { close(ended) }
}

// lasting is a context for a turn that Ctrl-C stops, and doesn't cancel: it ends when nobody waits for the turn any more.
func (a *app) lasting(ctx context.Context) context.Context {
	if a.served == nil {
		return context.WithoutCancel(ctx)
	}
	return a.served.streams.Gone
}
