// Package ollama is the adapter to a model of an Ollama server, by github.com/ollama/ollama/api.
//
// Ollama keeps its computed state to itself, so a prefix is replayed as text, and its own cache decides what that costs:
// prompt_eval_count counts the whole prompt also on a hit, so no cached tokens are reported, only its durations. Its models
// are known by the digest of their content.
//
// The invariant it owns: a reply comes from the model that was opened, and its prompt was never cut short in silence. What
// it refuses: a server that is too old to promise that, and models that aren't on the server's machine unless the network
// is allowed.
package ollama

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"edge/inference"
	"edge/inference/served"
	"edge/internal/fault"
)

// minimum is the oldest version that edge works with: older ones cut long prompts whatever they are asked.
const minimum = "0.13.0"

// Config says where the server is and how to use it.
type Config struct {
	Host         string // as OLLAMA_HOST; "" is the server's default
	AllowNetwork bool
	KeepAlive    string // as OLLAMA_KEEP_ALIVE; "" is 30 minutes: the cached prefix lives as long as the model is loaded
	Embedder     string // a model of the server that makes the head's vectors; "": edge makes them
}

// Engine is a connection to one server.
type Engine struct {
	base      *url.URL
	http      *http.Client
	client    *api.Client
	version   string
	network   bool
	keepAlive *api.Duration
	embedder  string
}

var _ inference.Engine = (*Engine)(nil)

// Connect asks the server for its version. Errors: network_not_allowed, model_server_unreachable, model_server_too_old,
// invalid_arguments.
func Connect(ctx context.Context, c Config) (*Engine, error) {
	base, err := served.Endpoint(host(c.Host), c.AllowNetwork)
	if err != nil {
		return nil, err
	}
	e := &Engine{base: base, http: served.Client(base), network: c.AllowNetwork, embedder: c.Embedder, keepAlive: &api.Duration{Duration: 30 * time.Minute}}
	if c.KeepAlive != "" {
		if e.keepAlive.Duration, err = duration(c.KeepAlive); err != nil {
			return nil, fault.New(fault.CodeInvalidArguments, "OLLAMA_KEEP_ALIVE is %q, want a duration such as 30m, or seconds", c.KeepAlive)
		}
	}
	e.client = api.NewClient(base, e.http)
	if e.version, err = e.client.Version(ctx); err != nil {
		return nil, e.trouble(ctx, err, false)
	}
	if older(e.version, minimum) {
		return nil, fault.New(fault.CodeModelServerOld, "the Ollama at %s is of version %q, and edge needs %s", base.Host, e.version, minimum)
	}
	return e, nil
}

// host reads OLLAMA_HOST as Ollama's own client does: a host, a port or both; an address to listen at means this machine.
func host(text string) string {
	const port = "11434"
	text = strings.TrimSpace(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "http", text
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, number, err := net.SplitHostPort(rest)
	if err != nil {
		name, number = strings.Trim(rest, "[]"), port
		if ok && scheme == "https" {
			number = "443"
		} else if ok {
			number = "80"
		}
	}
	if number == "" {
		number = port
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return strings.TrimSuffix(scheme+"://"+net.JoinHostPort(name, number)+"/"+path, "/")
}

func duration(text string) (time.Duration, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return time.ParseDuration(text)
}

// older compares versions; one that isn't made of numbers, as that of a build of one's own, is taken as new.
func older(version, than string) bool {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	if version == "0.0.0" {
		return false
	}
	have, want := strings.Split(version, "."), strings.Split(than, ".")
	for i := range want {
		if i >= len(have) {
			return true
		}
		h, err := strconv.Atoi(have[i])
		if err != nil {
			return false
		}
		if w, _ := strconv.Atoi(want[i]); h != w {
			return h < w
		}
	}
	return false
}

// Info implements inference.Engine.
func (e *Engine) Info() inference.EngineInfo {
	return inference.EngineInfo{Name: inference.BackendOllama, Version: e.version, Backend: "server"}
}

// Close implements inference.Engine.
func (e *Engine) Close() error {
	e.http.CloseIdleConnections()
	return nil
}

// trouble gives an error its code.
func (e *Engine) trouble(ctx context.Context, err error, began bool) error {
	var status api.StatusError
	var login api.AuthorizationError
	var transport *url.Error
	switch {
	case errors.As(err, &status):
		if strings.Contains(status.ErrorMessage, "context length") {
			return fault.New(fault.CodeContextFull, "%s: %s", e.base.Host, served.Clean(status.ErrorMessage))
		}
		return fault.New(fault.CodeModelServerError, "%s: %s", e.base.Host, served.Clean(status.Error()))
	case errors.As(err, &login):
		return fault.New(fault.CodeModelServerError, "%s: %s: the server wants a login", e.base.Host, login.Status)
	case err != nil && ctx.Err() == nil && !errors.As(err, &transport) && !errors.As(err, new(*fault.Error)) && plain(err):
		if strings.HasPrefix(strings.TrimSpace(err.Error()), "{") { // a line that was cut
			return fault.New(fault.CodeServedStreamCut, "%s: the reply ended within a line", e.base.Host)
		}
		return fault.New(fault.CodeModelServerError, "%s: %s", e.base.Host, served.Clean(err.Error()))
	}
	return served.Trouble(ctx, e.base, err, began)
}

// plain reports whether an error is one that the client made of the server's words: it wraps nothing.
func plain(err error) bool {
	return errors.Unwrap(err) == nil && !errors.As(err, new(net.Error))
}
