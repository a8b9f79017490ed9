package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"edge/inference"
	"edge/inference/compare"
	"edge/inference/llamacpp"
	"edge/models"
)

// modelsOptimize is edge.models_optimize/v1.
type modelsOptimize struct {
	Schema        string                `json:"schema"`
	OK            bool                  `json:"ok"`
	Source        models.Source         `json:"source"`
	Threads       int                   `json:"threads"`
	Measured      bool                  `json:"measured"` // now, and not by an earlier run
	Results       []models.LayoutResult `json:"results"`
	Positions     int                   `json:"kl_positions"`
	MaxDivergence float64               `json:"kl_bound"`
	Recommended   *models.Layout        `json:"recommended"` // null: the file as it is
	Model         *models.Model         `json:"model"`       // the requantised file; null: none was made
}

func (a *app) modelsOptimizeCommand() *cobra.Command {
	var f engineFlags
	var layout string
	c := &cobra.Command{
		Use: "optimize", Short: "Measure a model in other layouts on this machine, and keep a faster one that says the same", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			result, err := a.optimize(c.Context(), f, layout)
			if err != nil {
				return err
			}
			return a.print(result, func() { a.sayOptimized(result) })
		},
	}
	c.Flags().StringVar(&f.model, "model", models.DefaultModel, "catalogue name, path to a .gguf, or hf.co/ORG/REPO:QUANT")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads that compute (default: EDGE_THREADS, or the cores that are idle)")
	c.Flags().StringVar(&layout, "layout", "", "make this layout, q8_0, q4_0 or f16, whether it is recommended or not")
	return c
}

// optimize is models optimize. The engine is opened only where something is to be done.
func (a *app) optimize(ctx context.Context, f engineFlags, layoutName string) (r modelsOptimize, err error) {
	opts := models.OptimizeOptions{}
	if layoutName != "" {
		if opts.Layout, err = models.ParseLayout(layoutName); err != nil {
			return r, err
		}
	}
	f.kv = "f16"
	params, err := f.params(a)
	if err != nil {
		return r, err
	}
	store, err := a.models()
	if err != nil {
		return r, err
	}
	o, found, err := store.Optimized(ctx, f.model, opts.Layout)
	if err != nil {
		return r, err
	}
	if !found {
		dir, release, err := store.RuntimeLocation()
		if err != nil {
			return r, err
		}
		engine, err := openEngine(dir, release, a.home.Processor())
		if err != nil {
			return r, err
		}
		defer engine.Close()
		opts.Threads, opts.Bench = params.Threads, layoutBench{engine, params}
		if o, err = store.Optimize(ctx, f.model, opts); err != nil {
			return r, err
		}
	}
	r = modelsOptimize{
		Schema: "edge.models_optimize/v1", OK: true, Source: o.Source, Threads: o.Threads, Measured: o.Measured, Results: o.Results,
		Positions: compare.Positions, MaxDivergence: models.MaxDivergence, Model: o.Made,
	}
	if o.Recommended != "" {
		r.Recommended = &o.Recommended
	}
	return r, nil
}

func (a *app) sayOptimized(r modelsOptimize) {
	a.say("%-8s %8s %12s %12s %10s %12s", "layout", "MB", "prefill/s", "decode/s", "job ms", "KL (nats)")
	for _, l := range r.Results {
		name := string(l.Layout)
		if l.AsItIs {
			name += "*"
		}
		a.say("%-8s %8.1f %12.1f %12.1f %10.0f %12.6f", name, float64(l.Size)/1e6, l.Prefill, l.Decode, l.JobMS, l.KL)
	}
	a.say("* %s as it is; tokens per second with %d threads; job: 256 tokens read, 32 written", r.Source.Name, r.Threads)
	switch {
	case r.Recommended == nil:
		a.say("recommended: %s as it is: no layout is faster with a KL below %g", r.Source.Name, r.MaxDivergence)
	default:
		a.say("recommended: %s", *r.Recommended)
	}
	if r.Model != nil {
		a.say("use it with: --model %s", r.Model.Name)
	}
	if !r.Measured {
		a.say("nothing was done: an earlier run has found this")
	}
}

// layoutBench is models.Bench with the engine.
type layoutBench struct {
	engine *llamacpp.Engine
	params inference.Params
}

func (b layoutBench) Requantize(ctx context.Context, from, to string, l models.Layout) error {
	return b.engine.Requantize(ctx, from, to, string(l), b.params.Threads)
}

func (b layoutBench) Speed(ctx context.Context, path string) (prefill, decode float64, err error) {
	s, err := b.compare().Speed(ctx, path)
	return s.Prefill, s.Decode, err
}

func (b layoutBench) Divergences(ctx context.Context, reference string, others []string) ([]float64, error) {
	return b.compare().Divergences(ctx, reference, others)
}

func (b layoutBench) compare() compare.Bench {
	return compare.Bench{Engine: b.engine, Params: b.params, Now: time.Now}
}
