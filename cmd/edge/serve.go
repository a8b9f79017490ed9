package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"edge/internal/fault"
	"edge/serve"
)

// serveFlags say where the server is.
type serveFlags struct {
	socket string
	port   int
	idle   time.Duration
}

func (f *serveFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.socket, "socket", "", "path of the Unix socket (default: EDGE_HOME/serve.sock)")
}

// path is the socket's, absolute.
func (f *serveFlags) path(a *app) (string, error) {
	if f.socket == "" {
		return a.serveSocket(), nil
	}
	return filepath.Abs(f.socket)
}

func (a *app) serveSocket() string { return filepath.Join(a.home.Path(), "serve.sock") }
func (a *app) serveToken() string  { return filepath.Join(a.home.Path(), "serve.token") }

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "serve", Short: "Keep model and imprints loaded, for edge demo chat to use", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("port") && (f.port < 0 || f.port > 65535) {
				return fault.New(fault.CodeInvalidArguments, "--port %d is out of range", f.port)
			}
			if c.Flags().Changed("port") && f.port == 0 {
				f.port = -1
			}
			return a.serve(c.Context(), f)
		},
	}
	f.register(c)
	c.Flags().IntVar(&f.port, "port", 0, "also listen on this port of 127.0.0.1, for who has EDGE_HOME/serve.token; 0 is any that is free")
	c.Flags().DurationVar(&f.idle, "idle", 10*time.Minute, "unload the model when nobody has used it for so long")
	c.AddCommand(a.serveStatusCommand(), a.serveStopCommand())
	return c
}

// serveReport is edge.serve/v1.
type serveReport struct {
	Schema    string                `json:"schema"`
	OK        bool                  `json:"ok"`
	PID       int                   `json:"pid"`
	Socket    string                `json:"socket"`
	Port      int                   `json:"port,omitempty"`
	TokenFile string                `json:"token_file,omitempty"`
	Build     serve.Build           `json:"build"`
	StartedAt string                `json:"started_at"`
	Idle      string                `json:"idle"`
	Models    []serve.ModelStatus   `json:"models"`
	Imprints  []serve.ImprintStatus `json:"imprints"`
	// RunnersReady is how many Python processes stand ready for the next chat.
	RunnersReady int          `json:"runners_ready"`
	Requests     serve.Counts `json:"requests"`
	Queue        serveQueue   `json:"queue"`
	Memory       serveMemory  `json:"memory"`
}

type serveQueue struct {
	Waiting int  `json:"waiting"`
	Busy    bool `json:"busy"`
}

type serveMemory struct {
	RSSBytes int64 `json:"rss_bytes,omitempty"` // where the system tells
}

// serve answers until it is told to stop.
func (a *app) serve(ctx context.Context, f serveFlags) error {
	if f.idle <= 0 {
		return fault.New(fault.CodeInvalidArguments, "--idle %s is out of range", f.idle)
	}
	socket, err := f.path(a)
	if err != nil {
		return err
	}
	build, err := buildOf()
	if err != nil {
		return err
	}
	doors, err := serve.Listen(serve.Places{Socket: socket, Port: f.port, TokenFile: a.serveToken()})
	if err != nil {
		return stateError(err)
	}
	host := &host{pool: serve.NewPool(time.Now), queue: &serve.Queue{}, memory: a.home.Processor()}
	report := serveReport{
		Schema: "edge.serve/v1", OK: true, PID: os.Getpid(), Socket: socket, Port: doors.Port(),
		Build: build, StartedAt: time.Now().UTC().Format(time.RFC3339), Idle: f.idle.String(),
	}
	if report.Port != 0 {
		report.TokenFile = a.serveToken()
	}
	server := serve.NewServer(serve.Config{
		Build: build, Run: host.run, Decline: host.decline, Close: host.close,
		Status: func(n serve.Counts) any { return host.report(report, n) },
	}, doors)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go host.unloadIdle(ctx, f.idle)
	if err := a.print(host.report(report, serve.Counts{}), func() { a.sayServing(report) }); err != nil {
		return errors.Join(err, doors.Close())
	}
	return server.Serve(ctx)
}

func (a *app) sayServing(r serveReport) {
	a.notify(fmt.Sprintf("edge serve (pid %d) listens at %s", r.PID, r.Socket))
	if r.Port != 0 {
		a.notify(fmt.Sprintf("and at 127.0.0.1:%d, with the token in %s", r.Port, r.TokenFile))
	}
	a.notify("end it with Ctrl-C or: edge serve stop")
}

func (a *app) serveStatusCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "status", Short: "Say what the server holds and does", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.dialServer(c.Context(), f)
			if err != nil {
				return err
			}
			defer client.Close()
			raw, err := client.Status()
			if err != nil {
				return fault.New(fault.CodeServerLost, "ask the server: %w", err)
			}
			var r serveReport
			if err := json.Unmarshal(raw, &r); err != nil {
				return fault.New(fault.CodeServerLost, "ask the server: %w", err)
			}
			return a.print(raw, func() { a.sayServer(r) })
		},
	}
	f.register(c)
	return c
}

func (a *app) sayServer(r serveReport) {
	a.say("pid       %d, since %s", r.PID, r.StartedAt)
	a.say("socket    %s", r.Socket)
	if r.Port != 0 {
		a.say("port      127.0.0.1:%d", r.Port)
	}
	for _, m := range r.Models {
		a.say("model     %s, %d chats, %d sessions ready", m.Name, m.Users, m.SessionsReady)
	}
	for _, i := range r.Imprints {
		a.say("imprint   %s, %d tokens, %d bytes", i.ID, i.Tokens, i.Bytes)
	}
	a.say("requests  %d served, %d declined, %d running, %d waiting", r.Requests.Served, r.Requests.Declined, r.Requests.Running, r.Queue.Waiting)
	if r.Memory.RSSBytes > 0 {
		a.say("memory    %.0f MB", float64(r.Memory.RSSBytes)/1e6)
	}
}

func (a *app) serveStopCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "stop", Short: "End the server; what it is working on is cancelled", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.dialServer(c.Context(), f)
			if err != nil {
				return err
			}
			defer client.Close()
			pid, err := client.Stop()
			if err != nil {
				return fault.New(fault.CodeServerLost, "ask the server to stop: %w", err)
			}
			return a.print(map[string]any{"schema": "edge.serve_stop/v1", "ok": true, "pid": pid}, func() { a.notify(fmt.Sprintf("edge serve (pid %d) has ended", pid)) })
		},
	}
	f.register(c)
	return c
}

// dialServer connects to the server that must be there.
func (a *app) dialServer(ctx context.Context, f serveFlags) (*serve.Client, error) {
	address, err := f.path(a)
	if err != nil {
		return nil, err
	}
	if f.socket == "" {
		if named, ok := a.serveAddress(); ok {
			address = named
		}
	}
	client, err := serve.Dial(ctx, address, a.serveToken())
	if err != nil {
		return nil, fault.New(fault.CodeServerNotRunning, "no server at %s: %w", address, err)
	}
	return client, nil
}

// buildOf is what tells this program from another: its versions, and its file's size and time.
func buildOf() (serve.Build, error) {
	self, err := os.Executable()
	if err != nil {
		return serve.Build{}, err
	}
	info, err := os.Stat(self)
	if err != nil {
		return serve.Build{}, err
	}
	v := versions()
	return serve.Build{Version: v.Edge, Engine: v.EngineVersion, Executable: strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().UTC().Format(time.RFC3339Nano)}, nil
}

// unloadIdle lets go of what nobody has used for so long, and gives the memory back.
func (h *host) unloadIdle(ctx context.Context, idle time.Duration) {
	tick := time.NewTicker(max(idle/10, 50*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			h.spares.evict(now.Add(-idle))
			if h.pool.EvictIdle(now.Add(-idle)) {
				debug.FreeOSMemory()
			}
		}
	}
}
