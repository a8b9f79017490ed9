package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/serve"
)

// place is a short path for a socket in a private folder: addresses of sockets are short.
func place(t *testing.T) serve.Places {
	t.Helper()
	dir, err := os.MkdirTemp("", "edge")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return serve.Places{Socket: filepath.Join(dir, "in", "s"), TokenFile: filepath.Join(dir, "in", "token")}
}

func build() serve.Build { return serve.Build{Version: "1", Engine: "2", Executable: "3"} }

// command is what a test's server runs.
type command func(ctx context.Context, r serve.Request, s serve.Streams) int

// running is a server of this process.
type running struct {
	at    serve.Places
	doors *serve.Listeners
	stop  func() error
}

func start(t *testing.T, at serve.Places, run command) *running {
	t.Helper()
	before := runtime.NumGoroutine()
	doors, err := serve.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	server := serve.NewServer(serve.Config{
		Build: build(), Run: run,
		Decline: func(r serve.Request) string {
			if len(r.Args) > 0 && r.Args[0] == "unwelcome" {
				return "it is unwelcome"
			}
			return ""
		},
		Status: func(n serve.Counts) any { return n },
		Close:  func() error { closed = true; return nil },
	}, doors)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	r := &running{at: at, doors: doors, stop: sync.OnceValue(func() error { cancel(); return <-ended })}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if !closed {
			t.Error("what the server used wasn't let go of")
		}
		if _, err := os.Stat(at.Socket); err == nil {
			t.Error("the socket is left")
		}
		if _, err := os.Stat(at.TokenFile); err == nil {
			t.Error("the token is left")
		}
		for try := 0; runtime.NumGoroutine() > before; try++ { // a goroutine that has done its work takes a moment to be gone
			if try == 200 {
				buf := make([]byte, 1<<16)
				t.Fatalf("%d goroutines are left, before there were %d:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return r
}

// caller is a client with streams that a test can look at.
type caller struct {
	out, err   bytes.Buffer
	in         io.Reader
	interrupts chan os.Signal
	patience   int
	pid        int
	accepted   func()
}

func (c *caller) call(address, token string, r serve.Request) (int, error) {
	client, err := serve.Dial(context.Background(), address, token)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if r.Build == (serve.Build{}) {
		r.Build = build()
	}
	return client.Chat(r, serve.Local{In: c.in, Out: &c.out, Err: &c.err, Interrupts: c.interrupts, Patience: c.patience, Accepted: func(pid int) {
		c.pid = pid
		if c.accepted != nil {
			c.accepted()
		}
	}})
}

func TestAServedCommandHasTheClientsStreams(t *testing.T) {
	r := start(t, place(t), func(_ context.Context, r serve.Request, s serve.Streams) int {
		text, err := io.ReadAll(s.In)
		fmt.Fprintf(s.Out, "%s|%s|%v|%v", r.Args, r.Environ, string(text), err)
		fmt.Fprint(s.Err, "to the side")
		return 7
	})
	c := &caller{in: strings.NewReader(strings.Repeat("line\n", 30000))}
	status, err := c.call(r.at.Socket, "", serve.Request{Args: []string{"--prompt=x"}, Environ: []string{"A=B"}})
	if err != nil || status != 7 || c.pid != os.Getpid() {
		t.Errorf("status %d, %v, pid %d", status, err, c.pid)
	}
	if want := "[--prompt=x]|[A=B]|" + strings.Repeat("line\n", 30000) + "|<nil>"; c.out.String() != want {
		t.Errorf("out: %d bytes, want %d", c.out.Len(), len(want))
	}
	if c.err.String() != "to the side" {
		t.Errorf("err: %q", c.err.String())
	}
}

// unread is a standard input that must not be touched.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("standard input was read, and the command doesn't")
	return 0, io.EOF
}

func TestInputThatNobodyReadsIsLeftAlone(t *testing.T) {
	r := start(t, place(t), func(context.Context, serve.Request, serve.Streams) int { return 0 })
	c := &caller{in: unread{t}}
	if status, err := c.call(r.at.Socket, "", serve.Request{}); status != 0 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

func TestInterrupts(t *testing.T) {
	r := start(t, place(t), func(ctx context.Context, _ serve.Request, s serve.Streams) int {
		<-s.Interrupts
		<-ctx.Done()
		if s.Gone.Err() != nil {
			return 1 // an interrupt isn't the client's end
		}
		return 130
	})
	c := &caller{interrupts: make(chan os.Signal, 1), patience: 2}
	c.accepted = func() { c.interrupts <- os.Interrupt }
	if status, err := c.call(r.at.Socket, "", serve.Request{}); status != 130 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

func TestAClientThatLeaves(t *testing.T) {
	cancelled := make(chan struct{})
	r := start(t, place(t), func(ctx context.Context, _ serve.Request, s serve.Streams) int {
		<-s.Gone.Done()
		<-ctx.Done()
		if n, err := s.In.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("input of a client that is gone: %d, %v", n, err)
		}
		s.Out.Write(bytes.Repeat([]byte("x"), 1<<20)) // into the void, without waiting
		close(cancelled)
		return 0
	})
	c := &caller{interrupts: make(chan os.Signal, 2), patience: 2}
	c.accepted = func() { c.interrupts <- os.Interrupt; c.interrupts <- os.Interrupt }
	if _, err := c.call(r.at.Socket, "", serve.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-cancelled
}

// A client that stops reading doesn't hold the command up.
func TestAClientThatDoesNotRead(t *testing.T) {
	wrote := make(chan struct{})
	r := start(t, place(t), func(_ context.Context, _ serve.Request, s serve.Streams) int {
		s.Out.Write(bytes.Repeat([]byte("x"), 8<<20))
		close(wrote)
		return 0
	})
	block, done := make(chan struct{}), make(chan struct{})
	c := &caller{accepted: func() { <-block }}
	go func() {
		defer close(done)
		if status, err := c.call(r.at.Socket, "", serve.Request{}); status != 0 || err != nil || c.out.Len() != 8<<20 {
			t.Errorf("%d, %v, %d bytes", status, err, c.out.Len())
		}
	}()
	<-wrote
	close(block)
	<-done
}

func TestAServerThatEnds(t *testing.T) {
	for name, print := range map[string]bool{"before anything was printed": false, "after something was printed": true} {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			if err := os.Mkdir(filepath.Dir(at.Socket), 0o700); err != nil {
				t.Fatal(err)
			}
			door, err := net.Listen("unix", at.Socket)
			if err != nil {
				t.Fatal(err)
			}
			defer door.Close()
			go func() { // a server that is killed
				conn, err := door.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				conn.Read(make([]byte, 1<<16))
				conn.Write([]byte("A\x00\x00\x00\x09{\"pid\":1}"))
				if print {
					conn.Write([]byte("O\x00\x00\x00\x02hi"))
				}
			}()
			c := &caller{}
			_, err = c.call(at.Socket, "", serve.Request{})
			var lost *serve.LostError
			if !errors.As(err, &lost) || lost.Begun != print {
				t.Errorf("got %v, begun %t, want begun %t", err, lost != nil && lost.Begun, print)
			}
		})
	}
}

func TestAServerThatIsStopped(t *testing.T) {
	r := start(t, place(t), func(ctx context.Context, _ serve.Request, _ serve.Streams) int {
		<-ctx.Done()
		return 130
	})
	c, taken := &caller{}, make(chan struct{})
	c.accepted = func() { close(taken) }
	got := make(chan error, 1)
	go func() {
		status, err := c.call(r.at.Socket, "", serve.Request{})
		if status != 130 {
			err = errors.Join(err, fmt.Errorf("status %d", status))
		}
		got <- err
	}()
	<-taken
	client, err := serve.Dial(t.Context(), r.at.Socket, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if pid, err := client.Stop(); err != nil || pid != os.Getpid() {
		t.Errorf("stop: %d, %v", pid, err)
	}
	if err := <-got; err != nil {
		t.Errorf("the client that was being served: %v", err)
	}
	if _, err := serve.Dial(t.Context(), r.at.Socket, ""); !errors.Is(err, serve.ErrNone) {
		t.Errorf("after stop: %v", err)
	}
}

func TestWhoIsDeclined(t *testing.T) {
	r := start(t, place(t), func(context.Context, serve.Request, serve.Streams) int {
		t.Error("it ran")
		return 0
	})
	other := build()
	other.Executable = "another"
	for why, request := range map[string]serve.Request{
		"another build":   {Build: other},
		"it is unwelcome": {Args: []string{"unwelcome"}},
	} {
		var declined *serve.DeclinedError
		if _, err := (&caller{}).call(r.at.Socket, "", request); !errors.As(err, &declined) || !strings.Contains(declined.Reason, why) {
			t.Errorf("%s: got %v", why, err)
		}
	}
	client, err := serve.Dial(t.Context(), r.at.Socket, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	raw, err := client.Status()
	var n serve.Counts
	if err := errors.Join(err, json.Unmarshal(raw, &n)); err != nil || n.Declined != 2 || n.Served != 0 {
		t.Errorf("%s, %v", raw, err)
	}
}

// Whoever speaks another language is left without an answer.
func TestNoise(t *testing.T) {
	r := start(t, place(t), func(context.Context, serve.Request, serve.Streams) int {
		t.Error("it ran")
		return 0
	})
	for _, noise := range []string{"GET / HTTP/1.1\r\n\r\n", "R\x00\x00\x00\x02[]", "O\x00\x00\x00\x02{}", "R\xff\xff\xff\xff"} {
		conn, err := net.Dial("unix", r.at.Socket)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(noise))
		if answer, _ := io.ReadAll(conn); len(answer) != 0 { // the connection is closed, or reset
			t.Errorf("%q was answered: %q", noise, answer)
		}
		conn.Close()
	}
}

func TestTheSocketIsPrivate(t *testing.T) {
	r := start(t, place(t), nil)
	for path, want := range map[string]os.FileMode{r.at.Socket: 0o600, filepath.Dir(r.at.Socket): 0o700, r.at.Socket + ".lock": 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	at := place(t)
	dir := filepath.Dir(at.Socket)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Listen(at); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a folder that anyone writes to: %v", err)
	}
	at.Socket = filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if _, err := serve.Listen(at); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a path that is too long: %v", err)
	}
	at.Socket = filepath.Join(filepath.Dir(r.at.Socket), "file")
	if err := os.WriteFile(at.Socket, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Listen(at); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a file in the socket's place: %v", err)
	}
	if raw, err := os.ReadFile(at.Socket); string(raw) != "mine" {
		t.Errorf("the file was touched: %q, %v", raw, err)
	}
}

func TestOneServer(t *testing.T) {
	r := start(t, place(t), nil)
	if _, err := serve.Listen(r.at); !fault.Is(err, fault.CodeServerAlreadyRunning) {
		t.Errorf("a second server: %v", err)
	}
	if client, err := serve.Dial(t.Context(), r.at.Socket, ""); err != nil {
		t.Errorf("the first is gone: %v", err)
	} else {
		client.Close()
	}
}

// What a killed server left behind keeps nobody out.
func TestAStaleSocketIsReplaced(t *testing.T) {
	at := place(t)
	if err := os.Mkdir(filepath.Dir(at.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("unix", at.Socket)
	if err != nil {
		t.Fatal(err)
	}
	door.(*net.UnixListener).SetUnlinkOnClose(false)
	door.Close()
	if _, err := serve.Dial(t.Context(), at.Socket, ""); !errors.Is(err, serve.ErrNone) {
		t.Fatalf("at a stale socket: %v", err)
	}
	r := start(t, at, func(context.Context, serve.Request, serve.Streams) int { return 3 })
	if status, err := (&caller{}).call(r.at.Socket, "", serve.Request{}); status != 3 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	// A socket that somebody answers at is left alone, whoever holds the lock.
	other := place(t)
	if err := os.Mkdir(filepath.Dir(other.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	lives, err := net.Listen("unix", other.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	if _, err := serve.Listen(other); !fault.Is(err, fault.CodeServerAlreadyRunning) {
		t.Errorf("a socket that is in use: %v", err)
	}
}

func TestThePortNeedsTheToken(t *testing.T) {
	at := place(t)
	at.Port = -1
	ran := 0
	r := start(t, at, func(context.Context, serve.Request, serve.Streams) int { ran++; return 5 })
	address := fmt.Sprintf("127.0.0.1:%d", r.doors.Port())
	if status, err := (&caller{}).call(address, at.TokenFile, serve.Request{}); status != 5 || err != nil {
		t.Errorf("with the token: %d, %v", status, err)
	}
	info, err := os.Stat(at.TokenFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
	if _, err := serve.Dial(t.Context(), address, at.TokenFile+".none"); !errors.Is(err, serve.ErrNone) {
		t.Errorf("without a token: %v", err)
	}
	wrong := at.TokenFile + ".wrong"
	if err := os.WriteFile(wrong, []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Dial(t.Context(), address, wrong); err == nil || errors.Is(err, serve.ErrNone) {
		t.Errorf("a server that doesn't know the client's token was trusted: %v", err)
	}
	// One who has learned the greeting, and not the token.
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	greeting := `{"value":"` + strings.Repeat("0", 64) + `"}`
	request := `{"protocol":"edge.serve/v1","op":"stop","token":"` + strings.Repeat("0", 64) + `"}`
	for _, frame := range []struct {
		kind byte
		body string
	}{{'H', greeting}, {'R', request}} {
		conn.Write(append([]byte{frame.kind, 0, 0, 0, byte(len(frame.body))}, frame.body...))
	}
	answer, _ := io.ReadAll(conn)
	if !bytes.HasPrefix(answer, []byte{'H'}) || bytes.ContainsRune(answer[1:], 'A') {
		t.Errorf("answered %q", answer)
	}
	if ran != 1 {
		t.Errorf("%d commands ran", ran)
	}
}
