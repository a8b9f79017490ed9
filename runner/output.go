package runner

import (
	"fmt"
	"io"
	"sync"
)

// maxOutput is how much of one process's output is passed on; the rest is read, counted and dropped.
const maxOutput = 1 << 20

// drain empties a process's output so that the process never waits for a reader: neither a slow dst nor the cap holds
// it up. Reading and passing on are two goroutines with at most maxOutput bytes between them.
type drain struct {
	mu      sync.Mutex
	more    sync.Cond
	pending []byte
	kept    int
	dropped int64
	ended   bool
	// done is closed when all that is passed on has been passed on.
	done chan struct{}
}

func newDrain(src io.Reader, dst io.Writer) *drain {
	d := &drain{done: make(chan struct{})}
	d.more.L = &d.mu
	go d.read(src)
	go d.pass(dst)
	return d
}

func (d *drain) read(src io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		d.mu.Lock()
		take := min(n, maxOutput-d.kept)
		d.pending = append(d.pending, buf[:take]...)
		d.kept += take
		d.dropped += int64(n - take)
		d.ended = err != nil
		d.mu.Unlock()
		d.more.Signal()
		if err != nil {
			return
		}
	}
}

func (d *drain) pass(dst io.Writer) {
	defer close(d.done)
	var failed error
	last := byte('\n')
	for {
		d.mu.Lock()
		for len(d.pending) == 0 && !d.ended {
			d.more.Wait()
		}
		chunk, dropped := d.pending, d.dropped
		d.pending = nil
		d.mu.Unlock()
		if len(chunk) == 0 {
			if dropped > 0 && failed == nil {
				// A full line of its own, wherever the cut fell.
				start := ""
				if last != '\n' {
					start = "\n"
				}
				fmt.Fprintf(dst, "%sedge: %d more bytes of the tool's output were dropped\n", start, dropped)
			}
			return
		}
		if failed == nil {
			_, failed = dst.Write(chunk)
			last = chunk[len(chunk)-1]
		}
	}
}

// lockedWriter lets several processes share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
