package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

// learnResult is edge.learn/v1.
type learnResult struct {
	Schema                 string             `json:"schema"`
	OK                     bool               `json:"ok"`
	ArtifactPath           string             `json:"artifact_path"`
	ArtifactID             string             `json:"artifact_id"`
	ReceiptPath            string             `json:"receipt_path"`
	ReceiptSHA256          digest.SHA256      `json:"receipt_sha256"`
	Kind                   string             `json:"kind"` // state, or prefix_replay, whose tokens are bytes
	Tokens                 int                `json:"tokens"`
	PayloadBytes           int64              `json:"payload_bytes"`
	Layers                 []learn.Layer      `json:"layers"`
	Quality                imprint.Quality    `json:"quality"`
	Tools                  []learnedTool      `json:"tools"`
	ActiveSetSHA256        *digest.SHA256     `json:"active_set_sha256"`
	ToolsFileSHA256        *digest.SHA256     `json:"tools_file_sha256"`
	SchemaGeneratorVersion string             `json:"schema_generator_version"`
	ToolInstructionMode    string             `json:"tool_instruction_mode"`
	Model                  modelReport        `json:"model"`
	Engine                 engineReport       `json:"engine"`
	Evaluation             learn.Evaluation   `json:"evaluation"`
	Timings                map[string]float64 `json:"timings"`
}

type learnedTool struct {
	Name         string        `json:"name"`
	SchemaSHA256 digest.SHA256 `json:"schema_sha256"`
}

type modelReport struct {
	Name         string        `json:"name"`
	SHA256       digest.SHA256 `json:"sha256"`
	Architecture string        `json:"architecture"`
}

type engineReport struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Backend string `json:"backend"`
}

func reportModel(w learn.World) modelReport {
	return modelReport{w.File.Name, w.File.SHA256, w.Model.Info().Architecture}
}

func reportEngine(w learn.World) engineReport {
	return engineReport{w.Engine.Name, w.Engine.Version, w.Engine.Backend}
}

// kindOf is the kind of the imprints that a world makes.
func kindOf(w learn.World) string {
	return imprint.Header{Identity: imprint.Identity{Params: imprint.Params{KVTypeK: w.Params.KVTypeK}}}.Kind()
}

type learnFlags struct {
	engineFlags
	toolFlags
	sample string
	out    string
	html   string
}

func (a *app) learnRunCommand() *cobra.Command {
	var f learnFlags
	c := &cobra.Command{
		Use: "run", Short: "Decode tools, profile and examples once, and keep what they come to as an imprint", Args: cobra.NoArgs,
		Example: "  edge demo learn run --sample-file learn_sample.json --tools tools.py",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.recorded(c.Context(), "learn", func(record *record) error { return a.learnRun(c.Context(), f, record) })
		},
	}
	f.engineFlags.register(c)
	f.toolFlags.register(c)
	f.servedFlags.register(c)
	c.Flags().StringVar(&f.sample, "sample-file", "", "edge.learn_sample/v1 with profile, examples and holdout (required)")
	c.Flags().StringVar(&f.out, "out", "", "where to write the imprint (default: the store in EDGE_HOME)")
	c.Flags().StringVar(&f.html, "html", "", "also write the evaluation as an HTML page")
	return c
}

func (a *app) learnRun(ctx context.Context, f learnFlags, record *record) error {
	result, err := a.learnFrom(ctx, f, record)
	if err != nil {
		return err
	}
	return a.print(*result, func() { a.sayLearned(*result) })
}

// learnFrom learns from the files that the flags name, keeps the imprint, and writes the receipt.
func (a *app) learnFrom(ctx context.Context, f learnFlags, record *record) (*learnResult, error) {
	if f.sample == "" {
		return nil, fault.New(fault.CodeInvalidArguments, "--sample-file is missing")
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := checkOut(f.out); err != nil {
		return nil, err
	}
	if _, err := a.quota(); err != nil {
		return nil, err
	}
	active, err := a.surface(ctx, &f.toolFlags)
	if err != nil {
		return nil, err
	}
	defer active.close()
	set := active.set
	record.tools(set)
	sample, err := learn.ReadSample(f.sample, set)
	if err != nil {
		return nil, err
	}
	record.set("sample_file_sha256", sample.SHA256)
	if sample.LeftOut > 0 {
		a.notify(fmt.Sprintf("left out %d examples of tools that --tool and --tool-tag leave out", sample.LeftOut))
	}
	w, err := a.load(ctx, f.engineFlags)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	record.world(w.World)
	loadMS := ms(time.Since(a.started))

	store, err := a.imprints()
	if err != nil {
		return nil, err
	}
	show := newStages(a)
	out, err := learn.Run(ctx, learn.Request{World: w.World, Set: set, Sample: sample, Store: store, Clock: time.Now, Report: show.report})
	show.end()
	if err != nil {
		return nil, err
	}
	path, id, err := a.keep(ctx, store, f.out, out.Content)
	if err != nil {
		return nil, err
	}
	timings := map[string]float64{
		"load_ms": loadMS, "prefill_ms": out.Timings.PrefillMS, "learn_ms": out.Timings.LearnMS,
		"evaluate_ms": out.Timings.EvaluateMS, "total_ms": ms(time.Since(a.started)),
	}
	result := learnResult{
		Schema: "edge.learn/v1", OK: true, ArtifactPath: path, ArtifactID: id.String(), Kind: kindOf(w.World),
		Tokens: len(out.Content.Tokens), PayloadBytes: out.Content.State.Size(), Layers: out.Layers, Quality: out.Content.Quality, Tools: []learnedTool{},
		ToolInstructionMode: "imprint", Model: reportModel(w.World), Engine: reportEngine(w.World), Evaluation: out.Evaluation, Timings: timings,
	}
	if set != nil {
		sum, file := set.SHA256(), set.FileSHA256()
		result.ActiveSetSHA256, result.ToolsFileSHA256, result.SchemaGeneratorVersion = &sum, &file, set.GeneratorVersion()
		for _, t := range set.Tools() {
			result.Tools = append(result.Tools, learnedTool{t.Name, t.SchemaSHA256})
		}
	}
	record.set("artifact_path", path)
	record.set("artifact_id", result.ArtifactID)
	record.set("kind", result.Kind)
	record.set("tokens", result.Tokens)
	record.set("payload_bytes", result.PayloadBytes)
	record.set("layers", result.Layers)
	record.set("evaluation", summary(out.Evaluation))
	record.set("timings", timings)
	if result.ReceiptPath, result.ReceiptSHA256, err = record.write(nil); err != nil {
		return nil, err
	}
	if err := writeReport(f.html, f.sample, out.Evaluation); err != nil {
		return nil, err
	}
	return &result, nil
}

// checkOut refuses a place that can't be written to before minutes are spent on what should go there.
func checkOut(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.CodePathNotWritable, "--out: %s is a folder", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".edge-*.tmp")
	if err != nil {
		return fault.New(fault.CodePathNotWritable, "--out: no file can be made in %s: %w", filepath.Dir(path), err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// keep writes the imprint where the user said, or into the store.
func (a *app) keep(ctx context.Context, store *imprint.Store, out string, content imprint.Content) (path string, id imprint.ID, err error) {
	if out != "" {
		if path, err = filepath.Abs(out); err != nil {
			return "", id, err
		}
		id, err = imprint.Write(ctx, path, content)
		return path, id, err
	}
	entry, err := store.Put(ctx, content)
	if err != nil {
		return "", id, err
	}
	return entry.Path, entry.ID, a.holdQuota(ctx, store)
}

// summary is an evaluation without the requests' texts, for a receipt.
func summary(e learn.Evaluation) map[string]any {
	return map[string]any{"method": e.Method, "holdout": e.Holdout, "baseline": e.Baseline, "learned": e.Learned, "failures": len(e.Failures)}
}

func (a *app) sayLearned(r learnResult) {
	what := fmt.Sprintf("%d tools", len(r.Tools))
	if len(r.Tools) == 0 {
		what = "a profile"
	}
	a.say("Learned %s in %d tokens with %s (%s).", what, r.Tokens, r.Model.Name, r.Engine.Name)
	if r.Kind == imprint.KindReplay {
		a.say("  the server keeps its state to itself: a chat puts the prefix's text before the conversation (%d bytes).", r.Tokens)
	} else {
		a.say("  prefix decoded in %.1f s%s; from now on a chat restores it instead (%.1f MB).", r.Timings["prefill_ms"]/1000, sayReused(r.Layers), float64(r.PayloadBytes)/1e6)
	}
	if q := r.Quality; q.Positions > 0 {
		a.say("  what it says differs from a cache of type f16 by %.4f nats (mean KL over %d tokens).", q.MeanKL, q.Positions)
	}
	a.sayEvaluation(r.Evaluation)
	a.say("  imprint  %s", r.ArtifactPath)
	a.say("  id       %s", r.ArtifactID)
	a.say("  receipt  %s", r.ReceiptPath)
}

// sayReused says how much of the prefix was there already.
func sayReused(layers []learn.Layer) string {
	tokens, of := 0, 0
	for _, l := range layers {
		of += l.Tokens
		if l.Reused {
			tokens += l.Tokens
		}
	}
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d tokens from another imprint)", tokens, of)
}

// stages shows the parts of a learning run, one meter each.
type stages struct {
	app  *app
	name string
	*meter
}

func newStages(a *app) *stages { return &stages{app: a} }

func (s *stages) report(stage string, done, total int) {
	if stage != s.name || s.meter == nil { // a chat may read its contract more than once
		s.end()
		labels := map[string][2]string{"prefix": {"reading the tools and examples", "tokens"}, "quality": {"reading them once more, to compare", "tokens"}, "examples": {"learning from examples", "requests"}, "evaluation": {"trying it on unseen requests", "requests"}}
		s.name, s.meter = stage, s.app.meter(labels[stage][0], labels[stage][1], false)
		s.meter.Start(int64(total))
	}
	s.meter.set(int64(done))
}

func (s *stages) end() {
	if s.meter != nil {
		s.meter.Done()
		if s.meter.bar == nil && s.meter.done > 0 {
			fmt.Fprintln(s.app.err, s.meter.line())
		}
	}
	s.meter = nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
