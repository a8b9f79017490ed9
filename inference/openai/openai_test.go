package openai_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/enginetest"
	"edge/inference/openai"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

const key = "sk-secret-0123456789"

// fake answers as llama-server, vLLM or any other server does; each test changes what it needs.
type fake struct {
	mu      sync.Mutex
	owner   string
	meta    map[string]any
	slots   string // the folder that slots are saved in; "": none
	held    int    // tokens that the slot holds
	cached  any    // usage.prompt_tokens_details.cached_tokens; nil: not said
	timings bool
	events  []string // in place of the usual reply
	status  int
	body    string
	wantKey bool
	asked   []map[string]any
	prefix  string // of the last request
}

func llamaServer() *fake {
	return &fake{owner: "llamacpp", meta: map[string]any{"n_params": 134515008}, timings: true, cached: 900}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	say := func(v any) { json.NewEncoder(w).Encode(v) }
	if got := r.Header.Get("Authorization"); f.wantKey && got != "Bearer "+key {
		w.WriteHeader(http.StatusUnauthorized)
		say(map[string]any{"error": map[string]string{"message": "Incorrect API key provided: " + strings.TrimPrefix(got, "Bearer ")}})
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		say(map[string]any{"data": []any{map[string]any{"id": "smol", "owned_by": f.owner, "meta": f.meta, "created": 1}}})
	case "/props":
		say(map[string]any{"model_path": "/models/smol.gguf", "chat_template": "{{ messages }}", "build_info": "b9-abc", "total_slots": 1})
	case "/version":
		say(map[string]string{"version": "0.19.1"})
	case "/v1/chat/completions":
		f.chat(w, r)
	case "/slots/0":
		f.slot(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) slot(w http.ResponseWriter, r *http.Request) {
	var in struct{ Filename string }
	json.NewDecoder(r.Body).Decode(&in)
	if f.slots == "" {
		w.WriteHeader(http.StatusNotImplemented)
		fmt.Fprint(w, `{"error":{"message":"This server does not support slots action."}}`)
		return
	}
	path := filepath.Join(f.slots, in.Filename)
	switch r.URL.Query().Get("action") {
	case "save":
		os.WriteFile(path, []byte("what the server computed"), 0o600)
		fmt.Fprint(w, `{"n_saved":910}`)
	case "restore":
		f.held = 910
		fmt.Fprint(w, `{"n_restored":910}`)
	}
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	json.NewDecoder(r.Body).Decode(&in)
	f.asked, f.prefix = append(f.asked, in), r.Header.Get(openai.PrefixHeader)
	if f.status != 0 {
		w.WriteHeader(f.status)
		fmt.Fprint(w, f.body)
		return
	}
	if in["stream"] != true {
		fmt.Fprint(w, `{"choices":[]}`)
		return
	}
	for _, event := range f.reply(in) {
		fmt.Fprintf(w, "data: %s\n\n", event)
		w.(http.Flusher).Flush()
	}
}

func (f *fake) reply(in map[string]any) []string {
	if f.events != nil {
		return f.events
	}
	text := "It is five degrees."
	if in["response_format"] != nil || in["grammar"] != nil {
		text = `{"unit":"kelvin"}`
	}
	var events []string
	for _, piece := range strings.SplitAfter(text, " ") {
		quoted, _ := json.Marshal(piece)
		events = append(events, fmt.Sprintf(`{"choices":[{"delta":{"content":%s},"finish_reason":null}]}`, quoted))
	}
	events = append(events, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`)
	usage := map[string]any{"prompt_tokens": 978, "completion_tokens": 4}
	if f.cached != nil {
		usage["prompt_tokens_details"] = map[string]any{"cached_tokens": f.cached}
	}
	last := map[string]any{"choices": []any{}, "usage": usage}
	if f.timings {
		last["timings"] = map[string]any{"cache_n": 900, "prompt_n": 78, "prompt_ms": 120.5, "predicted_n": 4, "predicted_ms": 80}
	}
	raw, _ := json.Marshal(last)
	return append(events, string(raw), "[DONE]")
}

func (f *fake) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

func (f *fake) last() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[len(f.asked)-1]
}

func open(t *testing.T, f *fake, c openai.Config) (inference.Model, error) {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	c.Address = s.URL + "/v1"
	e, err := openai.Connect(t.Context(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { e.Close() })
	return e.Open(t.Context(), "smol")
}

func TestConformance(t *testing.T) {
	for name, f := range map[string]*fake{
		"llama-server": llamaServer(), "vllm": {owner: "vllm", cached: 900}, "another": {owner: "organization_owner"},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) enginetest.Subject {
				m, err := open(t, f, openai.Config{})
				if err != nil {
					t.Fatal(err)
				}
				return enginetest.Subject{Model: m, Params: served.Params(), Exact: true}
			})
		})
	}
}

// asking gives a session with a conversation that waits for a reply.
func asking(t *testing.T, m inference.Model) inference.Writer {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := r.Tokens([]chattemplate.Message{{Role: "user", Content: "How warm?"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, m)
	if err := s.Decode(t.Context(), inference.Batch{Tokens: tokens}); err != nil {
		t.Fatal(err)
	}
	return s
}

func session(t *testing.T, m inference.Model) inference.Writer {
	t.Helper()
	p := served.Params()
	p.ContextTokens = 4096
	s, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(inference.Writer)
}

func TestCachedTokens(t *testing.T) {
	for _, c := range []struct {
		name    string
		timings bool
		cached  any
		want    int // −1: unknown
	}{
		{"usage and timings agree", true, 900, 900},
		{"timings alone", true, nil, 900},
		{"usage alone", false, 850, 850},
		{"neither", false, nil, -1},
		{"they contradict each other", true, 850, -1},
		{"more than the prompt", false, 1000, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{owner: "vllm", timings: c.timings, cached: c.cached}
			m, err := open(t, f, openai.Config{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := asking(t, m).Write(t.Context(), inference.Ask{MaxTokens: 5})
			if err != nil {
				t.Fatal(err)
			}
			if x := out.Exchange; x.PromptTokens != 978 || (x.CachedTokens == nil) != (c.want < 0) || x.CachedTokens != nil && *x.CachedTokens != c.want {
				t.Errorf("exchange: %+v", x)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	sum := digest.SHA256Of([]byte("the file"))
	hash := func(_ context.Context, path string) (digest.SHA256, error) {
		if path != "/models/smol.gguf" {
			t.Errorf("asked for %s", path)
		}
		return sum, nil
	}
	f := llamaServer()
	m, err := open(t, f, openai.Config{Hash: hash})
	if err != nil {
		t.Fatal(err)
	}
	if id := m.(served.Described).Identity(); !id.Proven || id.SHA256 != sum || id.TemplateSHA256 != digest.SHA256Of([]byte("{{ messages }}")) {
		t.Errorf("by the file: %+v", id)
	}
	w := asking(t, m)
	sum = digest.SHA256Of([]byte("another file"))
	if _, err := w.Write(t.Context(), inference.Ask{MaxTokens: 5}); !fault.Is(err, fault.CodeServedModelChanged) {
		t.Errorf("the file changed: %v", err)
	}
	f = &fake{owner: "vllm"}
	if m, err = open(t, f, openai.Config{Hash: hash}); err != nil {
		t.Fatal(err)
	}
	id := m.(served.Described).Identity()
	if said := strings.Join(id.Unknown, " "); id.Proven || !strings.Contains(said, "model_sha256") || !strings.Contains(said, "chat_template") {
		t.Errorf("by the server's word: %+v", id)
	}
	w = asking(t, m)
	f.change(func() { f.meta = map[string]any{"n_params": 7} })
	if _, err := w.Write(t.Context(), inference.Ask{MaxTokens: 5}); !fault.Is(err, fault.CodeServedModelChanged) {
		t.Errorf("what the server says changed: %v", err)
	}
}

func TestKeyStaysInItsHeader(t *testing.T) {
	f := llamaServer()
	f.wantKey = true
	if _, err := open(t, f, openai.Config{Key: key}); err != nil {
		t.Fatal(err)
	}
	wrong := "sk-wrong-1"
	_, err := open(t, f, openai.Config{Key: wrong})
	if !fault.Is(err, fault.CodeModelServerError) || strings.Contains(err.Error(), wrong) || !strings.Contains(fault.From(err).Hint, "OPENAI_API_KEY") {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := openai.Connect(t.Context(), openai.Config{Address: "http://user:" + key + "@127.0.0.1:1"}); !fault.Is(err, fault.CodeInvalidArguments) || strings.Contains(err.Error(), key) {
		t.Errorf("a key in the address: %v", err)
	}
}

func TestCodes(t *testing.T) {
	if _, err := openai.Connect(t.Context(), openai.Config{Address: "https://api.example.org/v1"}); !fault.Is(err, fault.CodeNetworkNotAllowed) {
		t.Errorf("another machine: %v", err)
	}
	s := httptest.NewServer(llamaServer())
	e, err := openai.Connect(t.Context(), openai.Config{Address: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Open(t.Context(), "nope"); !fault.Is(err, fault.CodeServedModelAbsent) || !strings.Contains(err.Error(), "smol") {
		t.Errorf("another model: %v", err)
	}
	if _, err := e.Open(t.Context(), ""); err != nil {
		t.Errorf("the only model: %v", err)
	}
	address := s.URL
	s.Close()
	if _, err := openai.Connect(t.Context(), openai.Config{Address: address}); !fault.Is(err, fault.CodeModelServerAbsent) {
		t.Errorf("server absent: %v", err)
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no models":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[]}`) },
	} {
		s := httptest.NewServer(handler)
		if _, err := openai.Connect(t.Context(), openai.Config{Address: s.URL}); !fault.Is(err, fault.CodeServedReply) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer elsewhere.Close()
	if _, err := openai.Connect(t.Context(), openai.Config{Address: elsewhere.URL}); !fault.Is(err, fault.CodeModelServerAbsent) || !strings.Contains(err.Error(), "redirect") {
		t.Errorf("a redirect: %v", err)
	}
}

func TestRepliesThatFail(t *testing.T) {
	half := `{"choices":[{"delta":{"content":"It is"},"finish_reason":null}]}`
	for _, c := range []struct {
		name   string
		change func(*fake)
		code   fault.Code
	}{
		{"cut", func(f *fake) { f.events = []string{half} }, fault.CodeServedStreamCut},
		{"done without an end", func(f *fake) { f.events = []string{half, "[DONE]"} }, fault.CodeServedStreamCut},
		{"an event that is no JSON", func(f *fake) { f.events = []string{half, "{"} }, fault.CodeServedReply},
		{"an error within", func(f *fake) { f.events = []string{half, `{"error":{"message":"slot unavailable"}}`} }, fault.CodeModelServerError},
		{"too long", func(f *fake) {
			f.status, f.body = 400, `{"error":{"message":"the request exceeds the available context size"}}`
		}, fault.CodeContextFull},
		{"an error", func(f *fake) { f.status, f.body = 500, `{"error":"broken"}` }, fault.CodeModelServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := llamaServer()
			m, err := open(t, f, openai.Config{})
			if err != nil {
				t.Fatal(err)
			}
			c.change(f)
			if out, err := asking(t, m).Write(t.Context(), inference.Ask{MaxTokens: 5}); !fault.Is(err, c.code) {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

// TestSlots: a slot's file is restored only while it is the one that was kept.
func TestSlots(t *testing.T) {
	dir := t.TempDir()
	prefix := func(t *testing.T, m inference.Model) []inference.Token {
		r, err := chattemplate.New(m, m.Info())
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := r.Prefix([]chattemplate.Message{{Role: "system", Content: "Be brief."}})
		if err != nil {
			t.Fatal(err)
		}
		return tokens
	}
	f := llamaServer()
	f.slots = dir
	m, err := open(t, f, openai.Config{SlotDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, m)
	if err := s.Decode(t.Context(), inference.Batch{Tokens: prefix(t, m)}); err != nil {
		t.Fatal(err)
	}
	if err := s.(inference.Keeper).Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("what the server computed"))); !strings.Contains(string(state.Bytes()), want) {
		t.Fatalf("the state lacks the file's digest: %q", state.Bytes())
	}
	files, err := filepath.Glob(filepath.Join(dir, "edge-*.slot"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, c := range []struct {
		name     string
		prepare  func(*fake)
		restored bool
	}{
		{"as it was", func(f *fake) { f.cached, f.timings = 905, false }, true},
		{"the server read nearly everything again", func(f *fake) { f.cached, f.timings = 5, false }, false},
		{"another file", func(*fake) { os.WriteFile(files[0], []byte("what somebody computed!!"), 0o600) }, false},
		{"no file", func(*fake) { os.Remove(files[0]) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := llamaServer()
			f.slots = dir
			c.prepare(f)
			m, err := open(t, f, openai.Config{SlotDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, m)
			if err := s.RestoreState(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			rest, err := m.Tokenize("Hi<|edge:end|><|edge:assistant|>", true)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Decode(t.Context(), inference.Batch{Tokens: rest}); err != nil {
				t.Fatal(err)
			}
			out, err := s.Write(t.Context(), inference.Ask{MaxTokens: 5})
			if err != nil || out.Exchange.SlotRestored != c.restored {
				t.Errorf("%+v, %v", out, err)
			}
			sum := sha256.New()
			for _, token := range prefix(t, m) {
				binary.Write(sum, binary.LittleEndian, uint32(token))
			}
			if want := fmt.Sprintf("%x", sum.Sum(nil)); f.prefix != want {
				t.Errorf("the router was told %q, want %s", f.prefix, want)
			}
			if asked := f.held == 910; asked != (f.last()["id_slot"] != nil) || c.restored && !asked {
				t.Errorf("the server was told to restore: %v; asked for %v", asked, f.last())
			}
		})
	}
}

func TestWithoutSlotsTheTextIsAllThereIs(t *testing.T) {
	m, err := open(t, llamaServer(), openai.Config{SlotDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := asking(t, m)
	if err := s.(inference.Keeper).Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.SaveState(t.Context())
	if err != nil || !strings.Contains(string(state.Bytes()), `"slot":null`) {
		t.Errorf("%q, %v", state.Bytes(), err)
	}
}
