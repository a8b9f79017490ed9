package main

import "io"

// soon is a value that another goroutine is making.
type soon[T io.Closer] struct {
	done  chan struct{}
	value T
	err   error
}

// start has do run beside what follows.
func start[T io.Closer](do func() (T, error)) *soon[T] {
	s := &soon[T]{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.value, s.err = do()
	}()
	return s
}

// wait gives the value.
func (s *soon[T]) wait() (T, error) {
	<-s.done
	return s.value, s.err
}

// discard waits and closes what nobody wants any more.
func (s *soon[T]) discard() {
	if value, err := s.wait(); err == nil {
		value.Close()
	}
}
