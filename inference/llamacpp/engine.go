// Package llamacpp is the adapter to llama.cpp, through its C interface (llama.h) and without cgo.
//
// It is the only package that may touch yzma, purego, libffi or unsafe. What it guarantees beyond llama.h: libraries
// are digested before they are opened; every return code is checked where the call is made; a context is used by one
// goroutine; a context that failed is freed and never used again. What it refuses: models without a decoder.
package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference"
	"edge/internal/cores"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Config says where the engine's libraries lie and what their bytes must be.
type Config struct {
	Dir       string
	Version   string
	Libraries []inference.Library // every library of Dir that may be opened
}

// Engine is llama.cpp loaded into this process. There is one per process: the C library's tables are global.
type Engine struct {
	info   inference.EngineInfo
	log    *logTail
	aborts *abortSlots
	watch  *cores.Watch
	loads  sync.Mutex // llama.cpp's loader isn't reentrant with regard to its log
	closed bool
}

var _ inference.Engine = (*Engine)(nil)

// Open digests the libraries, opens them and initialises the backends.
//
// Errors: runtime_not_found where a library is missing, runtime_digest_mismatch where its bytes differ,
// engine_load_failed where the dynamic linker refuses (on Linux mostly a missing libffi.so.8).
func Open(cfg Config) (_ *Engine, err error) {
	if err := checkLibraries(cfg); err != nil {
		return nil, err
	}
	// yzma panics on a missing libffi while it prepares calls.
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.CodeEngineLoadFailed, "open engine in %s: %v", cfg.Dir, p)
		}
	}()
	if err := llama.Load(cfg.Dir); err != nil {
		return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: %w", cfg.Dir, err)
	}
	e := &Engine{log: newLogTail(), aborts: newAbortSlots(), watch: cores.NewWatch()}
	llama.LogSet(e.log.callback)
	llama.BackendInit()
	if err := llama.GGMLBackendLoadAllFromPath(cfg.Dir); err != nil {
		return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: load backends: %w", cfg.Dir, err)
	}
	if llama.GGMLBackendRegCount() == 0 {
		return nil, fault.New(fault.CodeEngineLoadFailed, "open engine in %s: no backend fits this processor%s", cfg.Dir, e.log.suffix())
	}
	libs := slices.Clone(cfg.Libraries)
	slices.SortFunc(libs, func(a, b inference.Library) int { return strings.Compare(a.Name, b.Name) })
	e.info = inference.EngineInfo{Name: "llama.cpp", Version: cfg.Version, Libraries: libs, Backend: strings.TrimSpace(llama.PrintSystemInfo())}
	return e, nil
}

// checkLibraries digests what will be opened, on all cores, and makes sure that nothing else could be: the engine opens
// every backend that it finds in the folder.
func checkLibraries(cfg Config) error {
	entries, err := os.ReadDir(cfg.Dir)
	if errors.Is(err, os.ErrNotExist) || len(cfg.Libraries) == 0 {
		return fault.New(fault.CodeRuntimeNotFound, "no engine libraries in %s", cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("engine libraries: %w", err)
	}
	known := map[string]bool{}
	for _, lib := range cfg.Libraries {
		known[lib.Name] = true
	}
	for _, e := range entries {
		if err := checkEntry(cfg.Dir, e, known); err != nil {
			return err
		}
	}
	errs := make([]error, len(cfg.Libraries))
	var all sync.WaitGroup
	for i, lib := range cfg.Libraries {
		all.Go(func() { errs[i] = checkLibrary(cfg.Dir, lib) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEntry refuses a library under a name that has no digest. A second name must lead to one that has.
func checkEntry(dir string, e os.DirEntry, known map[string]bool) error {
	switch filepath.Ext(e.Name()) {
	case ".so", ".dylib", ".dll":
	default:
		return nil
	}
	name := e.Name()
	if e.Type()&os.ModeSymlink != 0 {
		target, err := os.Readlink(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("engine libraries: %w", err)
		}
		name = target
	}
	if !known[name] {
		return fault.New(fault.CodeRuntimeDigestMismatch, "%s in %s isn't one of the engine's libraries", e.Name(), dir)
	}
	return nil
}

func checkLibrary(dir string, lib inference.Library) error {
	got, err := digest.SHA256File(filepath.Join(dir, lib.Name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fault.New(fault.CodeRuntimeNotFound, "engine library %s isn't in %s", lib.Name, dir)
	case err != nil:
		return fmt.Errorf("digest engine library: %w", err)
	case got != lib.SHA256:
		return fault.New(fault.CodeRuntimeDigestMismatch, "engine library %s: got sha256 %s, want %s", lib.Name, got, lib.SHA256)
	}
	return nil
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
