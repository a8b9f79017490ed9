// Package bench measures edge on this machine: how long the first token and a validated call take with a prefix decoded
// now, restored from an imprint, and already there; what verifying, restoring and starting cost; and how all of it grows.
//
// Its invariant: kinds of runs alternate in one process's life, so that a busy machine hurts each of them alike; a figure
// is the median of its runs, with the least and the most beside it; and what wasn't measured is null and has a reason.
// It refuses to report a restored run whose tokens weren't all restored. It judges nothing.
package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"edge/learn"
	"edge/tools"
)

// Config is what is measured with. It isn't changed.
type Config struct {
	World    learn.World // Params.Threads is what the cases compute with
	Freeze   func(ctx context.Context, toolsFile string) (*tools.ActiveSet, error)
	Edge     func(ctx context.Context, args ...string) (Child, error) // runs edge as a process of its own; nil: not at all
	Serve    func(ctx context.Context) (stop func() error, err error) // starts edge serve for it; nil: not at all
	Busy     func(ctx context.Context) (stop func() error, err error) // keeps a core busy in another process; nil: not at all
	Dir      string                                                   // an empty folder for tools files and imprints
	Clock    func() time.Time
	Progress func(string) // may be nil
	// Settle is how long a machine is left to itself before the speed of threads is measured: until a busy loop is on its
	// core, and edge has seen it.
	Settle time.Duration

	Prefixes []int // tokens
	Threads  []int // for the table of thread counts
	Runs     int
	// Budget bounds how long the whole takes: what is not expected to fit any more is done less often, or left out. 0: as
	// long as it takes.
	Budget time.Duration
	// Brief leaves out how the cost grows with tools and what other KV types do.
	Brief bool
}

// Run measures everything that the configuration asks for.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	b := newBench(cfg)
	r := &Report{Schema: Schema, OK: true, Runs: cfg.Runs, ThreadsUsed: cfg.World.Params.Threads, Model: modelOf(cfg.World), Engine: engineOf(cfg.World), Cases: []Case{}, Tools: []Growth{}, KVTypes: []KVType{}}
	r.Machine = describeMachine(os.ReadFile)
	subjects, err := b.prepareAll(ctx, cfg.Prefixes)
	if err != nil {
		return nil, err
	}
	calls := b.callsOn(subjects)
	for round := range cfg.Runs {
		for _, s := range subjects {
			if err := b.round(ctx, s, round); err != nil {
				return nil, err
			}
		}
		if err := calls.round(ctx, round); err != nil {
			return nil, err
		}
		if round == 0 {
			if r.Resident, err = b.resident(ctx, calls.on(subjects)); err != nil {
				b.leave("resident", "%v", err)
			}
			if r.Threads, err = b.threads(ctx, subjects[len(subjects)-1]); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range subjects {
		r.Cases = append(r.Cases, s.result())
	}
	r.Calls = calls.result()
	if !cfg.Brief {
		if r.Tools, err = b.growth(ctx); err != nil {
			return nil, err
		}
		if r.KVTypes, err = b.kvTypes(ctx); err != nil {
			return nil, err
		}
	}
	r.LeftOut = append([]LeftOut{}, b.leftOut...)
	r.Machine.LoadAfter = load(os.ReadFile)
	r.ElapsedS = b.elapsed().Seconds()
	return r, nil
}

// Cases measures prefixes alone, for a second model.
func Cases(ctx context.Context, cfg Config) ([]Case, error) {
	b := newBench(cfg)
	subjects, err := b.prepareAll(ctx, cfg.Prefixes)
	if err != nil {
		return nil, err
	}
	var list []Case
	for round := range cfg.Runs {
		for _, s := range subjects {
			if err := b.round(ctx, s, round); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range subjects {
		list = append(list, s.result())
	}
	return list, nil
}

// bench is a measurement in progress.
type bench struct {
	Config
	began   time.Time
	leftOut []LeftOut
	perTok  time.Duration // what decoding one token of a prefix took last
	execMS  *samples      // what a process takes before its own clock starts
	warm    bool          // a process has used the model before
	sets    [maxTools + 1]*tools.ActiveSet
}

func newBench(cfg Config) *bench {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	return &bench{Config: cfg, began: cfg.Clock(), execMS: &samples{}}
}

func (b *bench) elapsed() time.Duration { return b.Clock().Sub(b.began) }

// fits says whether what is expected to take that long still fits the budget.
func (b *bench) fits(expected time.Duration) bool {
	return b.Budget == 0 || b.elapsed()+expected <= b.Budget
}

func (b *bench) leave(what, why string, args ...any) {
	b.leftOut = append(b.leftOut, LeftOut{what, fmt.Sprintf(why, args...)})
}

// timed says how many milliseconds work took.
func (b *bench) timed(work func() error) (float64, error) {
	start := b.Clock()
	err := work()
	return ms(b.Clock().Sub(start)), err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
