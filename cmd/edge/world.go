package main

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/llamacpp"
	"edge/inference/llamacpp/libffi"
	"edge/internal/cores"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/models"
)

// engineFlags are the flags of every command that loads a model.
type engineFlags struct {
	model   string
	threads int
	ubatch  int
	kv      string
	noFlash bool
	servedFlags
}

func (f *engineFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.model, "model", models.DefaultModel, "catalogue name, path to a .gguf, hf.co/ORG/REPO:QUANT, ollama:NAME or openai:URL#NAME")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads that compute (default: EDGE_THREADS, or the cores that other programs leave, followed while it runs)")
	c.Flags().IntVar(&f.ubatch, "ubatch", 0, "tokens per computation step; part of an imprint's identity")
	c.Flags().StringVar(&f.kv, "kv", "f16", "type of the model's state: f16, q8_0 or q4_0; part of an imprint's identity")
	c.Flags().BoolVar(&f.noFlash, "no-flash-attention", false, "compute attention the plain way; part of an imprint's identity")
}

// loaded is a world with what must be closed after use.
type loaded struct {
	learn.World
	closers []io.Closer
}

// Close frees the model and then the engine.
func (l *loaded) Close() error {
	var err error
	for _, c := range l.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// load opens the engine and the model, every byte of both digested before it is used.
func (a *app) load(ctx context.Context, f engineFlags) (_ *loaded, err error) {
	store, err := a.models()
	if err != nil {
		return nil, err
	}
	ref, err := store.Resolve(f.model)
	if err != nil {
		return nil, err
	}
	if ref.Served() {
		return a.loadServed(ctx, f, ref, store)
	}
	params, err := f.params(a)
	if err != nil {
		return nil, err
	}
	dir, release, err := store.RuntimeLocation()
	if err != nil {
		return nil, err
	}
	file, err := store.Open(ctx, f.model)
	if err != nil {
		return nil, err
	}
	w := &loaded{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if a.served != nil {
		var leave io.Closer
		if w.World, leave, err = a.served.host.world(ctx, dir, release, file); err != nil {
			return nil, err
		}
		w.Params, w.File, w.closers = params, modelFile(file), []io.Closer{leave}
		return w, nil
	}
	engine, err := openEngine(dir, release, a.home.Processor())
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, engine)
	model, err := engine.Open(ctx, file.Path)
	if err != nil {
		return nil, err
	}
	w.closers = append([]io.Closer{model}, w.closers...)
	w.World = learn.World{Engine: engine.Info(), Model: model, Params: params, File: modelFile(file)}
	w.Renderer, err = chattemplate.New(model, model.Info())
	return w, err
}

func modelFile(m models.Model) learn.ModelFile {
	f := learn.ModelFile{Name: m.Name, Path: m.Path, SHA256: m.SHA256, TokenizerSHA256: m.TokenizerSHA256, TemplateSHA256: m.TemplateSHA256}
	if f.TemplateSHA256.IsZero() { // a model without a template has edge's own
		f.TemplateSHA256 = digest.SHA256Of(nil)
	}
	return f
}

// openEngine opens the libraries of a release, each held to its digest. memory is home.Dir.Processor.
func openEngine(dir string, release models.Release, memory string) (*llamacpp.Engine, error) {
	if err := libffi.Check(); err != nil {
		return nil, fault.New(fault.CodeEngineLoadFailed, "the engine needs libffi: %w", err).WithHint(installLibffi)
	}
	libraries := make([]inference.Library, len(release.Libraries))
	for i, l := range release.Libraries {
		libraries[i] = inference.Library{Name: l.Name, SHA256: l.SHA256}
	}
	return llamacpp.Open(llamacpp.Config{Dir: dir, Version: release.Engine, Libraries: libraries, Memory: memory})
}

const installLibffi = "install libffi (Debian, Ubuntu: libffi8; Fedora: libffi)"

func (f engineFlags) params(a *app) (inference.Params, error) {
	p := inference.DefaultParams()
	p.KVTypeK, p.KVTypeV, p.FlashAttention = f.kv, f.kv, !f.noFlash
	if f.ubatch != 0 {
		p.UBatchTokens = f.ubatch
	}
	if p.UBatchTokens < 1 || p.UBatchTokens > p.BatchTokens {
		return p, fault.New(fault.CodeInvalidArguments, "--ubatch %d is out of range: 1 to %d", f.ubatch, p.BatchTokens)
	}
	p.Threads = f.threads
	if text := a.getenv("EDGE_THREADS"); p.Threads == 0 && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, fault.New(fault.CodeInvalidArguments, "EDGE_THREADS is %q, want a number of threads", text)
		}
		p.Threads = n
	}
	if p.Threads == 0 {
		p.Threads, p.Adapt = cores.Physical(), true
	}
	if p.Threads < 1 || p.Threads > 512 {
		return p, fault.New(fault.CodeInvalidArguments, "--threads %d is out of range", p.Threads)
	}
	return p, nil
}
