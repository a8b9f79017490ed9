package imprint

import (
	"context"
	"time"

	"edge/internal/sealed"
)

// early is the state's sections, being read and digested before the identity is known.
type early struct {
	done   chan struct{}
	cancel context.CancelFunc
	layers []sealed.State
	errs   []error
	took   time.Duration
}

// Ahead starts to read and digest the state while what the identity needs is still being loaded. It decides nothing:
// Verify compares the identity first, as ever, and what it refuses leaves these bytes unseen.
func (u *Unverified) Ahead(ctx context.Context) {
	if u.early != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	states := u.header.states()
	e := &early{done: make(chan struct{}), cancel: cancel, layers: make([]sealed.State, len(states)), errs: make([]error, len(states))}
	u.early = e
	go func() {
		defer close(e.done)
		start := time.Now()
		for i, s := range states {
			e.layers[i], e.errs[i] = u.layer(ctx, i, s)
		}
		e.took = time.Since(start)
	}()
}

// layer reads and digests the state's section i.
func (u *Unverified) layer(ctx context.Context, i int, s Section) (sealed.State, error) {
	return sealed.Verify(ctx, u.src, u.body+s.Offset, s.seal(), u.header.Layers[i].Tokens)
}

// taken gives section i as Ahead read it, or reads it now.
func (u *Unverified) taken(ctx context.Context, i int, s Section) (sealed.State, error) {
	if u.early == nil {
		return u.layer(ctx, i, s)
	}
	select {
	case <-u.early.done:
		return u.early.layers[i], u.early.errs[i]
	case <-ctx.Done():
		return sealed.State{}, ctx.Err()
	}
}

// stop ends what Ahead began: nothing may read the files once they are closed.
func (u *Unverified) stop() {
	if u.early != nil {
		u.early.cancel()
		<-u.early.done
	}
}
