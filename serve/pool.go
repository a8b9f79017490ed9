package serve

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/stamp"
	"edge/learn"
)

const (
	maxModels   = 2 // loaded and unused at the same time
	maxImprints = 4
	maxKept     = 2 // sessions of a model that stand ready
)

// Key names a loaded model: the file by content and by what tells that it changed.
type Key struct {
	Path   string
	SHA256 digest.SHA256
	File   stamp.Stamp
}

// Open loads a model. What the Closer closes is closed after the world's sessions.
type Open func(ctx context.Context) (learn.World, io.Closer, error)

// Pool keeps models, the states of imprints, and sessions. It is safe for concurrent use.
type Pool struct {
	now func() time.Time

	mu       sync.Mutex
	models   []*resident
	imprints []*known
	closed   bool
	work     sync.WaitGroup // sessions that are being made ready
}

// NewPool makes an empty pool; now is the clock.
func NewPool(now func() time.Time) *Pool { return &Pool{now: now} }

// resident is a model that stays loaded.
type resident struct {
	pool   *Pool
	key    Key
	ready  chan struct{} // closed when world and closer, or err, are set
	world  learn.World
	closer io.Closer
	err    error

	// pool.mu guards these.
	users int
	used  time.Time
	kept  []*standing
}

// World gives the model of key, loading it with open where it isn't there. Whoever gives up waiting leaves the loading
// to the next. release must be called once, when every session of the world is closed. Its Params are open's.
func (p *Pool) World(ctx context.Context, key Key, open Open) (w learn.World, release func(), err error) {
	r, first, err := p.enter(key)
	if err != nil {
		return w, nil, err
	}
	if first {
		go func() {
			r.world, r.closer, r.err = open(context.WithoutCancel(ctx))
			close(r.ready)
			p.evict(func(o *resident) bool { return o.err != nil }) // everybody may have given up waiting
		}()
	}
	select {
	case <-r.ready:
		err = r.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		p.leave(r)
		return w, nil, err
	}
	w = r.world
	w.Model = &model{Model: w.Model, of: r}
	return w, sync.OnceFunc(func() { p.leave(r) }), nil
}

// enter counts a user in.
func (p *Pool) enter(key Key) (r *resident, first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errors.New("serve: the pool is closed")
	}
	i := slices.IndexFunc(p.models, func(r *resident) bool { return r.key == key })
	if first = i < 0; first {
		r = &resident{pool: p, key: key, ready: make(chan struct{})}
		p.models = append(p.models, r)
	} else {
		r = p.models[i]
	}
	r.users++
	r.used = p.now()
	return r, first, nil
}

// leave counts a user out. What failed to load, what another file has taken the place of, and what is too much is let go.
func (p *Pool) leave(r *resident) {
	p.mu.Lock()
	r.users--
	r.used = p.now()
	p.mu.Unlock()
	p.evict(func(o *resident) bool {
		return o.err != nil || slices.ContainsFunc(p.models, func(n *resident) bool {
			return n.key.Path == o.key.Path && n.key != o.key && n.used.After(o.used)
		})
	})
	for p.evictOldest() {
	}
}

// EvictIdle lets go of every model and imprint that nobody has used since then, and says whether there was any.
func (p *Pool) EvictIdle(since time.Time) bool {
	gone := p.evict(func(r *resident) bool { return r.used.Before(since) })
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.imprints)
	if len(p.models) == 0 { // they are of no use without
		p.imprints = slices.DeleteFunc(p.imprints, func(k *known) bool { return k.used.Before(since) })
	}
	return gone || len(p.imprints) < before
}

// evict closes the unused models that match.
func (p *Pool) evict(match func(*resident) bool) bool {
	p.mu.Lock()
	var out []*resident
	for _, r := range p.models {
		if r.idle() && match(r) {
			out = append(out, r)
		}
	}
	p.models = slices.DeleteFunc(p.models, func(r *resident) bool { return slices.Contains(out, r) })
	p.mu.Unlock()
	for _, r := range out {
		r.close()
	}
	return len(out) > 0
}

// idle says that nobody uses r, and that it isn't being loaded; pool.mu is held.
func (r *resident) idle() bool {
	select {
	case <-r.ready:
		return r.users == 0
	default:
		return false
	}
}

func (p *Pool) evictOldest() bool {
	p.mu.Lock()
	var oldest *resident
	unused := 0
	for _, r := range p.models {
		if r.idle() {
			unused++
			if oldest == nil || r.used.Before(oldest.used) {
				oldest = r
			}
		}
	}
	p.mu.Unlock()
	return unused > maxModels && p.evict(func(r *resident) bool { return r == oldest })
}

// close frees a model that is in no list any more.
func (r *resident) close() error {
	for _, s := range r.kept {
		s.discard()
	}
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// Close lets go of everything. All users must be gone.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.models
	p.models, p.imprints = nil, nil
	p.mu.Unlock()
	var err error
	for _, r := range all {
		<-r.ready
		err = errors.Join(err, r.close())
	}
	p.work.Wait()
	return err
}

// ModelStatus is a loaded model.
type ModelStatus struct {
	Name          string        `json:"name"`
	Path          string        `json:"path"`
	SHA256        digest.SHA256 `json:"sha256"`
	Users         int           `json:"users"`
	SessionsReady int           `json:"sessions_ready"`
}

// ImprintStatus is an imprint whose verified content is in memory.
type ImprintStatus struct {
	ID     string `json:"id"`
	Tokens int    `json:"tokens"`
	Bytes  int64  `json:"bytes"`
}

// Status says what is loaded.
func (p *Pool) Status() ([]ModelStatus, []ImprintStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	models, imprints := []ModelStatus{}, []ImprintStatus{}
	for _, r := range p.models {
		select {
		case <-r.ready:
			models = append(models, ModelStatus{r.world.File.Name, r.key.Path, r.key.SHA256, r.users, len(r.kept)})
		default:
		}
	}
	for _, k := range p.imprints {
		imprints = append(imprints, ImprintStatus{k.verified.ID().String(), k.verified.State().Tokens(), k.verified.State().Size()})
	}
	return models, imprints
}

// model is a resident model whose sessions are lent, and come back.
type model struct {
	inference.Model
	of   *resident
	open atomic.Int32 // sessions that are lent
}

// NewSession implements inference.Model.
func (m *model) NewSession(ctx context.Context, p inference.Params) (inference.Session, error) {
	for {
		s := m.of.take(p)
		if s == nil {
			fresh, err := m.Model.NewSession(ctx, p)
			if err != nil {
				return nil, err
			}
			return m.lend(&lease{session: fresh, params: p}), nil
		}
		if <-s.ready; s.err == nil {
			return m.lend(&lease{session: s.session, params: p, ahead: s.state}), nil
		}
	}
}

func (m *model) lend(l *lease) *lease {
	l.from = m
	m.open.Add(1)
	return l
}

// Close implements inference.Model. It refuses while sessions are lent; what it lets go of, the pool closes in its time.
func (m *model) Close() error {
	if n := m.open.Load(); n > 0 {
		return fault.New(fault.CodeInternal, "close model: %d sessions are lent", n)
	}
	return nil
}
