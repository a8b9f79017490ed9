package chat_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/chat"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/served"
	"edge/internal/fault"
	"edge/learn"
)

// remote is a model server: it answers with the number of messages that it was sent, and says what cached is.
type remote struct {
	cached *int
	fail   error
	sent   [][]served.Message
}

func (s *remote) Chat(_ context.Context, r served.Request, hear func(string) error) (bool, inference.Exchange, error) {
	if s.fail != nil {
		return false, inference.Exchange{}, s.fail
	}
	s.sent = append(s.sent, r.Messages)
	for _, piece := range []string{"There ", "you ", "are."} {
		if err := hear(piece); err != nil {
			return false, inference.Exchange{}, err
		}
	}
	return true, inference.Exchange{PromptTokens: 30, GeneratedTokens: 3, CachedTokens: s.cached}, nil
}

func servedChat(t *testing.T, s *remote, stop func() bool) *chat.Chat {
	t.Helper()
	m := served.NewModel(served.Config{Backend: inference.BackendOllama, Server: s})
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	c, err := chat.Open(t.Context(), chat.Config{World: learn.World{Model: m, Renderer: r, Params: served.Params()}, Clock: time.Now, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServedUsage(t *testing.T) {
	held := 21
	for _, cached := range []*int{nil, &held} {
		s := &remote{cached: cached}
		c := servedChat(t, s, nil)
		turn, err := c.Ask(t.Context(), "Where?")
		if err != nil {
			t.Fatal(err)
		}
		u := turn.Usage
		if turn.Answer != "There you are." || turn.Server == nil || turn.Server.Backend != inference.BackendOllama || turn.Server.Requests != 1 {
			t.Errorf("%+v", turn)
		}
		if (u.CachedTokens == nil) != (cached == nil) || u.PromptTokens != 30 || u.Cached()+u.PrefilledTokens != 30 || u.GeneratedTokens != 3 {
			t.Errorf("cached %v: %+v", cached, u)
		}
		if _, err := c.Ask(t.Context(), "And now?"); err != nil {
			t.Fatal(err)
		}
		want := []string{"system", "user", "assistant", "user"}
		var roles []string
		for _, m := range s.sent[1] {
			roles = append(roles, m.Role)
		}
		if !slices.Equal(roles, want) || s.sent[1][2].Content != "There you are." {
			t.Errorf("the second request: %q", s.sent[1])
		}
	}
}

func TestServedFailureLeavesTheConversation(t *testing.T) {
	s := &remote{}
	c := servedChat(t, s, nil)
	if _, err := c.Ask(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	s.fail = fault.New(fault.CodeServedStreamCut, "cut")
	if _, err := c.Ask(t.Context(), "second"); !fault.Is(err, fault.CodeServedStreamCut) {
		t.Fatalf("got %v", err)
	}
	s.fail = nil
	if _, err := c.Ask(t.Context(), "third"); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range s.sent[len(s.sent)-1] {
		said = append(said, m.Content)
	}
	if text := strings.Join(said, "|"); !strings.HasSuffix(text, "first|There you are.|third") {
		t.Errorf("the third request: %s", text)
	}
}

func TestServedReplyIsStopped(t *testing.T) {
	heard := 0
	c := servedChat(t, &remote{}, func() bool { heard++; return heard > 2 })
	turn, err := c.Ask(t.Context(), "Where?")
	if err != nil {
		t.Fatal(err)
	}
	if turn.FinishReason != chat.FinishStopped || turn.Answer != "There you" || turn.Server.Unfinished != 1 {
		t.Errorf("%+v, server %+v", turn, turn.Server)
	}
}
