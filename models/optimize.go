package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models/fetch"
)

// Optimization is what is known of a model's layouts.
type Optimization struct {
	Source      Source
	Threads     int
	Results     []LayoutResult // the file itself first
	Recommended Layout         // "": the file as it is
	Made        *Model         // the requantised file, where one was made
	Measured    bool           // now, and not by an earlier run
}

// OptimizeOptions say how Optimize goes about it.
type OptimizeOptions struct {
	Layout  Layout // make this one; "": the one that is recommended, if any
	Threads int    // that the bench computes with, for the record
	Bench   Bench
}

// Optimized gives what an earlier Optimize found and made, if that is still here.
func (s *Store) Optimized(ctx context.Context, name string, layout Layout) (o Optimization, found bool, err error) {
	source, err := s.optimizable(ctx, name)
	if err != nil {
		return o, false, err
	}
	return s.optimized(ctx, source, layout)
}

func (s *Store) optimized(ctx context.Context, source Model, layout Layout) (o Optimization, found bool, err error) {
	file, err := s.loadLayouts()
	if err != nil {
		return o, false, err
	}
	run, found := file.run(source.SHA256, layout)
	if !found {
		return o, false, nil
	}
	o = Optimization{Source: run.Source, Threads: run.Threads, Results: run.Results, Recommended: run.Recommended}
	if run.Made != nil {
		m, err := s.Open(ctx, run.Made.Name)
		if fault.Is(err, fault.CodeModelNotFound) {
			return Optimization{}, false, nil
		}
		if err != nil {
			return o, false, err
		}
		o.Made = &m
	}
	return o, true, nil
}

// CanOptimize reports whether a model's layout is one that the engine is slow with, and Optimize hasn't looked at it.
func (s *Store) CanOptimize(m Model) bool {
	file, err := s.loadLayouts()
	_, done := file.run(m.SHA256, "")
	return err == nil && !done && layoutOf(m.Identity).slow()
}

// optimizable opens a model whose file can be requantised.
func (s *Store) optimizable(ctx context.Context, name string) (Model, error) {
	ref, err := s.Resolve(name)
	if err != nil {
		return Model{}, err
	}
	if ref.Served() {
		return Model{}, fault.New(fault.CodeInvalidArguments, "%s isn't a file of edge's, so it can't be requantised", name).WithHint("name a model of the catalogue, or a .gguf file")
	}
	return s.Open(ctx, name)
}

// Optimize requantises a model into other layouts, measures them and the file itself in turn, and keeps the recommended
// one (or the one that was asked for) in the models folder, under a name and a digest of its own. Where an earlier run
// has done so, it does nothing. After any error everything is as it was.
//
// Errors: those of Open; no_space, invalid_arguments where a file is in the way; the bench's.
func (s *Store) Optimize(ctx context.Context, name string, opts OptimizeOptions) (o Optimization, err error) {
	source, err := s.optimizable(ctx, name)
	if err != nil {
		return o, err
	}
	err = s.locked(ctx, func(temp string) error {
		var found bool
		if o, found, err = s.optimized(ctx, source, opts.Layout); found || err != nil {
			return err
		}
		o, err = s.optimize(ctx, temp, source, opts)
		return err
	})
	return o, err
}

func (s *Store) optimize(ctx context.Context, temp string, source Model, opts OptimizeOptions) (o Optimization, err error) {
	o = Optimization{Threads: opts.Threads, Measured: true, Source: Source{source.Name, layoutOf(source.Identity), source.Size, source.SHA256}}
	layouts := Layouts()
	if opts.Layout != "" {
		layouts = []Layout{opts.Layout}
	}
	layouts = slices.DeleteFunc(layouts, func(l Layout) bool { return l == o.Source.Layout })
	if len(layouts) == 0 {
		return o, fault.New(fault.CodeInvalidArguments, "%s is in layout %s already", source.Name, o.Source.Layout).WithHint("name another layout")
	}
	for _, l := range layouts {
		if err := s.wayFree(source, l); err != nil {
			return o, err
		}
	}
	paths, err := s.requantize(ctx, temp, source, layouts, opts.Bench)
	if err != nil {
		return o, err
	}
	if o.Results, err = s.measure(ctx, source, layouts, paths, opts.Bench); err != nil {
		return o, err
	}
	o.Recommended = recommend(o.Results)
	run := layRun{Source: o.Source, Asked: opts.Layout, Threads: o.Threads, Results: o.Results, Recommended: o.Recommended}
	keep := o.Recommended
	if opts.Layout != "" {
		keep = opts.Layout
	}
	if keep == "" {
		return o, s.saveRun(run)
	}
	path := paths[slices.Index(layouts, keep)+1]
	if run.Made, err = settle(ctx, path, layoutName(source, keep), keep); err != nil {
		return o, err
	}
	// A crash between both leaves a record without its file, and the next Optimize makes it again.
	if err := s.saveRun(run); err != nil {
		return o, err
	}
	if err := os.Rename(path, filepath.Join(s.cfg.Home.Models(), run.Made.File)); err != nil {
		return o, err
	}
	if err := atomicfile.SyncDir(s.cfg.Home.Models()); err != nil {
		return o, err
	}
	m, err := s.Open(ctx, run.Made.Name)
	o.Made = &m
	return o, err
}

// layoutName is what the file in another layout is called: smollm2-135m-q8_0.
func layoutName(source Model, l Layout) string {
	base := source.Name
	if strings.ContainsAny(base, `/\:`) { // a name of Hugging Face
		base = strings.TrimSuffix(filepath.Base(source.Path), filepath.Ext(source.Path))
	}
	return base + "-" + string(l)
}

// wayFree makes sure that no file is overwritten but one that was made of the same source.
func (s *Store) wayFree(source Model, l Layout) error {
	name := layoutName(source, l)
	path := filepath.Join(s.cfg.Home.Models(), name+".gguf")
	file, err := s.loadLayouts()
	if err != nil {
		return err
	}
	if run, ok := file.made(name); ok && run.Source.SHA256 == source.SHA256 {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fault.New(fault.CodeInvalidArguments, "%s is in the way: it wasn't made of %s with sha256 %s", path, source.Name, source.SHA256).
			WithHint("move it away, or give your file another name")
	}
	return nil
}

// requantize gives the paths of the source and of the file in each layout.
func (s *Store) requantize(ctx context.Context, temp string, source Model, layouts []Layout, bench Bench) ([]string, error) {
	var need int64
	for _, l := range layouts {
		need += l.room(source.Parameters)
	}
	if err := s.room(temp, need); err != nil {
		return nil, err
	}
	paths := []string{source.Path}
	for _, l := range layouts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.cfg.Notify(fmt.Sprintf("writing %s as %s", source.Name, l))
		path := filepath.Join(temp, string(l)+".gguf")
		if err := bench.Requantize(ctx, source.Path, path, l); err != nil {
			if full := s.room(temp, 0); full != nil { // while what was written is still there
				return nil, full
			}
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// settle makes a file that the engine wrote durable, and takes its digest.
func settle(ctx context.Context, path, name string, l Layout) (*madeLayout, error) {
	made := &madeLayout{Name: name, File: name + ".gguf", Layout: l}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // a file that can only be read can't be synced everywhere
	if err != nil {
		return nil, err
	}
	made.SHA256, made.Size, err = hash(ctx, f, 0, fetch.Silent{})
	return made, errors.Join(err, f.Sync(), f.Close(), os.Chmod(path, 0o644))
}

// madeModel is where a requantised model lies, and its digest.
func (s *Store) madeModel(name string) (path string, sum digest.SHA256, err error) {
	file, err := s.loadLayouts()
	if err != nil {
		return "", sum, err
	}
	run, ok := file.made(name)
	if !ok {
		return "", sum, s.unknown(name)
	}
	return filepath.Join(s.cfg.Home.Models(), run.Made.File), run.Made.SHA256, nil
}
