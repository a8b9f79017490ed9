package scale

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
)

// server holds the prefix from the second request on, and fails from a given one on.
type server struct {
	mu       sync.Mutex
	requests int
	failFrom int // 0: never
	silent   bool
	prefixes map[string]bool
}

func (s *server) Chat(_ context.Context, r served.Request, hear func(string) error) (bool, inference.Exchange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.prefixes[r.Prefix] = true
	if s.failFrom > 0 && s.requests >= s.failFrom {
		return false, inference.Exchange{}, fault.New(fault.CodeServedStreamCut, "cut")
	}
	x := inference.Exchange{PromptTokens: 100, GeneratedTokens: 1}
	if !s.silent {
		cached, ms := min(90, 90*(s.requests-1)), 5.0
		x.CachedTokens, x.PromptMS = &cached, &ms
	}
	return true, x, hear("word")
}

// load learns a profile, puts its imprint through the gate, and gives a load behind it.
func load(t *testing.T, s *server) Load {
	t.Helper()
	s.prefixes = map[string]bool{}
	m := served.NewModel(served.Config{Backend: inference.BackendLlamaServer, Architecture: "x", Server: s})
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.SHA256Of([]byte("model"))
	w := learn.World{
		Engine: inference.EngineInfo{Name: "server", Version: "1", Backend: "server"}, Model: m, Renderer: r, Params: served.Params(),
		File: learn.ModelFile{Name: "m", SHA256: sum, TokenizerSHA256: sum, TemplateSHA256: sum},
	}
	profile := learn.Profile{System: "You are brief."}
	out, err := learn.Run(t.Context(), learn.Request{World: w, Sample: &learn.Sample{Profile: profile}, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.imprint")
	if _, err := imprint.Write(t.Context(), path, out.Content); err != nil {
		t.Fatal(err)
	}
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	v, err := u.Verify(t.Context(), out.Content.Identity)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := learn.Contract(nil, profile, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Load{World: w, Imprint: v, Messages: messages, Prompts: []string{"Hi", "And you?"}, Clients: 3, Requests: 10, Tokens: 4, Clock: time.Now}
}

func TestLoad(t *testing.T) {
	s := &server{}
	l := load(t, s)
	r, err := Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if s.requests != 11 || r.PromptTokens != 1000 || *r.CachedTokens != 900 || *r.HitRate != 0.9 || *r.PromptMS != (Spread{5, 5, 5}) || r.PerSecond <= 0 {
		t.Errorf("%d requests: %+v", s.requests, r)
	}
	prefix := l.Imprint.Header().Identity.PrefixSHA256.String()
	if len(s.prefixes) != 1 || !s.prefixes[prefix] {
		t.Errorf("a router would have got %v, and the imprint's is %s", s.prefixes, prefix)
	}
}

func TestLoadOfASilentServer(t *testing.T) {
	r, err := Run(t.Context(), load(t, &server{silent: true}))
	if err != nil {
		t.Fatal(err)
	}
	if r.CachedTokens != nil || r.HitRate != nil || r.PromptMS != nil {
		t.Errorf("what a server doesn't say isn't known: %+v", r)
	}
}

func TestLoadEndsWithTheFirstFailure(t *testing.T) {
	for _, from := range []int{1, 5} {
		s := &server{failFrom: from}
		if _, err := Run(t.Context(), load(t, s)); !fault.Is(err, fault.CodeServedStreamCut) || !strings.Contains(err.Error(), "cut") {
			t.Errorf("from request %d on: %v", from, err)
		}
		if s.requests > from+3 {
			t.Errorf("%d requests after the failure", s.requests-from)
		}
	}
}
