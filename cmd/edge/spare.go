package main

import (
	"bytes"
	"io"
	"sync"
	"time"

	"edge/internal/stamp"
	"edge/runner"
)

// spare is a runner whose first process stands ready, so that a served chat doesn't wait for Python to start. It is for
// one chat, and only for one whose runner would be the same: same variables, same interpreter, same sandbox.
type spare struct {
	key         spareKey
	runner      *runner.Runner
	interpreter stamp.Stamp
	out         *relay
	since       time.Time
}

type spareKey struct {
	basis   string
	sandbox runner.SandboxMode
	memory  string
}

func keyOf(cfg runner.Config) (spareKey, bool) {
	basis, ok := runner.Basis(cfg.Environ, time.Now())
	return spareKey{basis, cfg.Sandbox, cfg.Memory}, ok
}

// spares keeps one spare runner: for the chat that comes after one with the same key.
type spares struct {
	mu     sync.Mutex
	ready  *spare
	closed bool
	work   sync.WaitGroup
}

// runner gives the spare runner if it is the one that cfg would make, or makes that.
func (s *spares) runner(cfg runner.Config) (*runner.Runner, error) {
	if sp := s.take(cfg); sp != nil {
		sp.out.to(cfg.Stderr)
		return sp.runner, nil
	}
	return runner.New(cfg)
}

func (s *spares) take(cfg runner.Config) *spare {
	key, ok := keyOf(cfg)
	s.mu.Lock()
	sp := s.ready
	if !ok || sp == nil || sp.key != key {
		s.mu.Unlock()
		return nil
	}
	s.ready = nil
	s.mu.Unlock()
	if now, ok := stamp.OfPath(sp.runner.Python().Path); !ok || now != sp.interpreter {
		sp.runner.Close()
		return nil
	}
	return sp
}

// prepare makes a spare runner like cfg's, beside what goes on. One that can't be made is not missed: the chat that
// makes it itself says why.
func (s *spares) prepare(cfg runner.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.work.Go(func() {
		if sp := newSpare(cfg); sp != nil {
			s.put(sp)
		}
	})
}

func newSpare(cfg runner.Config) *spare {
	key, ok := keyOf(cfg)
	if !ok {
		return nil
	}
	sp := &spare{key: key, out: &relay{}, since: time.Now()}
	cfg.Stderr = sp.out
	var err error
	if sp.runner, err = runner.New(cfg); err != nil {
		return nil
	}
	if sp.interpreter, ok = stamp.OfPath(sp.runner.Python().Path); !ok {
		sp.runner.Close()
		return nil
	}
	sp.runner.Prepare()
	return sp
}

// put keeps sp and lets the one before go.
func (s *spares) put(sp *spare) {
	s.mu.Lock()
	over := s.ready
	if s.ready = sp; s.closed {
		over, s.ready = sp, nil
	}
	s.mu.Unlock()
	if over != nil {
		over.runner.Close()
	}
}

// evict lets a spare go that has stood since before.
func (s *spares) evict(before time.Time) {
	s.mu.Lock()
	sp := s.ready
	if sp == nil || sp.since.After(before) {
		s.mu.Unlock()
		return
	}
	s.ready = nil
	s.mu.Unlock()
	sp.runner.Close()
}

func (s *spares) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil {
		return 0
	}
	return 1
}

func (s *spares) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	s.evict(time.Now())
}

// relay passes on what a process prints to whoever has it by then. What comes before is kept.
type relay struct {
	mu   sync.Mutex
	w    io.Writer
	held bytes.Buffer
}

const maxHeld = 64 << 10

func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w != nil {
		return r.w.Write(p)
	}
	r.held.Write(p[:min(len(p), maxHeld-min(r.held.Len(), maxHeld))])
	return len(p), nil
}

func (r *relay) to(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w = w; w != nil && r.held.Len() > 0 {
		w.Write(r.held.Bytes())
	}
	r.held.Reset()
}
