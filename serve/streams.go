package serve

import (
	"context"
	"io"
	"net"
	"sync"
)

// Streams are a command's standard streams and signals, at the client's end.
type Streams struct {
	In         io.Reader
	Out, Err   io.Writer
	Interrupts <-chan struct{} // Ctrl-C
	// Gone ends when the client is gone or the server stops; an interrupt doesn't end it.
	Gone context.Context
}

// outbox sends frames in their order without making the sender wait: a client that doesn't read must not hold the engine.
type outbox struct {
	mu      sync.Mutex
	grown   *sync.Cond
	pending []byte
	closed  bool
	done    chan struct{}
	full    func() // called when the client is too far behind
}

// maxPending is how far a client may be behind. A turn's output is far smaller.
const maxPending = 32 << 20

func newOutbox(conn net.Conn, failed func()) *outbox {
	o := &outbox{done: make(chan struct{}), full: failed}
	o.grown = sync.NewCond(&o.mu)
	go o.run(conn, failed)
	return o
}

func (o *outbox) run(conn net.Conn, failed func()) {
	defer close(o.done)
	for {
		o.mu.Lock()
		for len(o.pending) == 0 && !o.closed {
			o.grown.Wait()
		}
		batch := o.pending
		o.pending = nil
		o.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		if _, err := conn.Write(batch); err != nil {
			o.mu.Lock()
			o.pending, o.closed = nil, true
			o.mu.Unlock()
			failed()
			return
		}
	}
}

func (o *outbox) send(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if len(o.pending)+len(frame) > maxPending {
		o.full()
		return
	}
	o.pending = append(o.pending, frame...)
	o.grown.Signal()
}

func (o *outbox) sendJSON(k kind, value any) error {
	frame, err := encodeJSON(k, value)
	if err == nil {
		o.send(frame)
	}
	return err
}

// close waits until everything is sent, or can't be.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.grown.Signal()
	o.mu.Unlock()
	<-o.done
}

// writer is standard output or error. It never fails: that the client is gone is said elsewhere.
type writer struct {
	box  *outbox
	kind kind
}

func (w writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxBody)
		w.box.send(encode(w.kind, rest[:n]))
		rest = rest[n:]
	}
	return len(p), nil
}

// input is standard input. The client reads its own only when it is asked to, as the command alone would.
type input struct {
	box  *outbox
	come chan []byte // at most one: what was asked for
	gone <-chan struct{}
	rest []byte
	end  bool
}

// Read is called by one goroutine.
func (i *input) Read(p []byte) (int, error) {
	if len(i.rest) == 0 && !i.end {
		i.box.send(encode(kindWant, nil))
		select {
		case i.rest = <-i.come:
			i.end = len(i.rest) == 0
		case <-i.gone:
			i.end = true
		}
	}
	if i.end {
		return 0, io.EOF
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}
