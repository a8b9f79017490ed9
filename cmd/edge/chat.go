package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"edge/chat"
	"edge/imprint"
	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
)

// chatResult is edge.chat/v1.
type chatResult struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
	*chat.Turn
	Served        bool          `json:"served"` // by edge serve
	Model         modelReport   `json:"model"`
	ReceiptPath   string        `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256 `json:"receipt_sha256"`
}

type chatFlags struct {
	engineFlags
	toolFlags
	policyFlags
	imprint     string
	prompt      string
	temperature float64
	seed        uint64
	maxTokens   int
	noServe     bool
}

func (a *app) chatCommand() *cobra.Command {
	var f chatFlags
	c := &cobra.Command{
		Use: "chat", Short: "Answer one prompt, or chat in the terminal without --prompt", Args: cobra.NoArgs,
		Example: "  edge demo chat --with-imprint ID --tools tools.py --prompt \"What is the fee for 250?\"",
		RunE: func(c *cobra.Command, _ []string) error {
			oneShot := c.Flags().Changed("prompt")
			if !oneShot && a.json {
				return fault.New(fault.CodeInvalidArguments, "--json needs --prompt: a terminal chat isn't one JSON object")
			}
			if !f.noServe && !a.servedElsewhere(f.model) {
				if done, err := a.throughServer(c.Context(), c, oneShot); done {
					return err
				}
			}
			return a.recorded(c.Context(), "chat", func(record *record) error { return a.chat(c.Context(), f, oneShot, record) })
		},
	}
	f.engineFlags.register(c)
	f.toolFlags.register(c)
	f.policyFlags.register(c)
	f.servedFlags.register(c)
	c.Flags().StringVar(&f.imprint, "with-imprint", "", "imprint to restore: an id, a path, or a learning receipt")
	c.Flags().StringVar(&f.prompt, "prompt", "", "the prompt to answer")
	c.Flags().Float64Var(&f.temperature, "temperature", 0, "0 is greedy and repeatable")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random choice where --temperature is above 0")
	c.Flags().IntVar(&f.maxTokens, "max-tokens", chat.DefaultAnswer, "longest answer, in tokens")
	c.Flags().BoolVar(&f.noServe, "no-serve", false, "work alone even where edge serve runs")
	return c
}

func (f *chatFlags) validate() error {
	if !(f.temperature >= 0 && f.temperature <= 10) { // so that NaN is refused too
		return fault.New(fault.CodeInvalidArguments, "--temperature %g is out of range: 0 to 10", f.temperature)
	}
	if f.maxTokens < 1 {
		return fault.New(fault.CodeInvalidArguments, "--max-tokens %d is out of range", f.maxTokens)
	}
	return f.check()
}

// conversation is an open chat with everything that it uses.
type conversation struct {
	*chat.Chat
	world  *loaded
	tools  surface
	loadMS float64
}

func (c *conversation) close() {
	c.Chat.Close()
	c.world.Close()
	c.tools.close()
}

// converse opens a chat. What can be refused by looking at flags and files is refused before a model is loaded.
func (a *app) converse(ctx context.Context, f chatFlags, record *record, cfg chat.Config) (_ *conversation, err error) {
	if a.served != nil {
		record.set("served", true)
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	if cfg.Policy, err = f.policy(); err != nil {
		return nil, err
	}
	if f.imprint != "" {
		store, err := a.imprints()
		if err != nil {
			return nil, err
		}
		if cfg.Imprint, err = store.Open(f.imprint); err != nil {
			return nil, err
		}
		defer cfg.Imprint.Close()
		record.set("imprint_id", cfg.Imprint.ID().String())
	}
	// The tools file runs while the engine and the model load: both take a moment, on different cores.
	world := start(func() (*loaded, error) { return a.load(ctx, f.engineFlags) })
	c := &conversation{}
	defer func() {
		if err != nil {
			world.discard()
			c.tools.close()
		}
	}()
	if c.tools, err = a.surface(ctx, &f.toolFlags); err != nil {
		return nil, err
	}
	if cfg.Imprint != nil && a.served == nil { // a resident engine may have it in memory
		cfg.Imprint.Ahead(ctx)
	}
	record.tools(c.tools.set)
	if err := cfg.Policy.Check(c.tools.set); err != nil {
		return nil, err
	}
	if cfg.Imprint != nil && c.tools.set == nil {
		if names := cfg.Imprint.Header().Identity.Tools; len(names) > 0 {
			return nil, requiresTools(names)
		}
	}
	if c.tools.set != nil {
		pending, err := a.pending()
		if err != nil {
			return nil, err
		}
		cfg.Dispatcher = &chat.Dispatcher{Set: c.tools.set, Runner: c.tools.run, Pending: pending, Ahead: c.tools.ahead}
		if c.tools.slow() {
			c.tools.ahead()
		}
	}
	a.waitFor("loading "+f.model, world.done)
	if c.world, err = world.wait(); err != nil {
		return nil, err
	}
	record.world(c.world.World)
	c.loadMS = ms(time.Since(a.started))
	cfg.World, cfg.Clock = c.world.World, time.Now
	cfg.Temperature, cfg.Seed, cfg.MaxTokens = f.temperature, f.seed, f.maxTokens
	cfg.Gate = a.gate()
	if err := a.compute(ctx, func() (err error) { c.Chat, err = chat.Open(ctx, cfg); return err }); err != nil {
		return nil, err
	}
	a.touch(c.Chat.Imprint())
	return c, nil
}

func requiresTools(recorded []imprint.Tool) error {
	e := fault.New(fault.CodeImprintRequiresTools, "the imprint was learned with %d tools, and none were given", len(recorded))
	for _, t := range recorded {
		e.Mismatches = append(e.Mismatches, fault.Mismatch{Field: "tools." + t.Name, Want: t.SchemaSHA256.String(), Got: imprint.Absent})
	}
	return e
}

// touch notes the use of an imprint of the store; one that lies elsewhere has no such note.
func (a *app) touch(report *chat.ImprintReport) {
	if report == nil {
		return
	}
	id, err := digest.ParseBLAKE3(report.ID)
	if err != nil {
		return
	}
	if store, err := a.imprints(); err == nil {
		store.Touch(id, time.Now())
	}
}

func (a *app) chat(ctx context.Context, f chatFlags, oneShot bool, record *record) error {
	if !oneShot {
		return a.chatTerminal(ctx, f, record)
	}
	progress, done := a.prefixProgress()
	c, err := a.converse(ctx, f, record, chat.Config{Progress: progress})
	if err != nil {
		return err
	}
	defer c.close()
	beforeTurn := ms(time.Since(a.started))
	var turn *chat.Turn
	err = a.compute(ctx, func() (err error) { turn, err = c.Ask(ctx, f.prompt); return err })
	done()
	record.set("prompt_sha256", digest.SHA256Of([]byte(f.prompt)))
	if err != nil {
		return err
	}
	result := chatResult{Schema: "edge.chat/v1", OK: true, Turn: turn, Served: a.served != nil, Model: reportModel(c.world.World)}
	turn.Timings = turn.Timings.Since(beforeTurn, c.loadMS)
	record.turn(turn)
	if result.ReceiptPath, result.ReceiptSHA256, err = record.write(nil); err != nil {
		return err
	}
	return a.print(result, func() { a.sayTurn(turn, result.ReceiptPath) })
}

// prefixProgress shows the contract being decoded where no imprint saves it.
func (a *app) prefixProgress() (inference.Progress, func()) {
	show := newStages(a)
	return func(done, total int) { show.report("prefix", done, total) }, show.end
}

// turn puts a turn's digests and decisions into the receipt, and none of its contents.
func (r *record) turn(t *chat.Turn) {
	r.set("answer_sha256", digest.SHA256Of([]byte(t.Answer)))
	r.set("answer_source", t.AnswerSource)
	r.set("finish_reason", t.FinishReason)
	r.set("tool_instruction_mode", t.Mode)
	r.set("model_replies", t.Replies)
	r.set("usage", t.Usage)
	r.set("timings", t.Timings)
	r.set("imprint", t.Imprint)
	r.set("server", t.Server)
	r.set("selection", t.Selection)
	calls := make([]map[string]any, len(t.ToolCalls))
	for i, c := range t.ToolCalls {
		calls[i] = callRecord(c)
	}
	r.set("tool_calls", calls)
	if p := t.PendingAction; p != nil {
		r.set("pending_action_path", p.Path)
	}
}

// callRecord is one call as a receipt has it.
func callRecord(c chat.ToolCall) map[string]any {
	return map[string]any{
		"tool_name": c.ToolName, "execution_level": c.ExecutionLevel, "status": c.Status, "error_code": c.ErrorCode,
		"tool_schema_sha256": c.ToolSchemaSHA256, "args_sha256": c.ArgsSHA256, "result_sha256": c.ResultSHA256,
		"told": c.Told, "traceback_sha256": c.TracebackSHA256, "loaded_files": c.LoadedFiles, "runner_secret_verified": c.RunnerSecretVerified,
		"network_used_by_edge": c.NetworkUsedByEdge, "duration_ms": c.DurationMS, "sandbox": c.Sandbox, "return_direct": c.ReturnDirect,
	}
}

// sayTurn is a turn for people: the answer to standard output, and how it came about to standard error.
func (a *app) sayTurn(t *chat.Turn, receipt string) {
	a.say("%s", plain(t.Answer))
	a.sayHow(t)
	a.notify("  receipt  " + receipt)
}
