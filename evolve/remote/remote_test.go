package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"edge/evolve"
	"edge/evolve/remote"
	"edge/internal/fault"
)

func ask(t *testing.T, cfg remote.Config, conversation ...evolve.Message) (evolve.Reply, error) {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	if cfg.Sleep == nil {
		cfg.Sleep = func(context.Context, time.Duration) error { return nil }
	}
	p, err := remote.New(cfg)
	if err != nil {
		return evolve.Reply{}, err
	}
	return p.Next(t.Context(), conversation, []evolve.Offer{{Name: "n", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}})
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func TestRequest(t *testing.T) {
	var body, path, key string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, path, key = string(raw), r.URL.Path, r.Header.Get("Authorization")
		io.WriteString(w, `{"choices":[{"message":{"content":"hi","tool_calls":[
			{"id":"a","type":"function","function":{"name":"n","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"n","arguments":{"x":2}}},{"function":{"name":"n"}}]}}]}`)
	})
	conversation := []evolve.Message{
		{Role: evolve.RoleSystem, Content: "s"}, {Role: evolve.RoleUser, Content: "<|im_end|>\u0000"},
		{Role: evolve.RoleAssistant, Calls: []evolve.Call{{ID: "c", Name: "n", Arguments: "{broken"}}}, {Role: evolve.RoleTool, Content: "r", CallID: "c", Tool: "n"},
	}
	reply, err := ask(t, remote.Config{URL: url, Key: "k"}, conversation...)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Content != "hi" || len(reply.Calls) != 3 || reply.Calls[0].Arguments != `{"x":1}` || reply.Calls[1].Arguments != `{"x":2}` || reply.Calls[2].Arguments != "" {
		t.Errorf("got %+v", reply)
	}
	want := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"\u003c|im_end|\u003e\u0000"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{broken"}}]},{"role":"tool","content":"r","tool_call_id":"c"}],` +
		`"tools":[{"type":"function","function":{"name":"n","description":"d","parameters":{"type":"object"}}}],"tool_choice":"auto","temperature":0,"stream":false}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	if path != "/v1/chat/completions" || key != "Bearer k" {
		t.Errorf("got %s with %q", path, key)
	}
	for _, suffix := range []string{"/v1", "/v1/", "/v1/chat/completions"} {
		if _, err := ask(t, remote.Config{URL: url + suffix}); err != nil || path != "/v1/chat/completions" {
			t.Errorf("%s: got %s, %v", suffix, path, err)
		}
	}
}

func TestTriesAgain(t *testing.T) {
	asked := 0
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			http.Error(w, "busy", []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[asked-1])
			return
		}
		io.WriteString(w, `{"choices":[{"message":{"content":"at last"}}]}`)
	})
	if reply, err := ask(t, remote.Config{URL: url}); err != nil || reply.Content != "at last" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		asked  int
	}{
		"a wrong key":         {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x1b[31m", http.StatusUnauthorized) }, 1},
		"always busy":         {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusBadGateway) }, 3},
		"no JSON":             {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, 1},
		"an empty choice":     {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"choices":[null]}`) }, 1},
		"no choices":          {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"choices":[]}`) }, 1},
		"a reply without end": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", 9<<20)) }, 1},
		"a redirect elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		}, 1},
	} {
		asked := 0
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { asked++; c.handle(w, r) })
		if _, err := ask(t, remote.Config{URL: url}); !fault.Is(err, fault.CodePlannerFailed) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: got %v", name, err)
		}
		if asked != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.asked)
		}
	}
}

func TestTheKeyIsNotRepeated(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, strings.Repeat(" ", 280)+r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	_, err := ask(t, remote.Config{URL: url, Key: "secret-of-the-user"})
	if !fault.Is(err, fault.CodePlannerFailed) || !strings.Contains(err.Error(), "Bearer") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyThisMachine(t *testing.T) {
	for _, url := range []string{"http://192.0.2.1:8080", "https://example.org/v1", "http://[2001:db8::1]/", "http://localhost.example.org", "http://127.0.0.1.example.org"} {
		if _, err := remote.New(remote.Config{URL: url, Model: "m"}); !fault.Is(err, fault.CodeNetworkNotAllowed) {
			t.Errorf("%s: got %v", url, err)
		}
		if _, err := remote.New(remote.Config{URL: url, Model: "m", AllowNetwork: true}); err != nil {
			t.Errorf("%s, allowed: got %v", url, err)
		}
	}
	for _, url := range []string{"", "x", "ftp://127.0.0.1", "http://", "http://user:word@127.0.0.1", "http://127.0.0.1/?x=1", "127.0.0.1:8080"} {
		if _, err := remote.New(remote.Config{URL: url, Model: "m", AllowNetwork: true}); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("%q: got %v", url, err)
		}
	}
	if _, err := remote.New(remote.Config{URL: "http://127.0.0.1"}); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("no model: got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { cancel(); http.Error(w, "busy", http.StatusBadGateway) })
	p, err := remote.New(remote.Config{URL: url, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
