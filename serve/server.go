package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a server does.
type Config struct {
	Build Build
	// Run runs a chat and gives its exit status. ctx ends with an interrupt, and with s.Gone.
	Run func(ctx context.Context, r Request, s Streams) int
	// Decline gives the reason why a request is better done by the client itself; empty: it is welcome.
	Decline func(Request) string
	// Close lets go of what Run uses, once nothing runs any more.
	Close func() error
	// Status describes the server, as JSON.
	Status func(Counts) any
}

// Counts is what a server has done.
type Counts struct {
	Served   int64 `json:"served"`
	Declined int64 `json:"declined"`
	Running  int64 `json:"running"`
}

// Server answers clients.
type Server struct {
	cfg     Config
	doors   *Listeners
	stop    context.CancelFunc
	clients sync.WaitGroup
	mu      sync.Mutex
	waiting []net.Conn // of clients that asked for the end, and wait for it

	served, declined, running atomic.Int64
}

// NewServer makes a server behind doors, which Serve closes.
func NewServer(cfg Config, doors *Listeners) *Server { return &Server{cfg: cfg, doors: doors} }

// Serve answers until ctx ends or a client asks it to stop. What runs then is cancelled and waited for, and only when
// everything is let go of does that client hear of the end.
func (s *Server) Serve(ctx context.Context) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	var accepting sync.WaitGroup
	failed := make(chan error, 2)
	for _, door := range s.doors.all() {
		accepting.Go(func() { failed <- s.accept(ctx, door) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop()
	err = errors.Join(err, s.doors.closeAll())
	accepting.Wait()
	s.clients.Wait()
	err = errors.Join(err, s.cfg.Close(), s.doors.Close())
	for _, conn := range s.waiting {
		conn.Close()
	}
	return err
}

func (s *Server) accept(ctx context.Context, door net.Listener) error {
	for {
		conn, err := door.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		s.clients.Go(func() { s.client(ctx, conn) })
	}
}

// client serves one connection. Whoever breaks the protocol is left without an answer.
func (s *Server) client(ctx context.Context, conn net.Conn) {
	stays := false
	defer func() {
		if !stays {
			conn.Close()
		}
	}()
	conn.SetDeadline(time.Now().Add(askTimeout))
	defer context.AfterFunc(ctx, func() {
		conn.SetReadDeadline(time.Now())
		conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	})()
	token, err := s.welcome(conn)
	if err != nil {
		return
	}
	in := bufio.NewReader(conn)
	var r Request
	if expect(in, kindRequest, &r) != nil || !equal(r.Token, token) {
		return
	}
	conn.SetDeadline(time.Time{})
	if ctx.Err() != nil {
		return
	}
	if r.Protocol != Protocol {
		s.decline(conn, "it speaks "+Protocol+", and the client "+r.Protocol)
		return
	}
	switch r.Op {
	case opStatus:
		writeJSON(conn, kindStatus, s.cfg.Status(s.counts()))
	case opStop:
		writeJSON(conn, kindAccepted, accepted{os.Getpid()})
		s.mu.Lock()
		s.waiting = append(s.waiting, conn)
		s.mu.Unlock()
		stays = true
		s.stop()
	case opChat:
		if why := s.unfit(r); why != "" {
			s.decline(conn, why)
			return
		}
		s.chat(ctx, conn, in, r)
	default:
		s.decline(conn, "it knows no "+r.Op)
	}
}

func (s *Server) counts() Counts {
	return Counts{Served: s.served.Load(), Declined: s.declined.Load(), Running: s.running.Load()}
}

func (s *Server) unfit(r Request) string {
	if r.Build != s.cfg.Build {
		return "it is another build of edge"
	}
	return s.cfg.Decline(r)
}

func (s *Server) decline(conn net.Conn, why string) {
	s.declined.Add(1)
	writeJSON(conn, kindDeclined, declined{why})
}

// chat runs a command with the client's streams. The command's context ends with an interrupt, and with the client.
func (s *Server) chat(ctx context.Context, conn net.Conn, in *bufio.Reader, r Request) {
	s.running.Add(1)
	defer s.running.Add(-1)
	gone, hangUp := context.WithCancel(ctx)
	defer hangUp()
	work, interrupt := context.WithCancel(gone)
	defer interrupt()
	box := newOutbox(conn, func() { hangUp(); conn.Close() })
	if box.sendJSON(kindAccepted, accepted{os.Getpid()}) != nil {
		return
	}
	come, interrupts := make(chan []byte, 1), make(chan struct{}, 1)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer hangUp()
		hear(in, come, interrupts, interrupt)
	}()
	streams := Streams{
		In: &input{box: box, come: come, gone: gone.Done()}, Out: writer{box, kindOut}, Err: writer{box, kindErr},
		Interrupts: interrupts, Gone: gone,
	}
	status := s.cfg.Run(work, r, streams)
	s.served.Add(1)
	box.sendJSON(kindExit, exit{status})
	box.close()
	conn.Close()
	<-heard
}

// hear takes what a client sends, until it sends what it may not or is gone.
func hear(in *bufio.Reader, come chan<- []byte, interrupts chan<- struct{}, interrupt func()) {
	for {
		k, body, err := readFrame(in)
		if err != nil {
			return
		}
		switch k {
		case kindInput:
			select {
			case come <- body:
			default: // nobody asked for it
				return
			}
		case kindInterrupt:
			interrupt()
			select {
			case interrupts <- struct{}{}:
			default: // one is waiting to be heard
			}
		default:
			return
		}
	}
}
