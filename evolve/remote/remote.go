// Package remote is a planner behind an address: a client of POST /v1/chat/completions with tools, as OpenAI defined it
// and as llama.cpp, Ollama, vLLM and most others offer it.
//
// The invariant: without the user's word only this machine is spoken to. The address that is dialled is looked at, not
// only the one that was written; redirects and proxies aren't followed.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"edge/evolve"
	"edge/internal/fault"
)

const (
	requestTimeout = 10 * time.Minute
	maxReplyBytes  = 8 << 20
	attempts       = 3
)

// Config says where the planner is.
type Config struct {
	URL          string // with or without /v1 and /chat/completions
	Model        string // the name that the server knows it by
	Key          string // "" for none
	AllowNetwork bool
	Sleep        func(ctx context.Context, d time.Duration) error // nil: really
}

// Planner speaks to one server.
type Planner struct {
	cfg      Config
	endpoint string
	client   *http.Client
}

// New checks the address. Errors: invalid_arguments, network_not_allowed.
func New(cfg Config) (*Planner, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.CodeInvalidArguments, "the planner's address %q isn't http(s)://HOST[:PORT][/v1]", cfg.URL)
	}
	if cfg.Model == "" {
		return nil, fault.New(fault.CodeInvalidArguments, "the planner's address names no model").WithHint("write openai:URL#MODEL")
	}
	if !cfg.AllowNetwork && !loopbackName(u.Hostname()) {
		return nil, fault.New(fault.CodeNetworkNotAllowed, "the planner at %s isn't on this machine, and --allow-network wasn't given", u.Host)
	}
	if u.Scheme == "http" && !loopbackName(u.Hostname()) {
		cfg.Key = "" // a key isn't sent in the clear
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/chat/completions")
	if path == "" {
		path = "/v1"
	}
	u.Path = path + "/chat/completions"
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil || cfg.AllowNetwork || isLoopback(conn.RemoteAddr()) {
			return conn, err
		}
		conn.Close()
		return nil, fault.New(fault.CodeNetworkNotAllowed, "%s leads to %s, which isn't this machine", address, conn.RemoteAddr())
	}}
	return &Planner{cfg, u.String(), &http.Client{
		Transport: transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Name is the model's name at the server.
func (p *Planner) Name() string { return p.cfg.Model }

// Next asks for the next turn. A server that is busy or fails is asked three times. Errors: planner_failed,
// network_not_allowed, cancelled.
func (p *Planner) Next(ctx context.Context, conversation []evolve.Message, offers []evolve.Offer) (evolve.Reply, error) {
	body, err := p.request(conversation, offers)
	if err != nil {
		return evolve.Reply{}, err
	}
	for try := 1; ; try++ {
		reply, again, err := p.ask(ctx, body)
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil:
			return reply, ctx.Err()
		case fault.Is(err, fault.CodeNetworkNotAllowed):
			return reply, fault.From(err)
		case !again || try == attempts:
			return reply, fault.New(fault.CodePlannerFailed, "planner %s at %s: %w", p.cfg.Model, p.endpoint, err)
		}
		if err := p.cfg.Sleep(ctx, time.Duration(try)*time.Second); err != nil {
			return evolve.Reply{}, err
		}
	}
}

// ask makes one request; again says that another one may help.
func (p *Planner) ask(ctx context.Context, body []byte) (reply evolve.Reply, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return reply, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.cfg.Key)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return reply, true, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes+1))
	switch {
	case err != nil:
		return reply, true, err
	case len(raw) > maxReplyBytes:
		return reply, false, fmt.Errorf("the reply is larger than %d bytes", maxReplyBytes)
	case resp.StatusCode != http.StatusOK:
		busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
		return reply, busy, fmt.Errorf("the server answered %s: %s", resp.Status, excerpt(p.keyless(raw)))
	}
	reply, err = parse(raw)
	return reply, false, err
}

// keyless is a server's words without the key: some repeat the one that they refuse.
func (p *Planner) keyless(raw []byte) []byte {
	if p.cfg.Key == "" {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte(p.cfg.Key), []byte("…"))
}

func excerpt(raw []byte) string {
	text := strings.ToValidUTF8(string(raw[:min(len(raw), 300)]), "�")
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// The shapes of the interface, as far as they are used.
type (
	message struct {
		Role       string  `json:"role"`
		Content    *string `json:"content"`
		ToolCalls  []call  `json:"tool_calls,omitempty"`
		ToolCallID string  `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name string `json:"name"`
		// Arguments is JSON text; some servers give the object itself.
		Arguments json.RawMessage `json:"arguments"`
	}
	tool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
)

func (p *Planner) request(conversation []evolve.Message, offers []evolve.Offer) ([]byte, error) {
	body := struct {
		Model       string    `json:"model"`
		Messages    []message `json:"messages"`
		Tools       []tool    `json:"tools"`
		ToolChoice  string    `json:"tool_choice"`
		Temperature float64   `json:"temperature"`
		Stream      bool      `json:"stream"`
	}{Model: p.cfg.Model, ToolChoice: "auto"}
	for _, m := range conversation {
		w := message{Role: m.Role, Content: &m.Content, ToolCallID: m.CallID}
		for _, c := range m.Calls {
			text, err := json.Marshal(c.Arguments)
			if err != nil {
				return nil, err
			}
			w.ToolCalls = append(w.ToolCalls, call{c.ID, "function", function{c.Name, text}})
		}
		if len(m.Calls) > 0 && m.Content == "" {
			w.Content = nil
		}
		body.Messages = append(body.Messages, w)
	}
	for _, o := range offers {
		t := tool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = o.Name, o.Description, o.Parameters
		body.Tools = append(body.Tools, t)
	}
	return json.Marshal(body)
}

func parse(raw []byte) (evolve.Reply, error) {
	var body struct {
		Choices []struct {
			Message *message `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return evolve.Reply{}, fmt.Errorf("the reply isn't a chat completion: %w", err)
	}
	if len(body.Choices) == 0 || body.Choices[0].Message == nil {
		return evolve.Reply{}, errors.New("the reply has no choices")
	}
	var reply evolve.Reply
	m := body.Choices[0].Message
	if m.Content != nil {
		reply.Content = *m.Content
	}
	for _, c := range m.ToolCalls {
		arguments := string(c.Function.Arguments)
		var text string
		if json.Unmarshal(c.Function.Arguments, &text) == nil {
			arguments = text
		}
		reply.Calls = append(reply.Calls, evolve.Call{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
	}
	return reply, nil
}
