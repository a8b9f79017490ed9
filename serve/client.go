package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// ErrNone: no server listens there.
var ErrNone = errors.New("serve: no server listens there")

// DeclinedError is a server's refusal to do what the client can do itself.
type DeclinedError struct{ Reason string }

func (e *DeclinedError) Error() string { return "edge serve declines: " + e.Reason }

// LostError is a connection that ended before the command did.
type LostError struct {
	Begun bool // something was printed already, or input was used up: the command can't be run again in silence
	Err   error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the connection to edge serve ended: %v", e.Err)
}
func (e *LostError) Unwrap() error { return e.Err }

// Client is a connection for one request.
type Client struct {
	conn  net.Conn
	token string
}

// Dial connects to a server: at the path of its socket, or at 127.0.0.1:PORT with the token that lies in tokenFile.
// Errors: ErrNone; a plain one where somebody else listens there.
func Dial(ctx context.Context, address, tokenFile string) (*Client, error) {
	c, network := &Client{}, "unix"
	if IsPort(address) {
		network = "tcp"
		raw, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNone, err)
		}
		c.token = strings.TrimSpace(string(raw))
	}
	d := net.Dialer{Timeout: answerTimeout}
	var err error
	if c.conn, err = d.DialContext(ctx, network, address); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	c.conn.SetDeadline(time.Now().Add(answerTimeout))
	if unix, ok := c.conn.(*net.UnixConn); ok {
		err = samePeer(unix)
	} else {
		err = greet(c.conn, c.token)
	}
	if err != nil {
		c.conn.Close()
		return nil, err
	}
	return c, nil
}

// IsPort says that an address is a loopback port and not the path of a socket.
func IsPort(address string) bool { return strings.HasPrefix(address, "127.0.0.1:") }

// Close ends the connection; a command that it runs is cancelled.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) ask(r Request) error {
	r.Protocol, r.Token = Protocol, c.token
	return writeJSON(c.conn, kindRequest, r)
}

// Status asks how the server is.
func (c *Client) Status() (json.RawMessage, error) {
	if err := c.ask(Request{Op: opStatus}); err != nil {
		return nil, err
	}
	var status json.RawMessage
	return status, expect(c.conn, kindStatus, &status)
}

// Stop has the server end, and waits until it has let go of its socket.
func (c *Client) Stop() (pid int, err error) {
	if err := c.ask(Request{Op: opStop}); err != nil {
		return 0, err
	}
	var a accepted
	if err := expect(c.conn, kindAccepted, &a); err != nil {
		return 0, err
	}
	c.conn.SetDeadline(time.Time{})
	io.Copy(io.Discard, c.conn)
	return a.PID, nil
}

// Local is what a client lends to a command.
type Local struct {
	In         io.Reader
	Out, Err   io.Writer
	Interrupts <-chan os.Signal
	Patience   int       // after so many interrupts the client leaves; 0: never
	Accepted   func(int) // hears the server's process id once the command is taken
}

// Chat has the server run a chat and gives its exit status. Errors: *DeclinedError; *LostError; context.Canceled where
// the client's patience ended.
func (c *Client) Chat(r Request, l Local) (status int, err error) {
	r.Op = opChat
	if err := c.ask(r); err != nil {
		return 0, &LostError{Err: err}
	}
	k, body, err := readFrame(c.conn)
	if err != nil {
		return 0, &LostError{Err: err}
	}
	switch k {
	case kindAccepted:
		var a accepted
		if err := json.Unmarshal(body, &a); err != nil {
			return 0, &LostError{Err: err}
		}
		l.Accepted(a.PID)
	case kindDeclined:
		var d declined
		if err := json.Unmarshal(body, &d); err != nil {
			return 0, &LostError{Err: err}
		}
		return 0, &DeclinedError{d.Reason}
	default:
		return 0, &LostError{Err: fmt.Errorf("got frame %q", k)}
	}
	c.conn.SetDeadline(time.Time{})
	return c.follow(l)
}

// follow passes streams and interrupts on until the command ends.
func (c *Client) follow(l Local) (status int, err error) {
	send := make(chan []byte)
	ended := make(chan struct{})
	left := make(chan struct{})
	go c.pass(l, send, ended, left)
	defer close(ended)
	begun := false
	for {
		k, body, err := readFrame(c.conn)
		if err != nil {
			select {
			case <-left:
				return 0, context.Canceled
			default:
				return 0, &LostError{begun, err}
			}
		}
		switch k {
		case kindOut:
			begun = true
			l.Out.Write(body)
		case kindErr:
			l.Err.Write(body)
		case kindWant:
			begun = true
			go feed(l.In, send, ended)
		case kindExit:
			var x exit
			if err := json.Unmarshal(body, &x); err != nil {
				return 0, &LostError{begun, err}
			}
			return x.Status, nil
		default:
			return 0, &LostError{begun, fmt.Errorf("got frame %q", k)}
		}
	}
}

// pass is the only one that writes to the connection once a command runs.
func (c *Client) pass(l Local, send <-chan []byte, ended <-chan struct{}, left chan<- struct{}) {
	heard := 0
	for {
		select {
		case frame := <-send:
			c.conn.Write(frame) // a connection that is gone is noticed by the reader
		case <-l.Interrupts:
			if heard++; heard == l.Patience {
				close(left)
				c.conn.Close()
				return
			}
			c.conn.Write(encode(kindInterrupt, nil))
		case <-ended:
			return
		}
	}
}

// feed reads once from the client's standard input. It may wait for a line longer than the command lives.
func feed(in io.Reader, send chan<- []byte, ended <-chan struct{}) {
	buf := make([]byte, chunk)
	n, _ := in.Read(buf) // nothing is the end
	select {
	case send <- encode(kindInput, buf[:n]):
	case <-ended:
	}
}
