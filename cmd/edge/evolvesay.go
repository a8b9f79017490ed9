package main

import (
	"fmt"
	"strings"
)

// sayEvolved is the result for people: the answers, and a table of how they came about.
func (a *app) sayEvolved(r evolveResult) {
	for i, run := range r.Runs {
		a.say("[task %d] %s", i+1, plain(run.Answer))
	}
	a.say("")
	a.say("%-5s %-6s %-8s %-7s %s", "task", "steps", "seconds", "made", "trajectory")
	for i, run := range r.Runs {
		made := "-"
		if len(run.Created) > 0 {
			made = fmt.Sprint(len(run.Created))
		}
		way := plain(strings.Join(run.Trajectory, " → "))
		if run.Direct {
			way += " (from the imprint)"
		}
		a.say("%-5d %-6d %-8.1f %-7s %s", i+1, run.Steps, run.Seconds, made, way)
	}
	if r.GateRejected != nil {
		a.say("a tool that crashes was kept out of the library: %s", yes(*r.GateRejected))
	}
	if len(r.Runs) > 1 {
		a.say("a later task used what was there, and made nothing: %s", yes(r.Reused))
	}
	for _, run := range r.Runs {
		if run.ReceiptPath != "" {
			a.notify("  trajectory  " + run.TrajectoryPath)
			a.notify("  receipt     " + run.ReceiptPath)
		}
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
