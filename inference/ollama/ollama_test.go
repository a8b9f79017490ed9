package ollama_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/enginetest"
	"edge/inference/ollama"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		m, err := open(t, newFake(), ollama.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return enginetest.Subject{Model: m, Params: served.Params(), Exact: true}
	})
}

// asking gives a session with a conversation that waits for a reply.
func asking(t *testing.T, m inference.Model) inference.Writer {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := r.Tokens([]chattemplate.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "How warm?"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	p := served.Params()
	p.ContextTokens = 4096
	s, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Decode(t.Context(), inference.Batch{Tokens: tokens}); err != nil {
		t.Fatal(err)
	}
	return s.(inference.Writer)
}

func TestWhatIsAskedFor(t *testing.T) {
	f := newFake()
	m, err := open(t, f, ollama.Config{KeepAlive: "90"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := asking(t, m).Write(t.Context(), inference.Ask{MaxTokens: 7})
	if err != nil || out.Text != f.say || !out.Ended {
		t.Fatalf("%+v, %v", out, err)
	}
	x := out.Exchange
	if x.CachedTokens != nil || x.PromptTokens != 978 || x.GeneratedTokens != 4 || *x.LoadMS != 40 || *x.PromptMS != 65 || *x.GenerateMS != 230 || !x.ModelProven {
		t.Errorf("exchange: %+v", x)
	}
	in := f.last()
	options := in["options"].(map[string]any)
	if in["model"] != "smol" || in["truncate"] != false || in["shift"] != false || in["keep_alive"] != "1m30s" || options["num_predict"] != 7.0 || options["num_ctx"] != 8192.0 || options["temperature"] != 0.0 || in["format"] != nil {
		t.Errorf("asked for %v", in)
	}
	var said []string
	for _, m := range in["messages"].([]any) {
		said = append(said, m.(map[string]any)["role"].(string)+": "+m.(map[string]any)["content"].(string))
	}
	if !slices.Equal(said, []string{"system: Be brief.", "user: How warm?"}) {
		t.Errorf("messages: %q", said)
	}
}

func TestIdentity(t *testing.T) {
	id := func(change func(*fake)) served.Identity {
		f := newFake()
		change(f)
		m, err := open(t, f, ollama.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return m.(served.Described).Identity()
	}
	first := id(func(*fake) {})
	if first.SHA256.String() != weights || !first.Proven || first.TemplateSHA256.IsZero() {
		t.Errorf("identity: %+v", first)
	}
	for name, change := range map[string]func(*fake){
		"template":   func(f *fake) { f.show["template"] = "y" },
		"parameters": func(f *fake) { f.show["parameters"] = "temperature 1" },
		"system":     func(f *fake) { f.show["system"] = "Lie." },
	} {
		if got := id(change); got.TemplateSHA256 == first.TemplateSHA256 || got.SHA256 != first.SHA256 {
			t.Errorf("another %s: %+v", name, got)
		}
	}
	ordered := func(order string) digest.SHA256 {
		return id(func(f *fake) { f.show["parameters"] = order }).TemplateSHA256
	}
	if ordered("stop \"a\"\ntemperature 0\nstop \"b\"") != ordered("temperature 0\nstop \"b\"\nstop \"a\"") {
		t.Error("the order in which the server lists parameters counts")
	}
	swapped := id(func(f *fake) {
		f.show["modelfile"] = strings.ReplaceAll(f.show["modelfile"].(string), weights, other)
	})
	adapted := id(func(f *fake) {
		f.show["modelfile"] = f.show["modelfile"].(string) + "ADAPTER /models/blobs/sha256-" + other + "\n"
	})
	if swapped.SHA256.String() != other || adapted.SHA256.String() != manifest {
		t.Errorf("other weights: %s; with an adapter: %s", swapped.SHA256, adapted.SHA256)
	}
}

func TestEmbeddingModel(t *testing.T) {
	plain, err := open(t, newFake(), ollama.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := open(t, newFake(), ollama.Config{Embedder: "embed"})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.(served.Described).Identity(), plain.(served.Described).Identity(); m.Info().EmbeddingSize != 3 || a.TokenizerSHA256() == b.TokenizerSHA256() {
		t.Errorf("%d dimensions; what makes the vectors is no part of the identity: %s", m.Info().EmbeddingSize, a.TokenizerSHA256())
	}
	if _, err := open(t, newFake(), ollama.Config{Embedder: "smol"}); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("vectors by the chat model itself: %v", err)
	}
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fake)
		code   fault.Code
		text   string
	}{
		{"version too old", func(f *fake) { f.version = "0.12.11" }, fault.CodeModelServerOld, "0.12.11"},
		{"a digest that is none", func(f *fake) { f.manifest, f.show["modelfile"] = "abc", "FROM x" }, fault.CodeServedReply, "digest"},
		{"a model of another machine", func(f *fake) { f.show["remote_host"] = "https://ollama.com:443"; f.show["modelfile"] = "FROM gpt" }, fault.CodeNetworkNotAllowed, "ollama.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			c.change(f)
			if _, err := open(t, f, ollama.Config{}); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("server absent", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := ollama.Connect(t.Context(), ollama.Config{Host: l.Addr().String()}); !fault.Is(err, fault.CodeModelServerAbsent) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("another server", func(t *testing.T) {
		if _, err := ollama.Connect(t.Context(), ollama.Config{Host: serve(t, http.NotFoundHandler())}); !fault.Is(err, fault.CodeModelServerError) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("unknown model", func(t *testing.T) {
		e, err := ollama.Connect(t.Context(), ollama.Config{Host: serve(t, newFake())})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Open(t.Context(), "nope"); !fault.Is(err, fault.CodeServedModelAbsent) || !strings.Contains(fault.From(err).Hint, "ollama pull nope") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("another machine", func(t *testing.T) {
		for _, host := range []string{"10.1.2.3", "https://example.org", "ollama.internal:11434"} {
			if _, err := ollama.Connect(t.Context(), ollama.Config{Host: host}); !fault.Is(err, fault.CodeNetworkNotAllowed) {
				t.Errorf("%s: got %v", host, err)
			}
		}
	})
}

func TestRepliesThatFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fake)
		code   fault.Code
		text   string
	}{
		{"swapped under the same name", func(f *fake) { f.manifest = other }, fault.CodeServedModelChanged, "smol"},
		{"stream cut between events", func(f *fake) { f.cut = "events" }, fault.CodeServedStreamCut, ""},
		{"stream cut within a line", func(f *fake) { f.cut = "line" }, fault.CodeServedStreamCut, ""},
		{"prompt too long", func(f *fake) { f.fail, f.status = "the input length exceeds the context length", 400 }, fault.CodeContextFull, "input length"},
		{"an error", func(f *fake) { f.fail, f.status = "out of\x1b[2K memory", 500 }, fault.CodeModelServerError, "out of [2K memory"},
		{"an error within the reply", func(f *fake) { f.within = "the runner died" }, fault.CodeModelServerError, "the runner died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			m, err := open(t, f, ollama.Config{})
			if err != nil {
				t.Fatal(err)
			}
			w := asking(t, m)
			f.change(func() { c.change(f) })
			_, err = w.Write(t.Context(), inference.Ask{MaxTokens: 5})
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v", err)
			}
			if err := w.Decode(context.Background(), inference.Batch{Tokens: []inference.Token{'a'}}); !fault.Is(err, fault.CodeSessionClosed) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
