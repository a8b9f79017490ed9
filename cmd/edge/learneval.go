package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"edge/chat"
	"edge/internal/atomicfile"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// evalResult is edge.learn_eval/v1.
type evalResult struct {
	Schema      string           `json:"schema"`
	OK          bool             `json:"ok"`
	ImprintID   string           `json:"imprint_id"`
	Model       modelReport      `json:"model"`
	Evaluation  learn.Evaluation `json:"evaluation"`
	ReceiptPath string           `json:"receipt_path"`
}

type evalFlags struct {
	engineFlags
	toolFlags
	imprint    string
	sample     string
	html       string
	noBaseline bool
}

func (a *app) learnEvalCommand() *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use: "eval", Short: "Try an imprint on a sample file's holdout; nothing is learned and no tool runs", Args: cobra.NoArgs,
		Example: "  edge demo learn eval --with-imprint ID --tools tools.py --sample-file unseen.json --html report.html",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.recorded(c.Context(), "eval", func(record *record) error { return a.learnEval(c.Context(), f, record) })
		},
	}
	f.engineFlags.register(c)
	f.toolFlags.register(c)
	f.servedFlags.register(c)
	c.Flags().StringVar(&f.imprint, "with-imprint", "", "imprint to try: an id, a path, or a learning receipt (required)")
	c.Flags().StringVar(&f.sample, "sample-file", "", "edge.learn_sample/v1 with a holdout (required)")
	c.Flags().StringVar(&f.html, "html", "", "also write the evaluation as an HTML page")
	c.Flags().BoolVar(&f.noBaseline, "no-baseline", false, "leave out the same model with nothing learned")
	return c
}

func (a *app) learnEval(ctx context.Context, f evalFlags, record *record) error {
	switch {
	case f.imprint == "":
		return fault.New(fault.CodeInvalidArguments, "--with-imprint is missing")
	case f.sample == "":
		return fault.New(fault.CodeInvalidArguments, "--sample-file is missing")
	}
	// A chat is opened and asked nothing: the gate is the same, and so is what comes out of it.
	c, err := a.converse(ctx, chatFlags{engineFlags: f.engineFlags, toolFlags: f.toolFlags, policyFlags: policyFlags{maxTurns: chat.DefaultTurns}, imprint: f.imprint, maxTokens: chat.DefaultAnswer}, record, chat.Config{})
	if err != nil {
		return err
	}
	defer c.close()
	sample, err := learn.ReadSample(f.sample, c.tools.set)
	if err != nil {
		return err
	}
	record.set("sample_file_sha256", sample.SHA256)
	show := newStages(a)
	e, err := learn.Evaluate(ctx, learn.EvaluationRequest{
		World: c.world.World, Set: c.tools.set, Imprint: c.Verified(), Holdout: sample.Holdout, Baseline: !f.noBaseline, Clock: time.Now, Report: show.report,
	})
	show.end()
	if err != nil {
		return err
	}
	record.set("evaluation", summary(*e))
	result := evalResult{Schema: "edge.learn_eval/v1", OK: true, ImprintID: c.Imprint().ID, Model: reportModel(c.world.World), Evaluation: *e}
	if result.ReceiptPath, _, err = record.write(nil); err != nil {
		return err
	}
	if err := writeReport(f.html, f.sample, *e); err != nil {
		return err
	}
	return a.print(result, func() {
		a.say("%s on %s", result.ImprintID, f.sample)
		a.sayEvaluation(*e)
		a.say("  receipt  %s", result.ReceiptPath)
	})
}

// writeReport writes the HTML page, where one was asked for.
func writeReport(path, sample string, e learn.Evaluation) error {
	if path == "" {
		return nil
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return learn.WriteReport(w, "edge: "+filepath.Base(sample), e) })
}

// sayEvaluation is an evaluation for people.
func (a *app) sayEvaluation(e learn.Evaluation) {
	switch {
	case e.Method == "leave_one_out":
		a.say("  each example left out in turn (a holdout in the sample file says more):")
	case e.Learned != nil:
		a.say("  on %d requests it has not seen:", e.Holdout)
	default:
		return
	}
	a.say("    %-28s %18s %18s %18s", "", "right tool", "exact call", "no tool if none")
	for _, row := range []struct {
		name string
		*learn.Shares
	}{{"same model, nothing learned", e.Baseline}, {"learned", e.Learned}} {
		if s := row.Shares; s != nil {
			a.say("    %-28s %18s %18s %18s", row.name, share(s.ToolChoice, s.Intervals["tool_choice"]), share(s.ExactCall, s.Intervals["exact_call"]), share(s.NoTool, s.Intervals["no_tool"]))
		}
	}
	if e.Learned.CallMS > 0 {
		a.say("    from a request to its call: %.0f ms (median)", e.Learned.CallMS)
	}
	for _, x := range e.Failures {
		prompt, detail := tools.EscapeForDisplay(fmt.Sprintf("%q", x.Prompt)), tools.EscapeForDisplay(x.Detail)
		switch {
		case x.Reason == "arguments" && detail != "":
			a.say("    wrong: %s → %s: %s", prompt, x.Got.ToolName, detail)
		case detail != "":
			a.say("    wrong: %s → %s, want %s (%s)", prompt, callText(x.Got), callText(x.Want), detail)
		default:
			a.say("    wrong: %s → %s, want %s", prompt, callText(x.Got), callText(x.Want))
		}
	}
	for _, p := range e.TooAlike {
		a.say("    hint: %s", tools.EscapeForDisplay(p.Suggestion))
	}
}

// share is "96 % (82–99)": a share and its 95 % interval.
func share(f float64, i learn.Interval) string {
	return fmt.Sprintf("%.0f %% (%.0f–%.0f)", 100*f, 100*i[0], 100*i[1])
}

func callText(c *learn.CallValue) string {
	if c == nil {
		return "no call"
	}
	return c.ToolName + tools.EscapeForDisplay(string(c.Arguments))
}
