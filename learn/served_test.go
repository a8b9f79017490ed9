package learn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/served"
	"edge/learn"
)

// scripted is a server with two replies: one to requests that nothing holds, and one to those under a schema.
type scripted struct {
	free, held string
	asked      []served.Request
}

func (s *scripted) Chat(_ context.Context, r served.Request, hear func(string) error) (bool, inference.Exchange, error) {
	s.asked = append(s.asked, r)
	text := s.free
	if r.Schema != nil || r.Grammar != "" {
		text = s.held
	}
	for _, piece := range strings.SplitAfter(text, " ") {
		if err := hear(piece); err != nil {
			return false, inference.Exchange{PromptTokens: 5, GeneratedTokens: 1}, err
		}
	}
	return true, inference.Exchange{PromptTokens: 10, GeneratedTokens: 2}, nil
}

// servedWorld is a world whose model a server runs.
func servedWorld(t *testing.T, backend string, server served.Server) learn.World {
	t.Helper()
	m := served.NewModel(served.Config{Backend: backend, Server: server})
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	return learn.World{Model: m, Renderer: r, Params: served.Params()}
}

// conversation gives a session that waits for a reply.
func conversation(t *testing.T, w learn.World) inference.Session {
	t.Helper()
	tokens, err := w.Renderer.Tokens([]chattemplate.Message{{Role: "system", Content: "S"}, {Role: "user", Content: "What is the fee for 250?"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	p := w.Params
	p.ContextTokens = 4096
	s, err := w.Model.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Decode(t.Context(), inference.Batch{Tokens: tokens}); err != nil {
		t.Fatal(err)
	}
	return s
}

// held is the text of what a session holds.
func held(t *testing.T, w learn.World, s inference.Session) string {
	t.Helper()
	state, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(state.Bytes())
}

func TestServedReplies(t *testing.T) {
	set := shop(t)
	call := `{"tool_name":"` + set.Names()[0] + `","arguments":{}}`
	for _, c := range []struct {
		name       string
		backend    string
		plan       func(*learn.Replier) learn.Plan
		free, held string
		want       string
		requests   int
		grammar    bool
		schema     bool
	}{
		{"any, and the model answers", inference.BackendOllama, (*learn.Replier).Any, "Good morning to you.", "", "Good morning to you.", 1, false, false},
		{"any, and the model begins a call", inference.BackendOllama, (*learn.Replier).Any, `{"tool _nam`, call, call, 2, false, true},
		{"any, by a grammar", inference.BackendLlamaServer, (*learn.Replier).Any, "", "Good morning.", "Good morning.", 1, true, false},
		{"an answer", inference.BackendOllama, (*learn.Replier).Answer, "Good morning.", "", "Good morning.", 1, false, false},
		{"an answer that begins like a call", inference.BackendOllama, (*learn.Replier).Answer, `{"tool _name":`, `{"answer":"It is {five}."}`, "It is {five}.", 2, false, true},
		{"an answer, by a grammar", inference.BackendLlamaServer, (*learn.Replier).Answer, "", "Good morning.", "Good morning.", 1, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &scripted{free: c.free, held: c.held}
			w := servedWorld(t, c.backend, server)
			s := conversation(t, w)
			r := learn.NewReplier(w, set, nil)
			var heard strings.Builder
			out, err := r.Write(t.Context(), s, c.plan(r), learn.Drawing{MaxTokens: 9, OnText: func(text string) { heard.WriteString(text) }})
			if err != nil {
				t.Fatal(err)
			}
			if out.Text != c.want || heard.String() != c.want || !out.Ended || out.Exchange.Requests != c.requests || len(server.asked) != c.requests {
				t.Errorf("got %+v (heard %q), of %d requests", out, heard.String(), len(server.asked))
			}
			last := server.asked[len(server.asked)-1]
			if (last.Grammar != "") != c.grammar || (last.Schema != nil) != c.schema {
				t.Errorf("the last request: grammar %q, schema %s", last.Grammar, last.Schema)
			}
			if text := held(t, w, s); !strings.HasSuffix(text, c.want) || strings.Count(text, "tool _nam") != 0 {
				t.Errorf("the session holds %q", text)
			}
		})
	}
}

// TestServedCallThatIsCertain: where every value is known, nothing is asked.
func TestServedCallThatIsCertain(t *testing.T) {
	set := shop(t)
	server := &scripted{}
	w := servedWorld(t, inference.BackendOllama, server)
	s := conversation(t, w)
	learned := &learn.Learned{Examples: shopExamples()}
	r := learn.NewReplier(w, set, learned)
	out, err := r.Write(t.Context(), s, r.Call("calculate_fee", "What is the fee for 250?"), learn.Drawing{MaxTokens: 99})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tool_name":"calculate_fee","arguments":{"amount":250}}`
	if len(server.asked) != 0 || out.Text != want || out.Exchange == nil || out.Exchange.Requests != 0 || !json.Valid([]byte(out.Text)) {
		t.Errorf("got %+v after %d requests", out, len(server.asked))
	}
	if !strings.HasSuffix(held(t, w, s), want) {
		t.Error("the call isn't part of the conversation")
	}
}

// TestKindOfServedImprints: the type of a served cache names the imprint's kind.
func TestKindOfServedImprints(t *testing.T) {
	if served.KVType != imprint.KindReplay {
		t.Errorf("got %s, want %s", served.KVType, imprint.KindReplay)
	}
}
