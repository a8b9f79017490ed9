package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"edge/internal/fault"
)

const userAgent = "edge"

// Progress is told how a transfer goes.
type Progress interface {
	// Start begins a transfer of total bytes; it may come again when one has to begin anew.
	Start(total int64)
	// Add says that n more bytes are there.
	Add(n int64)
	// Done ends it, also after a failure.
	Done()
}

// Config says how a Client works. The zero Config is good for public registries and folders.
type Config struct {
	// DockerConfig is the path of the Docker configuration file that has the logins; a missing file has none. If it
	// names a credential helper, that program is run.
	DockerConfig string
	// Progress makes what is told of one transfer. The default tells nobody.
	Progress func(label string) Progress
	// Notify is told, in a sentence, what the user should know. The default drops it.
	Notify func(message string)
	// Now is the clock by which leftovers of old transfers go. The default is the real one.
	Now func() time.Time
	// Transport makes the requests. The default follows the proxy settings of the environment.
	Transport http.RoundTripper
	// Attempts is how often a request may fail in a row without bringing one more byte; 0 means 5.
	Attempts int
	// Wait is the first pause between attempts, and each is twice as long as the one before; 0 means 250 ms.
	Wait time.Duration
	// Stall is how long the other side may neither send nor take anything; 0 means 60 s.
	Stall time.Duration
}

// Client pushes and pulls. It may be used by several goroutines.
type Client struct {
	cfg Config
}

// New makes a Client.
func New(cfg Config) *Client {
	if cfg.Progress == nil {
		cfg.Progress = func(string) Progress { return silent{} }
	}
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second,
			DisableCompression: true, // digests are of the bytes as they are stored
		}
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = 5
	}
	if cfg.Wait == 0 {
		cfg.Wait = 250 * time.Millisecond
	}
	if cfg.Stall == 0 {
		cfg.Stall = time.Minute
	}
	return &Client{cfg: cfg}
}

type silent struct{}

func (silent) Start(int64) {}
func (silent) Add(int64)   {}
func (silent) Done()       {}

func (c *Client) place(t Target) (place, error) {
	if !t.Remote() {
		return layout{t.folder}, nil
	}
	return c.repository(t)
}

// maxWait is the longest pause between two attempts.
const maxWait = 8 * time.Second

func (c *Client) wait(failures int) time.Duration {
	return min(c.cfg.Wait<<min(max(failures-1, 0), 16), max(maxWait, c.cfg.Wait))
}

func (c *Client) pause(ctx context.Context, failures int) error {
	timer := time.NewTimer(c.wait(failures))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// http makes the client of one transfer: requests that failed on their way or at the server are made again, none goes
// out in the clear, and none waits for ever.
func (c *Client) http() *http.Client {
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate,
		Backoff:   func(attempt int, _ *http.Response) time.Duration { return c.wait(attempt + 1) },
		MaxWait:   maxWait,
		MaxRetry:  c.cfg.Attempts - 1,
	}
	return &http.Client{Transport: &retry.Transport{
		Base:   clearText{&patient{c.cfg.Transport, c.cfg.Stall}},
		Policy: func() retry.Policy { return policy },
	}}
}

// clearText refuses requests that aren't encrypted, wherever a registry, a redirect or a login page leads, but those to
// this machine.
type clearText struct{ base http.RoundTripper }

func (t clearText) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !loopback(req.URL.Host) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("%s would be asked over %s, in the clear", req.URL.Host, req.URL.Scheme)
	}
	return t.base.RoundTrip(req)
}

// stalledError is the end of a request whose other side does nothing.
type stalledError struct{ after time.Duration }

func (e stalledError) Error() string { return fmt.Sprintf("nothing moved for %s", e.after) }

// Timeout and Temporary make it a net.Error, which is worth another attempt.
func (stalledError) Timeout() bool   { return true }
func (stalledError) Temporary() bool { return true }

var _ net.Error = stalledError{}

// patient ends a request when for a while neither the other side takes what is sent, nor sends anything.
type patient struct {
	base  http.RoundTripper
	stall time.Duration
}

func (t *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stalled := stalledError{t.stall}
	timer := time.AfterFunc(t.stall, func() { cancel(stalled) })
	out := req.Clone(ctx)
	var answered atomic.Bool
	if req.Body != nil && req.Body != http.NoBody {
		move := func(limit time.Duration) {
			if !answered.Load() {
				timer.Reset(limit)
			}
		}
		out.Body = &watchedBody{ReadCloser: req.Body, before: func() { move(t.stall) }, after: func(err error) {
			if err != nil { // it was all sent: now the server stores it and checks its digest, which takes its time
				move(10 * t.stall)
			}
		}}
	}
	resp, err := t.base.RoundTrip(out)
	answered.Store(true)
	timer.Stop()
	if err != nil {
		defer cancel(nil)
		if errors.Is(context.Cause(ctx), stalled) {
			return nil, stalled
		}
		return nil, err
	}
	body := &watchedBody{ReadCloser: resp.Body, before: func() { timer.Reset(t.stall) }, after: func(error) { timer.Stop() }}
	body.closed = func() { timer.Stop(); cancel(nil) }
	resp.Body = body
	return resp, nil
}

type watchedBody struct {
	io.ReadCloser
	before func()
	after  func(error)
	closed func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.before()
	n, err := b.ReadCloser.Read(p)
	b.after(err)
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.closed != nil {
		b.closed()
	}
	return err
}

// failed gives an error of a transfer the code that it has: its own, the operating system's, or code. The message names
// the target.
func failed(ctx context.Context, code fault.Code, t Target, err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		if !strings.HasPrefix(known.Message, t.text) {
			known.Message = t.text + ": " + clip(known.Message)
		}
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", t, ctx.Err())
	}
	if e := fault.From(err); e.Code == fault.CodeNoSpace || e.Code == fault.CodePathNotWritable {
		return err
	}
	e := fault.New(code, "%s: %w", t, err)
	e.Message = clip(e.Message)
	var status *errcode.ErrorResponse
	refused := errors.As(err, &status) && (status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden)
	if refused || errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return e.WithHint("log in to %s with a client that keeps logins in Docker's config.json, or ask for the right to use it", t.ref.Registry)
	}
	switch {
	case !t.Remote():
		return e.WithHint("look at the folder; if it is a copy, copy it again")
	case code == fault.CodeDownloadFailed:
		return e.WithHint("check the network and the name of the host, and run the command again: it goes on where it ended")
	}
	return e
}

// brokenOff reports whether a request ended on its way or at the server, so that it may succeed when it is made again.
func brokenOff(err error) bool {
	var status *errcode.ErrorResponse
	if errors.As(err, &status) {
		code := status.StatusCode
		return code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
	}
	var timeout net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.As(err, &timeout) && timeout.Timeout()
}
