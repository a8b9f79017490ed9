package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/ollama"
	"edge/inference/openai"
	remote "edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/models"
)

// servedFlags are the flags of models that another program runs.
type servedFlags struct {
	network  func() bool // nil: not allowed
	embedder string
	slotDir  string
}

func (f *servedFlags) register(c *cobra.Command) {
	f.network = networkFlag(c)
	c.Flags().StringVar(&f.embedder, "embed-model", "", "for ollama: another model of the server that makes vectors of requests (default: edge makes them)")
	c.Flags().StringVar(&f.slotDir, "slot-dir", "", "for llama-server: the folder that it was given as --slot-save-path")
}

func (f servedFlags) allowed() bool { return f.network != nil && f.network() }

// loadServed connects to the server of a model that it runs.
func (a *app) loadServed(ctx context.Context, f engineFlags, ref models.Reference, store *models.Store) (_ *loaded, err error) {
	if f.threads != 0 || f.ubatch != 0 || f.kv != "" && f.kv != "f16" || f.noFlash {
		return nil, fault.New(fault.CodeInvalidArguments, "--threads, --ubatch, --kv and --no-flash-attention are the server's own settings, and can't be given for %s", ref.Name)
	}
	w := &loaded{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	engine, name, err := a.connect(ctx, f.servedFlags, ref, store)
	if err != nil {
		return nil, err
	}
	w.closers = []io.Closer{engine}
	model, err := engine.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	w.closers = []io.Closer{model, engine}
	id := identityOf(model)
	w.World = learn.World{Engine: engine.Info(), Model: model, Params: remote.Params(), File: learn.ModelFile{
		Name: ref.Name, SHA256: id.SHA256, TokenizerSHA256: id.TokenizerSHA256(), TemplateSHA256: id.TemplateSHA256,
	}}
	w.Renderer, err = chattemplate.New(model, model.Info())
	return w, err
}

// identityOf is what a served model's server told; zero for a model that runs here.
func identityOf(m inference.Model) remote.Identity {
	if d, ok := m.(remote.Described); ok {
		return d.Identity()
	}
	return remote.Identity{}
}

// connect opens the server that a name means; name is the model's on it.
func (a *app) connect(ctx context.Context, f servedFlags, ref models.Reference, store *models.Store) (_ inference.Engine, name string, err error) {
	if ref.Kind == models.KindOllama {
		if f.slotDir != "" {
			return nil, "", fault.New(fault.CodeInvalidArguments, "--slot-dir is for llama-server")
		}
		e, err := ollama.Connect(ctx, ollama.Config{Host: a.getenv("OLLAMA_HOST"), AllowNetwork: f.allowed(), KeepAlive: a.getenv("OLLAMA_KEEP_ALIVE"), Embedder: strings.TrimPrefix(f.embedder, "ollama:")})
		if err != nil {
			return nil, "", err // a nil *Engine would be no nil Engine
		}
		return e, ref.Ollama, nil
	}
	if f.embedder != "" {
		return nil, "", fault.New(fault.CodeInvalidArguments, "--embed-model is for ollama")
	}
	e, err := openai.Connect(ctx, openai.Config{
		Address: ref.OpenAI.Address, Key: a.getenv("OPENAI_API_KEY"), AllowNetwork: f.allowed(), SlotDir: f.slotDir,
		Hash: func(ctx context.Context, path string) (digest.SHA256, error) {
			m, err := store.Open(ctx, path)
			return m.SHA256, err
		},
	})
	if err != nil {
		return nil, "", err
	}
	return e, ref.OpenAI.Model, nil
}

// showServed is models show for a model that another program runs.
func (a *app) showServed(ctx context.Context, f servedFlags, ref models.Reference, store *models.Store) error {
	engine, name, err := a.connect(ctx, f, ref, store)
	if err != nil {
		return err
	}
	defer engine.Close()
	model, err := engine.Open(ctx, name)
	if err != nil {
		return err
	}
	defer model.Close()
	id, info, can := identityOf(model), engine.Info(), model.Info().Can
	value := map[string]any{
		"schema": "edge.served_model/v1", "ok": true, "model": id, "engine": map[string]string{"name": info.Name, "version": info.Version},
		"architecture": model.Info().Architecture, "imprint_kind": remote.KVType, "says_cached_tokens": can.Cached,
	}
	return a.print(value, func() {
		a.say("%s", plain(ref.Name))
		a.say("  server        %s, %s %s", id.Server, info.Name, plain(info.Version))
		a.say("  architecture  %s", plain(model.Info().Architecture))
		a.say("  sha256        %s (proven: %t)", id.SHA256, id.Proven)
		a.say("  unknown       %s", strings.Join(id.Unknown, ", "))
	})
}

// servedElsewhere reports whether a name means a model of another server, which a chat talks to by itself.
func (a *app) servedElsewhere(name string) bool {
	store, err := a.models()
	if err != nil {
		return false
	}
	ref, err := store.Resolve(name)
	return err == nil && ref.Served()
}
