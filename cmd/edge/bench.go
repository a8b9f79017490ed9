package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"edge/bench"
	"edge/internal/atomicfile"
	"edge/internal/cores"
	"edge/internal/fault"
	"edge/models"
	"edge/runner"
	"edge/tools"
)

type benchFlags struct {
	model    string
	threads  []int
	prefixes []int
	runs     int
	quick    bool
	html     string
	work     string
	spin     bool
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use: "bench", Short: "Measure this machine: first token and calls, cold, restored and resident", Args: cobra.NoArgs,
		Example: "  edge bench --quick\n  edge bench --json --html bench.html",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.spin {
				bench.Spin(a.in)
				return nil
			}
			if f.work != "" {
				return a.benchWork(c.Context(), f)
			}
			report, err := a.bench(c.Context(), f)
			if a.terminal {
				a.benchProgress("")
			}
			if err != nil {
				return err
			}
			if f.html != "" {
				if err := atomicfile.Write(f.html, 0o644, report.HTML); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(report)
			}
			return report.Markdown(a.out)
		},
	}
	c.Flags().StringVar(&f.model, "model", models.DefaultModel, "catalogue name, path to a .gguf, or hf.co/ORG/REPO:QUANT")
	c.Flags().IntSliceVar(&f.threads, "threads", nil, "thread counts to compare; the first one computes everything else (default: 1, 2, 4 … cores; the cores that are idle)")
	c.Flags().IntSliceVar(&f.prefixes, "prefix", nil, "lengths of prefixes, in tokens (default: 128 … 8192, as far as the model's context goes)")
	c.Flags().IntVar(&f.runs, "runs", 0, "runs of each kind (default: 5, quick 3)")
	c.Flags().BoolVar(&f.quick, "quick", false, "be done within 40 seconds: few lengths, and what doesn't fit is left out")
	c.Flags().StringVar(&f.html, "html", "", "also write the report as an HTML page with plots")
	c.Flags().StringVar(&f.work, "work", "", "for bench/peers: write prefix, requests and imprint to this folder, or measure the calls of a folder that has them")
	c.Flags().BoolVar(&f.spin, "spin", false, "keep one core busy until standard input ends")
	c.Flags().Lookup("spin").Hidden = true
	c.AddCommand(a.benchServedCommand())
	return c
}

// quickBudget leaves a few of the 40 seconds for what was begun before it was over.
const quickBudget = 34 * time.Second

func (f *benchFlags) validate() error {
	if f.runs == 0 {
		f.runs = 5
		if f.quick {
			f.runs = 3
		}
	}
	if len(f.prefixes) == 0 {
		f.prefixes = []int{128, 256, 512, 1024, 2048, 4096, 8192}
		if f.quick {
			f.prefixes = []int{128, 512, 1000}
		}
	}
	for name, list := range map[string][]int{"--prefix": f.prefixes, "--threads": f.threads, "--runs": {f.runs}} {
		for _, n := range list {
			if n < 1 || name == "--threads" && n > 512 {
				return fault.New(fault.CodeInvalidArguments, "%s %d is out of range", name, n)
			}
		}
	}
	return nil
}

// bench measures the default model, and with it a sliding-window one where that is here.
func (a *app) bench(ctx context.Context, f benchFlags) (*bench.Report, error) {
	began := time.Now()
	stage, cfg, err := a.benchStage(ctx, &f, f.model)
	if err != nil {
		return nil, err
	}
	defer stage.close()
	if f.quick {
		cfg.Budget = quickBudget - time.Since(began)
	}
	report, err := bench.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := a.benchSliding(ctx, f, stage, report); err != nil {
		return nil, err
	}
	report.ElapsedS = time.Since(began).Seconds()
	return report, nil
}

// benchSliding measures prefixes of the catalogue's sliding-window model. The first model is closed before.
func (a *app) benchSliding(ctx context.Context, f benchFlags, stage *benchStage, report *bench.Report) error {
	const second = "gemma3-270m"
	leave := func(why string) error {
		report.LeftOut = append(report.LeftOut, bench.LeftOut{What: "sliding_window", Why: why})
		return nil
	}
	switch _, err := os.Stat(filepath.Join(a.home.Models(), second+".gguf")); {
	case f.quick:
		return leave("not part of a quick run")
	case report.Model.SlidingWindow > 0:
		return leave("the model itself has one")
	case err != nil:
		return leave(second + " isn't here: edge models pull " + second)
	}
	if err := stage.world.Close(); err != nil {
		return err
	}
	stage.world = nil
	f.prefixes = []int{256, 1024}
	other, cfg, err := a.benchStage(ctx, &f, second)
	if err != nil {
		return err
	}
	defer other.close()
	cases, err := bench.Cases(ctx, cfg)
	if err != nil {
		return err
	}
	report.Sliding = &bench.SlidingWindow{Model: bench.ModelOf(cfg.World), Cases: cases}
	return nil
}

// benchWork writes what bench/peers gives to other programs, or measures the calls of a folder that has it.
func (a *app) benchWork(ctx context.Context, f benchFlags) error {
	if len(f.prefixes) == 0 {
		f.prefixes = []int{1000}
	}
	stage, cfg, err := a.benchStage(ctx, &f, f.model)
	if err != nil {
		return err
	}
	defer stage.close()
	if cfg.Dir, err = filepath.Abs(f.work); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return stateError(err)
	}
	file := filepath.Join(cfg.Dir, "work.json")
	if _, err := os.Stat(file); err == nil {
		calls, err := bench.MeasureWork(ctx, cfg)
		if err != nil {
			return err
		}
		return a.printJSON(calls)
	}
	work, err := bench.WriteWork(ctx, cfg, f.prefixes[0])
	if err != nil {
		return err
	}
	return a.print(work, func() { a.say("%s", file) })
}

// benchStage is a model and a temporary home, whose engine is the real one.
type benchStage struct {
	dir   string
	world *loaded
}

func (s *benchStage) close() {
	if s.world != nil {
		s.world.Close()
	}
	os.RemoveAll(s.dir)
}

func (a *app) benchStage(ctx context.Context, f *benchFlags, model string) (_ *benchStage, cfg bench.Config, err error) {
	if err := f.validate(); err != nil {
		return nil, cfg, err
	}
	s := &benchStage{}
	if s.dir, err = os.MkdirTemp("", "edge-bench-"); err != nil {
		return nil, cfg, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := os.Symlink(a.home.Runtime(), filepath.Join(s.dir, "runtime")); err != nil {
		return nil, cfg, err
	}
	// One number for all, since what this command itself starts would make edge adapt.
	flags := engineFlags{model: model, kv: "f16", threads: cores.Idle()}
	if len(f.threads) > 0 {
		flags.threads = f.threads[0]
	}
	if s.world, err = a.load(ctx, flags); err != nil {
		return nil, cfg, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, cfg, err
	}
	work := filepath.Join(s.dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, cfg, err
	}
	environ := bench.Environment(a.environ, s.dir)
	cfg = bench.Config{
		World: s.world.World, Freeze: a.benchTools, Edge: bench.Runner(self, environ), Serve: bench.Server(self, environ), Busy: bench.Busy(self, environ), Dir: work, Clock: time.Now, Settle: 250 * time.Millisecond,
		Progress: a.benchProgress, Prefixes: f.prefixes, Threads: f.threads, Runs: f.runs, Brief: f.quick,
	}
	if len(cfg.Threads) == 0 {
		cfg.Threads = bench.ThreadCounts(runtime.NumCPU())
	}
	return s, cfg, nil
}

// benchTools freezes a tools file.
func (a *app) benchTools(ctx context.Context, path string) (*tools.ActiveSet, error) {
	r, err := a.newRunner(runner.SandboxAuto)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	set, _, err := (&toolFlags{file: path}).freeze(ctx, r)
	return set, err
}

// benchProgress shows what is being measured: one line that changes on a terminal, and elsewhere a line each.
func (a *app) benchProgress(what string) {
	if a.terminal {
		fmt.Fprintf(a.err, "\r\x1b[K%s", what)
		return
	}
	fmt.Fprintln(a.err, what)
}
