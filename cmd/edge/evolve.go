package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"edge/evolve"
	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

// evolveResult is edge.evolve/v1.
type evolveResult struct {
	Schema       string        `json:"schema"`
	OK           bool          `json:"ok"`
	Mode         string        `json:"mode"` // online, local or offline_selftest
	Model        string        `json:"model"`
	AllowCreate  bool          `json:"allow_create"`
	AllowNetwork bool          `json:"allow_network"`
	Runs         []evolveRun   `json:"runs"`
	Reused       bool          `json:"reused"` // a task after the first was solved without making a tool
	Library      []string      `json:"library"`
	GateRejected *bool         `json:"gate_rejected_bad_tool,omitempty"` // of the self-test
	Tasks        []offlineTask `json:"tasks,omitempty"`                  // of the self-test
}

type evolveRun struct {
	evolve.Run
	ReceiptPath   string         `json:"receipt_path,omitempty"`
	ReceiptSHA256 *digest.SHA256 `json:"receipt_sha256,omitempty"`
}

type offlineTask struct {
	Task       string   `json:"task"`
	AnswerDays int      `json:"answer_days"`
	Trajectory []string `json:"trajectory"`
}

type evolveFlags struct {
	engineFlags
	tasks        []string
	offline      bool
	fresh        bool
	noCreate     bool
	allowNetwork bool
	output       string
	imprint      string
}

// maxTaskBytes bounds one task's text.
const maxTaskBytes = 64 << 10

func defaultTasks() []string {
	return []string{
		"How many days are there between 2020-01-01 and 2020-03-01?",
		"How many days are there between 2021-01-01 and 2021-12-31?",
	}
}

func (a *app) evolveCommand() *cobra.Command {
	var f evolveFlags
	c := &cobra.Command{
		Use: "evolve", Short: "Solve tasks with tools that are made on the way, checked, kept, and used again", Args: cobra.NoArgs,
		Example: "  edge evolve --offline\n  edge evolve --model ollama:qwen3:8b --task \"How many days until 2030-01-01 from 2026-12-01?\"\n  edge evolve --model openai:http://127.0.0.1:8080#qwen3",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.offline {
				return a.evolveSelfTest(c.Context(), f)
			}
			return a.evolve(c.Context(), f)
		},
	}
	f.engineFlags.register(c)
	c.Flags().Lookup("model").Usage = "who plans: a local model as in every command, ollama:NAME, or openai:URL#NAME"
	c.Flags().StringArrayVar(&f.tasks, "task", nil, "a task (repeatable, in order); without one, two tasks about dates")
	c.Flags().BoolVar(&f.offline, "offline", false, "test the loop itself, with a script in the model's place and a library of its own")
	c.Flags().BoolVar(&f.fresh, "fresh", false, "empty the library first")
	c.Flags().BoolVar(&f.noCreate, "no-create", false, "make no tools: only use what is there")
	c.Flags().BoolVar(&f.allowNetwork, "allow-network", false, "allow web_search, read_webpage, pip_install, and a planner on another machine")
	c.Flags().StringVar(&f.output, "output", "", "also write the result to this file, as JSON")
	c.Flags().StringVar(&f.imprint, "with-imprint", "", "imprint of edge evolve learn: what its tools answer needs no planner")
	c.AddCommand(a.evolveToolsCommand(), a.evolveLearnCommand(), a.evolveReplayCommand())
	return c
}

func (f *evolveFlags) check() error {
	for _, task := range f.tasks {
		if strings.TrimSpace(task) == "" || !utf8.ValidString(task) || strings.ContainsRune(task, 0) || len(task) > maxTaskBytes {
			return fault.New(fault.CodeInvalidArguments, "--task must be text of 1 to %d bytes", maxTaskBytes)
		}
	}
	if f.imprint != "" && f.remote() {
		return fault.New(fault.CodeInvalidArguments, "--with-imprint is for a model that runs here, and --model is %s", f.model)
	}
	if f.imprint != "" && f.fresh {
		return fault.New(fault.CodeInvalidArguments, "--fresh would empty the library that --with-imprint needs")
	}
	return checkOut(f.output)
}

// remote reports whether the planner is behind an address.
func (f *evolveFlags) remote() bool {
	return strings.HasPrefix(f.model, "openai:") || strings.HasPrefix(f.model, "ollama:")
}

func (a *app) evolve(ctx context.Context, f evolveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	g, err := a.openGround(f.allowNetwork)
	if err != nil {
		return err
	}
	defer g.close()
	cfg, closer, err := a.evolveConfig(ctx, f, g)
	if err != nil {
		return err
	}
	defer closer()
	if f.fresh { // last: a run that can't begin empties nothing
		n, err := g.library.Clear(ctx)
		if err != nil {
			return stateError(err)
		}
		a.notify(fmt.Sprintf("--fresh: the library was emptied (%d tools)", n))
	}
	tasks := f.tasks
	if len(tasks) == 0 {
		tasks = defaultTasks()
	}
	result := evolveResult{Schema: "edge.evolve/v1", OK: true, Mode: "local", Model: cfg.Planner.Name(), AllowCreate: cfg.AllowCreate, AllowNetwork: f.allowNetwork, Runs: []evolveRun{}}
	if f.remote() {
		result.Mode = "online"
	}
	agent := evolve.New(cfg)
	for i, task := range tasks {
		a.notify(fmt.Sprintf("task %d: %s", i+1, plain(task)))
		run, err := a.evolveTask(ctx, agent, g, cfg, task)
		if err != nil {
			return err
		}
		result.Runs = append(result.Runs, run)
		result.Reused = result.Reused || i > 0 && run.Reused
	}
	return a.finishEvolve(f, g, result, len(tasks) < 2 || result.Reused)
}

// evolveTask takes one task to its end and leaves a receipt, also where it fails.
func (a *app) evolveTask(ctx context.Context, agent *evolve.Agent, g *ground, cfg evolve.Config, task string) (out evolveRun, err error) {
	err = a.recorded(ctx, "evolve", func(record *record) error {
		record.set("task_sha256", digest.SHA256Of([]byte(task)))
		record.set("model", cfg.Planner.Name())
		record.set("allow_network", cfg.AllowNetwork)
		run, err := agent.Run(ctx, task)
		if run.TrajectoryPath != "" {
			recordEvolved(record, run)
		}
		if err != nil {
			return err
		}
		path, sum, err := record.write(nil)
		if err != nil {
			return err
		}
		out = evolveRun{run, path, &sum}
		for _, r := range run.Made {
			if err := g.library.Attest(ctx, r, path, sum); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// recordEvolved puts a run's digests into its receipt.
func recordEvolved(record *record, run evolve.Run) {
	record.set("answer_sha256", digest.SHA256Of([]byte(run.Answer)))
	record.set("trajectory_path", run.TrajectoryPath)
	record.set("trajectory_sha256", run.TrajectorySHA256)
	record.set("finish_reason", run.Finish)
	record.set("calls", run.Trajectory)
	record.set("steps", run.Steps)
	record.set("seconds", run.Seconds)
	record.set("direct", run.Direct)
	record.set("reused", run.Reused)
	sources := func(list []evolve.Record) []map[string]any {
		out := []map[string]any{}
		for _, r := range list {
			out = append(out, map[string]any{"name": r.Name, "source_sha256": r.SourceSHA256, "parameters_sha256": r.ParametersSHA256})
		}
		return out
	}
	record.set("tools_made", sources(run.Made))
	record.set("tools_used", sources(run.Used))
}

func (a *app) evolveSelfTest(ctx context.Context, f evolveFlags) error {
	if len(f.tasks) > 0 || f.imprint != "" {
		return fault.New(fault.CodeInvalidArguments, "--offline has tasks of its own, and takes neither --task nor --with-imprint")
	}
	if err := checkOut(f.output); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "edge-evolve-selftest-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, err := a.groundAt(dir, false)
	if err != nil {
		return err
	}
	defer g.close()
	test, err := evolve.RunSelfTest(ctx, a.plainConfig(g))
	if err != nil {
		return err
	}
	result := evolveResult{Schema: "edge.evolve/v1", OK: test.Passed(), Mode: "offline_selftest", Model: "self-test", AllowCreate: true, Reused: test.Reused, GateRejected: &test.GateRejectedBadTool}
	for _, r := range test.Runs {
		r.TrajectoryPath = "" // it goes with the library
		result.Runs = append(result.Runs, evolveRun{Run: r.Run})
		result.Tasks = append(result.Tasks, offlineTask{r.Task, r.AnswerDays, r.Trajectory})
	}
	return a.finishEvolve(f, g, result, test.Passed())
}

// finishEvolve says what the tasks came to. Without success the exit status is 1, and the words are the same.
func (a *app) finishEvolve(f evolveFlags, g *ground, result evolveResult, success bool) error {
	list, err := g.library.List()
	if err != nil {
		return err
	}
	result.OK, result.Library = success, []string{}
	for _, r := range list {
		result.Library = append(result.Library, r.Name)
	}
	if f.output != "" {
		raw, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(f.output, 0o600, append(raw, '\n')); err != nil {
			return err
		}
	}
	if err := a.print(result, func() { a.sayEvolved(result) }); err != nil {
		return err
	}
	if !success {
		return exitStatus(1)
	}
	return nil
}
