package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"edge/agent"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// agentResult is edge.agent/v1.
type agentResult struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
	*agent.Run
	Replies       int           `json:"replies"` // of all models
	LoadMS        float64       `json:"load_ms"` // until engine, model and file were loaded
	TotalMS       float64       `json:"total_ms"`
	Model         modelReport   `json:"model"`
	ReceiptPath   string        `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256 `json:"receipt_sha256"`
}

type agentFlags struct {
	engineFlags
	hands    handFlags
	file     string
	agent    string
	prompt   string
	receipt  string   // of a learning of all agents
	imprints []string // NAME=ID
	context  string
	choice   string
	maxTurns int
}

func (a *app) agentRunCommand() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use: "run FILE", Short: "Have an agent answer a prompt, with the agents that it calls or hands over to", Args: cobra.ExactArgs(1),
		Example: "  edge agent run household.py --prompt \"How much flour is there?\" --with-imprints receipt.json",
		RunE: func(c *cobra.Command, args []string) error {
			f.file = args[0]
			return a.recorded(c.Context(), "agent", func(record *record) error {
				return a.agentRun(c.Context(), f, c.Flags().Changed("tool-choice"), record)
			})
		},
	}
	f.engineFlags.register(c)
	f.servedFlags.register(c)
	f.hands.register(c)
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that begins (default: the variable agent, or the only one that no other refers to)")
	c.Flags().StringVar(&f.prompt, "prompt", "", "the prompt to answer (required)")
	c.Flags().StringVar(&f.receipt, "with-imprints", "", "the receipt of edge agent learn: every agent begins with its imprint")
	c.Flags().StringArrayVar(&f.imprints, "with-imprint", nil, "NAME=ID: the imprint that this agent begins with (repeatable)")
	c.Flags().StringVar(&f.context, "context", "null", "what tools get as their context, JSON; no model sees it")
	c.Flags().StringVar(&f.choice, "tool-choice", "", "for the first agent, instead of the file's: auto, required, none, or a tool's name")
	c.Flags().IntVar(&f.maxTurns, "max-turns", agent.DefaultMaxTurns, "replies that all models together may give")
	return c
}

func (f *agentFlags) check() error {
	switch {
	case f.prompt == "":
		return fault.New(fault.CodeInvalidArguments, "--prompt is missing")
	case f.maxTurns < 1:
		return fault.New(fault.CodeInvalidArguments, "--max-turns %d is out of range: it takes one at least", f.maxTurns)
	}
	return checkContext(f.context)
}

func checkContext(text string) error {
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
		return fault.New(fault.CodeInvalidArguments, "--context isn't JSON: %s", tools.EscapeForDisplay(text))
	}
	return nil
}

func (a *app) agentRun(ctx context.Context, f agentFlags, chosen bool, record *record) error {
	if err := f.check(); err != nil {
		return err
	}
	named, err := f.named()
	if err != nil {
		return err
	}
	r, err := a.sandboxedRunner(f.hands.sandbox)
	if err != nil {
		return err
	}
	defer r.Close()
	// The file runs while the engine and the model load: both take a moment, on different cores.
	loading := start(func() (*loaded, error) { return a.load(ctx, f.engineFlags) })
	file, first, err := a.agentsFor(ctx, f, r)
	if err != nil {
		loading.discard()
		return err
	}
	record.agents(file)
	imprints, err := a.openImprints(file, named)
	defer closeImprints(imprints)
	if err != nil {
		loading.discard()
		return err
	}
	run, pending, err := a.handsOf(ctx, f.hands, file, r)
	if err != nil {
		loading.discard()
		return err
	}
	defer run.close()
	r.Prepare()
	world, err := loading.wait()
	if err != nil {
		return err
	}
	defer world.Close()
	record.world(world.World)
	a.noteUnused(file)
	loadMS := ms(time.Since(a.started))
	progress, done := a.prefixProgress()
	cfg := agent.Config{
		File: file, World: world.World, Runner: run.run, Pending: pending, Imprints: imprints, Context: json.RawMessage(f.context),
		MaxTurns: f.maxTurns, Clock: time.Now, Progress: progress, Decide: decider(r, file),
		Record: func(run *agent.Run) (digest.SHA256, error) { return a.recordRun(run, world.World, file) },
	}
	if chosen {
		cfg.Choice = &f.choice
	}
	team := agent.New(cfg)
	out, err := team.Run(ctx, first, f.prompt)
	done()
	record.set("prompt_sha256", digest.SHA256Of([]byte(f.prompt)))
	if err != nil {
		return err
	}
	result := agentResult{
		Schema: "edge.agent/v1", OK: true, Run: out, Replies: team.Replies(), LoadMS: loadMS, TotalMS: ms(time.Since(a.started)), Model: reportModel(world.World),
	}
	record.run(out)
	record.set("replies", result.Replies)
	if result.ReceiptPath, result.ReceiptSHA256, err = record.write(nil); err != nil {
		return err
	}
	return a.print(result, func() { a.sayRun(result) })
}

// agentsFor gives the file's agents, and the one that begins.
func (a *app) agentsFor(ctx context.Context, f agentFlags, r *runner.Runner) (*agent.File, *agent.Agent, error) {
	file, err := a.agentFile(ctx, f.file, r)
	if err != nil {
		return nil, nil, err
	}
	first, err := file.Agent(f.agent)
	return file, first, err
}

// noteUnused says what of the file counts for nothing here.
func (a *app) noteUnused(file *agent.File) {
	for _, one := range file.Agents() {
		if one.Model != "" {
			a.notify(fmt.Sprintf("note: agent %s names the model %s; all agents run on the one that --model names", plain(one.Name), plain(one.Model)))
		}
		if len(one.UnusedSettings) > 0 {
			a.notify(fmt.Sprintf("note: agent %s: no use is made of %s", plain(one.Name), strings.Join(one.UnusedSettings, ", ")))
		}
	}
}
