package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/llamacpp"
	"edge/internal/digest"
	"edge/internal/home"
	"edge/learn"
	"edge/models"
)

// world is a loaded model, with what must be closed after use.
type world struct {
	learn.World
	closers []io.Closer
}

func (w *world) Close() error {
	var err error
	for _, c := range w.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// open loads the engine and a model, every byte of both digested before it is used, as cmd/edge does.
func open(ctx context.Context, name string, threads int) (_ *world, err error) {
	dir, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	store, err := models.New(models.Config{Home: dir, Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	libraries, release, err := store.RuntimeLocation()
	if err != nil {
		return nil, err
	}
	file, err := store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	w := &world{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	var pinned []inference.Library
	for _, l := range release.Libraries {
		pinned = append(pinned, inference.Library{Name: l.Name, SHA256: l.SHA256})
	}
	engine, err := llamacpp.Open(llamacpp.Config{Dir: libraries, Version: release.Engine, Libraries: pinned})
	if err != nil {
		return nil, err
	}
	w.closers = []io.Closer{engine}
	model, err := engine.Open(ctx, file.Path)
	if err != nil {
		return nil, err
	}
	w.closers = []io.Closer{model, engine}
	params := inference.DefaultParams()
	params.Threads = threads
	w.World = learn.World{Engine: engine.Info(), Model: model, Params: params, File: learn.ModelFile{
		Name: file.Name, Path: file.Path, SHA256: file.SHA256, TokenizerSHA256: file.TokenizerSHA256, TemplateSHA256: file.TemplateSHA256,
	}}
	if w.File.TemplateSHA256.IsZero() {
		w.File.TemplateSHA256 = digest.SHA256Of(nil)
	}
	w.Renderer, err = chattemplate.New(model, model.Info())
	return w, err
}
