package serve_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"edge/serve"
)

// places collects what a waiting client was told.
type places struct {
	mu   sync.Mutex
	told []int
	come chan int
}

func newPlaces() *places { return &places{come: make(chan int, 64)} }

func (p *places) hear(n int) {
	p.mu.Lock()
	p.told = append(p.told, n)
	p.mu.Unlock()
	p.come <- n
}

func TestQueueIsFairAndTellsPlaces(t *testing.T) {
	var q serve.Queue
	hold, held := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		q.Do(t.Context(), func(int) { t.Error("the first had to wait") }, func() error { close(held); <-hold; return nil })
	})
	<-held
	var mu sync.Mutex
	var order []int
	running := 0
	steps := make([]chan struct{}, 3)
	heard := make([]*places, 3)
	for i := range 3 {
		steps[i], heard[i] = make(chan struct{}), newPlaces()
		all.Go(func() {
			q.Do(t.Context(), heard[i].hear, func() error {
				mu.Lock()
				running++
				if running > 1 {
					t.Error("two computations at a time")
				}
				order = append(order, i)
				mu.Unlock()
				<-steps[i]
				mu.Lock()
				running--
				mu.Unlock()
				return nil
			})
		})
		if got := <-heard[i].come; got != i+1 { // it stands in the queue before the next comes
			t.Errorf("%d was told %d before it", i, got)
		}
	}
	if waiting, busy := q.Length(); waiting != 3 || !busy {
		t.Errorf("%d wait, busy %t", waiting, busy)
	}
	close(hold)
	for i := range 3 {
		for later := i + 1; later < 3; later++ { // each that is left moves up by one
			if got := <-heard[later].come; got != later-i {
				t.Errorf("%d was told %d, want %d", later, got, later-i)
			}
		}
		close(steps[i])
	}
	all.Wait()
	if !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("order %v", order)
	}
}

func TestQueueLeft(t *testing.T) {
	var q serve.Queue
	hold, held := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { q.Do(t.Context(), nil, func() error { close(held); <-hold; return nil }) })
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	first, second := newPlaces(), newPlaces()
	left := make(chan error, 1)
	all.Go(func() {
		left <- q.Do(ctx, first.hear, func() error { t.Error("it ran although it had left"); return nil })
	})
	<-first.come
	ran := make(chan struct{})
	all.Go(func() { q.Do(t.Context(), second.hear, func() error { close(ran); return nil }) })
	if got := <-second.come; got != 2 {
		t.Errorf("the second was told %d", got)
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := <-second.come; got != 1 {
		t.Errorf("the second was told %d once the first had left", got)
	}
	close(hold)
	<-ran
	all.Wait()
	if waiting, busy := q.Length(); waiting != 0 || busy {
		t.Errorf("%d wait, busy %t", waiting, busy)
	}
}

// Turns that come while their owner gives up go to the next: nobody waits for ever.
func TestQueueTurnOfOneWhoLeft(t *testing.T) {
	var q serve.Queue
	for range 200 {
		hold, held := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { q.Do(t.Context(), nil, func() error { close(held); <-hold; return nil }) })
		<-held
		ctx, cancel := context.WithCancel(t.Context())
		p := newPlaces()
		all.Go(func() { q.Do(ctx, p.hear, func() error { return nil }) })
		<-p.come
		all.Go(cancel)
		close(hold)
		all.Wait()
		if waiting, busy := q.Length(); waiting != 0 || busy {
			t.Fatalf("%d wait, busy %t", waiting, busy)
		}
	}
}

func TestQueueOfACancelledContext(t *testing.T) {
	var q serve.Queue
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Do(ctx, nil, func() error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	failed := errors.New("its own")
	if err := q.Do(t.Context(), nil, func() error { return failed }); err != failed {
		t.Errorf("got %v", err)
	}
}
