package serve

import (
	"context"
	"slices"
	"sync"

	"edge/inference"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// standing is a session that is kept for the next chat: emptied, and filled ahead with the imprint that it last held.
type standing struct {
	params inference.Params
	ready  chan struct{} // closed when session and state, or err, are set
	// session holds state, or nothing where that is empty.
	session inference.Session
	state   sealed.State
	err     error
}

// take gives the session that was kept last for these parameters; nil where there is none.
func (r *resident) take(p inference.Params) *standing {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	for i, s := range slices.Backward(r.kept) {
		if s.params == p {
			r.kept = slices.Delete(r.kept, i, i+1)
			return s
		}
	}
	return nil
}

// keep empties a session that held a conversation, and puts it by for the next. That is done beside what follows;
// whoever takes the session meanwhile waits for it.
func (r *resident) keep(session inference.Session, p inference.Params, ahead sealed.State) {
	s := &standing{params: p, ready: make(chan struct{}), session: session, state: ahead}
	var over *standing
	r.pool.mu.Lock()
	r.kept = append(r.kept, s)
	if len(r.kept) > maxKept {
		over, r.kept = r.kept[0], slices.Clone(r.kept[1:])
	}
	r.pool.mu.Unlock()
	r.pool.work.Go(func() {
		defer close(s.ready)
		s.err = session.Reset(context.Background())
		if s.err == nil && ahead.Tokens() > 0 {
			s.err = session.RestoreState(context.Background(), ahead)
		}
		if s.err != nil {
			session.Close()
		}
	})
	if over != nil {
		over.discard()
	}
}

// discard closes a session that nobody else can take any more.
func (s *standing) discard() {
	<-s.ready
	s.session.Close()
}

// lease is a session that is lent to one chat. To the chat it is a new one; after Close nothing of it leads to the
// session, which may be another's by then.
type lease struct {
	from   *model
	params inference.Params

	mu      sync.Mutex
	session inference.Session
	ahead   sealed.State // what the session holds though nobody has asked for it yet
	last    sealed.State // the imprint that it was restored from
	closed  bool
}

var _ inference.Session = (*lease)(nil)

// do runs f on the session once that holds nothing but what was asked for.
func (l *lease) do(ctx context.Context, f func(inference.Session) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fault.New(fault.CodeSessionClosed, "the session was closed")
	}
	if l.ahead.Tokens() > 0 {
		l.ahead = sealed.State{}
		if err := l.session.Reset(ctx); err != nil {
			return err
		}
	}
	return f(l.session)
}

// RestoreState implements inference.Session. What the session holds already is not restored again.
func (l *lease) RestoreState(ctx context.Context, state sealed.State) error {
	if l.claim(state) {
		return nil
	}
	return l.do(ctx, func(s inference.Session) error { return s.RestoreState(ctx, state) })
}

// claim says whether the session holds state, and from now on does so for the chat.
func (l *lease) claim(state sealed.State) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from.of.pool.isImprint(state) {
		l.last = state
	}
	if l.closed || l.ahead.Tokens() == 0 || !same(l.ahead, state) {
		return false
	}
	l.ahead = sealed.State{}
	return true
}

// Decode implements inference.Session.
func (l *lease) Decode(ctx context.Context, b inference.Batch) error {
	return l.do(ctx, func(s inference.Session) error { return s.Decode(ctx, b) })
}

// SaveState implements inference.Session.
func (l *lease) SaveState(ctx context.Context) (state sealed.State, err error) {
	err = l.do(ctx, func(s inference.Session) (err error) {
		state, err = s.SaveState(ctx)
		return err
	})
	return state, err
}

// SaveLayer implements inference.Session.
func (l *lease) SaveLayer(ctx context.Context, from int) (state sealed.State, err error) {
	err = l.do(ctx, func(s inference.Session) (err error) {
		state, err = s.SaveLayer(ctx, from)
		return err
	})
	return state, err
}

// Reset implements inference.Session.
func (l *lease) Reset(ctx context.Context) error {
	return l.do(ctx, func(s inference.Session) error { return s.Reset(ctx) })
}

// Logits implements inference.Session.
func (l *lease) Logits() (row []float32) {
	l.look(func(s inference.Session) { row = s.Logits() })
	return row
}

// Hidden implements inference.Session.
func (l *lease) Hidden() (rows [][]float32) {
	l.look(func(s inference.Session) { rows = s.Hidden() })
	return rows
}

// Decoded implements inference.Session.
func (l *lease) Decoded() (n int) {
	l.look(func(s inference.Session) { n = s.Decoded() })
	return n
}

// Position implements inference.Session.
func (l *lease) Position() (n int) {
	l.look(func(s inference.Session) { n = s.Position() })
	return n
}

// look reads from a session that holds what was asked for; a new one has nothing to show.
func (l *lease) look(f func(inference.Session)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.ahead.Tokens() == 0 {
		f(l.session)
	}
}

// Close gives the session back.
func (l *lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.from.of.keep(l.session, l.params, l.last)
	l.from.open.Add(-1)
	l.session = nil
	return nil
}
