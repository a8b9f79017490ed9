package serve

import (
	"context"
	"slices"
	"sync"
)

// Queue lets one computation run at a time, in the order in which they were asked for.
type Queue struct {
	mu      sync.Mutex
	busy    bool
	waiting []*ticket
}

type ticket struct {
	turn  chan struct{} // closed when it is the ticket's turn
	moved chan struct{} // one place was gained
}

// Do waits for its turn and runs do. While it waits, told hears how many computations come before it, each time that the
// number changes. Errors: ctx's while it waits; do's.
func (q *Queue) Do(ctx context.Context, told func(before int), do func() error) error {
	if err := q.acquire(ctx, told); err != nil {
		return err
	}
	defer q.release()
	return do()
}

func (q *Queue) acquire(ctx context.Context, told func(int)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if !q.busy {
		q.busy = true
		q.mu.Unlock()
		return nil
	}
	t := &ticket{turn: make(chan struct{}), moved: make(chan struct{}, 1)}
	q.waiting = append(q.waiting, t)
	place := len(q.waiting)
	q.mu.Unlock()
	for {
		told(place)
		select {
		case <-t.turn:
			return nil
		case <-t.moved:
			if place = q.place(t); place == 0 {
				<-t.turn
				return nil
			}
		case <-ctx.Done():
			q.leave(t)
			return ctx.Err()
		}
	}
}

// place is how many computations come before t, the running one among them; 0 when it is t's turn.
func (q *Queue) place(t *ticket) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Index(q.waiting, t) + 1
}

// leave takes t out of the queue. Where its turn has come meanwhile, that goes to the next.
func (q *Queue) leave(t *ticket) {
	q.mu.Lock()
	at := slices.Index(q.waiting, t)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
		q.tell(at)
	}
	q.mu.Unlock()
	if at < 0 {
		q.release()
	}
}

func (q *Queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	next := q.waiting[0]
	q.waiting = q.waiting[1:]
	close(next.turn)
	q.tell(0)
}

// tell lets those from place at on know that they have gained one; q.mu is held.
func (q *Queue) tell(at int) {
	for _, t := range q.waiting[at:] {
		select {
		case t.moved <- struct{}{}:
		default:
		}
	}
}

// Length is how many computations wait, and whether one runs.
func (q *Queue) Length() (waiting int, busy bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), q.busy
}
