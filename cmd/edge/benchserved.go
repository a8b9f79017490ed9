package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/bench/scale"
	"edge/chat"
	"edge/internal/fault"
	"edge/learn"
)

// benchServed is edge.bench_served/v1.
type benchServed struct {
	Schema    string          `json:"schema"`
	OK        bool            `json:"ok"`
	Load      *scale.Report   `json:"load"` // null without --model: nothing was measured
	Simulated []simulatedPair `json:"simulated"`
}

// simulatedPair is both policies on the same requests.
type simulatedPair struct {
	Servers  int             `json:"servers"`
	Prefixes int             `json:"prefixes"`
	Capacity int             `json:"capacity"`
	Outcomes []scale.Outcome `json:"outcomes"`
}

type benchServedFlags struct {
	chatFlags
	load       scale.Load
	simulation scale.Simulation
}

func (a *app) benchServedCommand() *cobra.Command {
	var f benchServedFlags
	c := &cobra.Command{
		Use: "served", Short: "Measure a model server under load behind an imprint, and simulate several", Args: cobra.NoArgs,
		Example: "  edge bench served --model openai:http://127.0.0.1:8080 --with-imprint ID --tools tools.py\n  edge bench served --imprints 200",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.benchServed(c.Context(), f, c.Flags().Changed("model"))
			if err != nil {
				return err
			}
			return a.print(r, func() { a.sayBenchServed(r) })
		},
	}
	c.Flags().StringVar(&f.model, "model", "", "ollama:NAME or openai:URL#NAME (default: simulate only)")
	f.kv = "f16"
	f.toolFlags.register(c)
	f.servedFlags.register(c)
	c.Flags().StringVar(&f.imprint, "with-imprint", "", "imprint whose prefix every request begins with")
	c.Flags().IntVar(&f.load.Clients, "clients", 4, "requests at once, at most 64")
	c.Flags().IntVar(&f.load.Requests, "requests", 24, "requests all together, at most 1000")
	c.Flags().IntVar(&f.load.Tokens, "tokens", 8, "tokens of each reply")
	c.Flags().IntVar(&f.simulation.Prefixes, "imprints", 64, "simulated imprints in use")
	c.Flags().IntVar(&f.simulation.Capacity, "capacity", 16, "simulated imprints that one server's cache holds")
	c.Flags().Float64Var(&f.simulation.Skew, "skew", 1, "how much more the first imprints are asked for (Zipf's exponent; 0: all alike)")
	return c
}

// loadPrompts are what the load asks; the answers don't matter.
func loadPrompts() []string {
	return []string{"Hello there!", "What can you do for me?", "Thanks, that's all.", "Tell me something nice.", "Who are you?"}
}

func (a *app) benchServed(ctx context.Context, f benchServedFlags, measure bool) (*benchServed, error) {
	s := f.simulation
	if s.Prefixes < 1 || s.Prefixes > 100_000 || s.Capacity < 1 || !(s.Skew >= 0 && s.Skew <= 10) || f.load.Tokens < 1 || f.load.Tokens > 512 {
		return nil, fault.New(fault.CodeInvalidArguments, "--imprints, --capacity, --skew or --tokens is out of range")
	}
	r := &benchServed{Schema: "edge.bench_served/v1", OK: true}
	for _, n := range []int{1, 2, 4, 8, 16} {
		pair := simulatedPair{Servers: n, Prefixes: s.Prefixes, Capacity: s.Capacity}
		for _, policy := range []scale.Policy{scale.RoundRobin, scale.Hash} {
			s.Servers, s.Policy, s.Requests, s.Seed = n, policy, 20_000, 1
			pair.Outcomes = append(pair.Outcomes, scale.Simulate(s))
		}
		r.Simulated = append(r.Simulated, pair)
	}
	if !measure {
		return r, nil
	}
	if f.imprint == "" {
		return nil, fault.New(fault.CodeInvalidArguments, "--with-imprint is missing")
	}
	if !a.servedElsewhere(f.model) {
		return nil, fault.New(fault.CodeInvalidArguments, "%s runs here: edge bench measures it; this is for ollama: and openai: models", f.model)
	}
	return r, a.recorded(ctx, "bench_served", func(record *record) (err error) {
		r.Load, err = a.askServer(ctx, f, record)
		return err
	})
}

// askServer puts the imprint through the gate, as for a chat, and asks one server.
func (a *app) askServer(ctx context.Context, f benchServedFlags, record *record) (*scale.Report, error) {
	f.maxTokens, f.maxTurns = chat.DefaultAnswer, chat.DefaultTurns
	c, err := a.converse(ctx, f.chatFlags, record, chat.Config{})
	if err != nil {
		return nil, err
	}
	defer c.close()
	l := f.load
	l.World, l.Imprint, l.Prompts, l.Clock = c.world.World, c.Verified(), loadPrompts(), time.Now
	learned, err := learn.DecodeLearned(l.Imprint.Learned())
	if err != nil {
		return nil, err
	}
	if l.Messages, err = learn.Contract(c.tools.set, learned.Profile, learn.Shown(learned.Examples)); err != nil {
		return nil, err
	}
	report, err := scale.Run(ctx, l)
	if err != nil {
		return nil, err
	}
	record.set("load", report)
	_, _, err = record.write(nil)
	return report, err
}

func (a *app) sayBenchServed(r *benchServed) {
	if l := r.Load; l != nil {
		held := "not said"
		if l.HitRate != nil {
			held = fmt.Sprintf("%.1f %% (%d of %d prompt tokens)", 100**l.HitRate, *l.CachedTokens, l.PromptTokens)
		}
		a.say("One server, %d requests by %d clients at once:", l.Requests, l.Clients)
		a.say("  cached         %s", held)
		a.say("  first token    %.0f ms median, %.0f ms p95, %.0f ms at most; %.0f ms for the first request, alone", l.FirstMS.Median, l.FirstMS.P95, l.FirstMS.Max, l.ColdFirstMS)
		a.say("  throughput     %.2f requests/s", l.PerSecond)
	}
	a.say("Simulated, %d imprints, each server's cache holds %d:", r.Simulated[0].Prefixes, r.Simulated[0].Capacity)
	for _, p := range r.Simulated {
		var parts []string
		for _, o := range p.Outcomes {
			parts = append(parts, fmt.Sprintf("%s %.0f %% hits (busiest ×%.2f)", strings.ReplaceAll(string(o.Policy), "_", " "), 100*o.HitRate, o.Imbalance))
		}
		a.say("  %2d servers     %s", p.Servers, strings.Join(parts, ", "))
	}
}
