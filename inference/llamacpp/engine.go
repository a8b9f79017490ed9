// Package llamacpp is the adapter to llama.cpp, through its C interface (llama.h) and without cgo.
//
// It is the only package that may touch yzma, purego, libffi or unsafe. What it guarantees beyond llama.h: libraries
// are digested before they are opened; every return code is checked where the call is made; a context is used by one
// goroutine; a context that failed is freed and never used again. What it refuses: models without a decoder.
package llamacpp

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/cores"
	"edge/internal/fault"
)

// Config says where the engine's libraries lie and what their bytes must be.
type Config struct {
	Dir       string
	Version   string
	Libraries []inference.Library // every library of Dir that may be opened
	Memory    string              // file that remembers which of them suits this processor; may be empty
}

// Engine is llama.cpp loaded into this process. There is one per process: the C library's tables are global.
type Engine struct {
	info   inference.EngineInfo
	log    *logTail
	aborts *abortSlots
	watch  *cores.Watch
	rest   *pending   // the digests of the libraries that weren't opened
	loads  sync.Mutex // llama.cpp's loader isn't reentrant with regard to its log
	closed bool
}

var _ inference.Engine = (*Engine)(nil)

// Open digests the libraries, opens them and initialises the backends. Which variant of the processor's code suits best
// is remembered; then the others, which aren't opened, are digested beside what follows, and no model opens before all
// are right.
//
// Errors: runtime_not_found where a library is missing, runtime_digest_mismatch where its bytes differ,
// engine_load_failed where the dynamic linker refuses (on Linux mostly a missing libffi.so.8).
func Open(cfg Config) (_ *Engine, err error) {
	if err := checkFolder(cfg); err != nil {
		return nil, err
	}
	known := variant{cfg: cfg}
	first, later := known.split()
	if err := checkLibraries(cfg.Dir, first); err != nil {
		return nil, err
	}
	rest := begin(func() error { return checkLibraries(cfg.Dir, later) })
	defer func() {
		if err != nil {
			rest.wait()
		}
	}()
	// yzma panics on a missing libffi while it prepares calls.
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.CodeEngineLoadFailed, "open engine in %s: %v", cfg.Dir, p)
		}
	}()
	if err := llama.Load(cfg.Dir); err != nil {
		return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: %w", cfg.Dir, err)
	}
	e := &Engine{log: newLogTail(), aborts: newAbortSlots(), watch: cores.NewWatch(), rest: rest}
	llama.LogSet(e.log.callback)
	llama.BackendInit()
	if !known.load() {
		if err := rest.wait(); err != nil { // all of them are opened now, to be asked how well they suit this processor
			return nil, err
		}
		if err := llama.GGMLBackendLoadAllFromPath(cfg.Dir); err != nil {
			return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: load backends: %w", cfg.Dir, err)
		}
		known.remember()
	}
	if llama.GGMLBackendRegCount() == 0 {
		return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: no backend fits this processor%s", cfg.Dir, e.log.suffix())
	}
	libs := slices.Clone(cfg.Libraries)
	slices.SortFunc(libs, func(a, b inference.Library) int { return strings.Compare(a.Name, b.Name) })
	e.info = inference.EngineInfo{Name: "llama.cpp", Version: cfg.Version, Libraries: libs, Backend: strings.TrimSpace(llama.PrintSystemInfo())}
	return e, nil
}

// Info implements inference.Engine.
func (e *Engine) Info() inference.EngineInfo { return e.info }

// Close releases the backends. The libraries stay mapped: the dynamic linker can't promise otherwise.
func (e *Engine) Close() error {
	if !e.closed {
		e.closed = true
		llama.BackendFree()
	}
	return nil
}

// Open maps the model file and reads its vocabulary. The caller has digested the file before.
//
// Errors: model_not_found, engine_load_failed with the engine's own last words, architecture_unsupported for models
// that can't decode (encoder-only and diffusion models) or whose state the engine doesn't restore exactly.
func (e *Engine) Open(ctx context.Context, path string) (inference.Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fault.New(fault.CodeModelNotFound, "model file %s: %w", path, err)
	}
	e.loads.Lock()
	defer e.loads.Unlock()
	e.log.clear()
	p := llama.ModelDefaultParams()
	p.LoadMode = llama.LoadModeMmap
	p.NGpuLayers = 0
	handle, err := llama.ModelLoadFromFile(path, p)
	if err != nil || handle == 0 {
		return nil, fault.New(fault.CodeEngineLoadFailed, "load model %s failed%s", path, e.log.suffix())
	}
	if err := e.rest.wait(); err != nil {
		llama.ModelFree(handle)
		return nil, err
	}
	m := &Model{engine: e, handle: handle, vocab: llama.ModelGetVocab(handle)}
	m.info = describe(handle, m.vocab)
	m.headSize = headSize(handle, m.info)
	m.voice = make([]atomic.Int32, m.info.VocabSize)
	if err := decodes(handle, m.info.Architecture); err != nil {
		llama.ModelFree(handle)
		return nil, err
	}
	return m, nil
}

// decodes refuses models without a state of a prefix that can be restored bit for bit. What decides about deepseek4 is
// TestMatrix in full, on the model that `make zoo` builds.
func decodes(handle llama.Model, architecture string) error {
	switch {
	case llama.ModelIsDiffusion(handle):
		return fault.New(fault.CodeArchitectureUnsupported, "architecture %s is a diffusion model: it has no state of a prefix", architecture)
	case llama.ModelHasEncoder(handle):
		return fault.New(fault.CodeArchitectureUnsupported, "architecture %s has an encoder: its state depends on the whole input", architecture)
	case architecture == "deepseek4":
		return fault.New(fault.CodeArchitectureUnsupported, "architecture %s isn't restored exactly: the engine gives other logits after some restores", architecture)
	case !llama.ModelHasDecoder(handle):
		return fault.New(fault.CodeArchitectureUnsupported, "architecture %s has no decoder", architecture)
	}
	return nil
}
