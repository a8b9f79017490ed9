package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"edge/inference/chattemplate"
	"edge/inference/llamacpp"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/internal/stamp"
	"edge/learn"
	"edge/models"
	"edge/serve"
)

// host is the server's side of a served command: what all of them share.
type host struct {
	pool   *serve.Pool
	queue  *serve.Queue
	spares spares

	memory string // home.Dir.Processor

	mu     sync.Mutex
	engine *llamacpp.Engine // nil until the first model is loaded; there is one per process
	dir    string
	files  map[string]stamp.Stamp // of the engine's folder when it was opened
}

// run runs a client's chat: the command itself, with the client's flags, environment and streams.
func (h *host) run(ctx context.Context, r serve.Request, s serve.Streams) int {
	a := newApp(append([]string{"demo", "chat"}, r.Args...), s.In, s.Out, s.Err, r.Environ)
	a.terminal = r.Terminal
	if started := time.Unix(0, r.Started); started.Before(a.started) && a.started.Sub(started) < time.Minute {
		a.started = started // what the client has waited for since
	}
	a.served = &served{host: h, streams: s}
	status := execute(ctx, a)
	if cfg := a.served.python; cfg != nil {
		h.spares.prepare(*cfg) // the next chat is likely to be of the same user, with the same Python
	}
	return status
}

// decline gives the reasons for which a chat here would not be the one that the client's own process would have.
func (h *host) decline(r serve.Request) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine == nil {
		return ""
	}
	a := &app{environ: r.Environ, err: io.Discard}
	var err error
	if a.home, err = home.Resolve(a.getenv, runtime.GOOS); err != nil {
		return err.Error()
	}
	store, err := a.models()
	if err != nil {
		return err.Error()
	}
	dir, _, err := store.RuntimeLocation()
	if err != nil {
		return err.Error()
	}
	if !h.sameEngine(dir) {
		return "the engine's libraries aren't those that it has loaded"
	}
	return ""
}

// sameEngine says that the folder is the loaded engine's, with every file untouched since; h.mu is held.
func (h *host) sameEngine(dir string) bool {
	return dir == h.dir && maps.Equal(folderStamps(dir), h.files)
}

// folderStamps has a zero stamp for what can't be told.
func folderStamps(dir string) map[string]stamp.Stamp {
	stamps := map[string]stamp.Stamp{}
	entries, _ := os.ReadDir(dir) // a folder that can't be read has no files, and isn't the engine's
	for _, e := range entries {
		stamps[e.Name()], _ = stamp.OfPath(filepath.Join(dir, e.Name()))
	}
	return stamps
}

// world gives the model from the pool, and opens it where it isn't loaded. Its Params are the caller's to set.
func (h *host) world(ctx context.Context, dir string, release models.Release, file models.Model) (learn.World, io.Closer, error) {
	at, _ := stamp.OfPath(file.Path)
	w, leave, err := h.pool.World(ctx, serve.Key{Path: file.Path, SHA256: file.SHA256, File: at}, func(ctx context.Context) (learn.World, io.Closer, error) {
		engine, err := h.open(dir, release)
		if err != nil {
			return learn.World{}, nil, err
		}
		model, err := engine.Open(ctx, file.Path)
		if err != nil {
			return learn.World{}, nil, err
		}
		renderer, err := chattemplate.New(model, model.Info())
		if err != nil {
			return learn.World{}, nil, errors.Join(err, model.Close())
		}
		return learn.World{Engine: engine.Info(), Model: model, File: modelFile(file), Renderer: renderer}, model, nil
	})
	if err != nil {
		return w, nil, err
	}
	return w, closer(leave), nil
}

// closer is a function that closes.
type closer func()

func (c closer) Close() error {
	c()
	return nil
}

// open gives the engine; only its first caller opens it.
func (h *host) open(dir string, release models.Release) (*llamacpp.Engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine != nil {
		if !h.sameEngine(dir) {
			return nil, fault.New(fault.CodeEngineLoadFailed, "edge serve has loaded other libraries than those in %s", dir).
				WithHint("end it with: edge serve stop")
		}
		return h.engine, nil
	}
	files := folderStamps(dir)
	engine, err := openEngine(dir, release, h.memory)
	if err != nil {
		return nil, err
	}
	h.engine, h.dir, h.files = engine, dir, files
	return engine, nil
}

func (h *host) close() error {
	h.spares.close()
	err := h.pool.Close()
	if h.engine != nil {
		err = errors.Join(err, h.engine.Close())
	}
	return err
}

// report completes r with what is so now.
func (h *host) report(r serveReport, n serve.Counts) serveReport {
	r.Requests = n
	r.Models, r.Imprints = h.pool.Status()
	r.RunnersReady = h.spares.count()
	r.Queue.Waiting, r.Queue.Busy = h.queue.Length()
	r.Memory.RSSBytes = residentBytes()
	return r
}

// residentBytes is how much memory this process holds; 0 where the system doesn't tell.
func residentBytes() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
