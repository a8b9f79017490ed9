package llamacpp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/inference"
	"edge/inference/llamacpp"
	"edge/internal/digest"
	"edge/internal/fault"
)

// fakeRuntime fills a folder with files that no linker would take, and describes them truthfully.
func fakeRuntime(t *testing.T) llamacpp.Config {
	t.Helper()
	cfg := llamacpp.Config{Dir: t.TempDir(), Version: "test"}
	for _, name := range []string{"libggml-base.so", "libggml.so", "libllama.so"} {
		content := []byte("not a library: " + name)
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg.Libraries = append(cfg.Libraries, inference.Library{Name: name, SHA256: digest.SHA256Of(content)})
	}
	return cfg
}

// TestOpenChecksLibraries: what is wrong with the files is said before any of them is opened. None of these can be
// opened: were one tried, the code would be engine_load_failed.
func TestOpenChecksLibraries(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, cfg *llamacpp.Config)
		want   fault.Code
	}{
		{"no list", func(_ *testing.T, cfg *llamacpp.Config) { cfg.Libraries = nil }, fault.CodeRuntimeNotFound},
		{"no folder", func(_ *testing.T, cfg *llamacpp.Config) { cfg.Dir = filepath.Join(cfg.Dir, "nowhere") }, fault.CodeRuntimeNotFound},
		{"the last library is missing", func(t *testing.T, cfg *llamacpp.Config) {
			if err := os.Remove(filepath.Join(cfg.Dir, cfg.Libraries[2].Name)); err != nil {
				t.Fatal(err)
			}
		}, fault.CodeRuntimeNotFound},
		{"one byte of the last library is flipped", func(t *testing.T, cfg *llamacpp.Config) {
			path := filepath.Join(cfg.Dir, cfg.Libraries[2].Name)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			content[3] ^= 0x10
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}, fault.CodeRuntimeDigestMismatch},
		{"nothing, but they aren't libraries", func(*testing.T, *llamacpp.Config) {}, fault.CodeEngineLoadFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := fakeRuntime(t)
			tt.damage(t, &cfg)
			e, err := llamacpp.Open(cfg)
			if !fault.Is(err, tt.want) || e != nil {
				t.Fatalf("got %v (engine %v), want %s", err, e, tt.want)
			}
			if !strings.Contains(err.Error(), cfg.Dir) && !strings.Contains(err.Error(), "libllama.so") {
				t.Errorf("%q names neither the folder nor the file", err)
			}
		})
	}
}

// TestFlippedByteInRealLibrary does the same with the real libraries, in a copy.
func TestFlippedByteInRealLibrary(t *testing.T) {
	dir, err := runtimeDir()
	if err != nil {
		t.Fatalf("%v; %s", err, howToSetUp)
	}
	libs, err := libraries(dir)
	if err != nil {
		t.Fatalf("%v; %s", err, howToSetUp)
	}
	cfg := llamacpp.Config{Dir: t.TempDir(), Version: "test", Libraries: libs}
	for i, lib := range libs {
		content, err := os.ReadFile(filepath.Join(dir, lib.Name))
		if err != nil {
			t.Fatal(err)
		}
		if i == len(libs)-1 {
			content[len(content)/2] ^= 1
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, lib.Name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := llamacpp.Open(cfg); !fault.Is(err, fault.CodeRuntimeDigestMismatch) {
		t.Fatalf("got %v, want %s", err, fault.CodeRuntimeDigestMismatch)
	}
}

// TestNoRPC: the RPC backend listens on the network and has a list of vulnerabilities; it must not be among what is opened.
func TestNoRPC(t *testing.T) {
	for _, lib := range engine(t).Info().Libraries {
		if strings.Contains(lib.Name, "ggml-rpc") {
			t.Errorf("%s is among the engine's libraries", lib.Name)
		}
	}
}

func TestEngineInfo(t *testing.T) {
	info := engine(t).Info()
	if info.Name != "llama.cpp" || info.Version != "test" || !strings.Contains(info.Backend, "CPU") {
		t.Errorf("got %s %s on %q", info.Name, info.Version, info.Backend)
	}
	for i, lib := range info.Libraries {
		if i > 0 && info.Libraries[i-1].Name >= lib.Name {
			t.Errorf("libraries aren't sorted: %s before %s", info.Libraries[i-1].Name, lib.Name)
		}
		if lib.SHA256.IsZero() {
			t.Errorf("%s has no digest", lib.Name)
		}
	}
	if len(info.Libraries) < 3 {
		t.Errorf("got %d libraries", len(info.Libraries))
	}
}

// TestOpenRefuses: files that aren't models, and models whose state of a prefix would mean nothing.
func TestOpenRefuses(t *testing.T) {
	e := engine(t)
	write := func(content []byte) string {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(filepath.Join("..", "..", "testdata", "zoo", "llama.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		want       fault.Code
		says       string
	}{
		{"missing", filepath.Join(t.TempDir(), "none.gguf"), fault.CodeModelNotFound, "none.gguf"},
		{"empty", write(nil), fault.CodeEngineLoadFailed, "model.gguf"},
		{"rubbish", write([]byte(strings.Repeat("rubbish ", 100))), fault.CodeEngineLoadFailed, "model.gguf"},
		{"header only", write(whole[:4096]), fault.CodeEngineLoadFailed, "model.gguf"},
		{"half", write(whole[:len(whole)/2]), fault.CodeEngineLoadFailed, "model.gguf"},
		{"encoder without decoder", t5encoder().write(t), fault.CodeArchitectureUnsupported, "t5encoder"},
		{"diffusion", llada().write(t), fault.CodeArchitectureUnsupported, "llada"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := e.Open(t.Context(), tt.path)
			if err == nil {
				m.Close()
			}
			if !fault.Is(err, tt.want) {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q doesn't name %s", err, tt.says)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Open(ctx, "any.gguf"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	t.Run("a sound model after them", func(t *testing.T) { zoo(t, "llama") })
}

// TestEncoderHasNoSession: the engine says of BERT that it decodes; that it keeps no state shows in the context.
func TestEncoderHasNoSession(t *testing.T) {
	for _, tt := range []struct {
		model tinyModel
		want  fault.Code // empty: it works
	}{
		{llama(), ""},
		{bert(), fault.CodeArchitectureUnsupported},
	} {
		t.Run(tt.model.arch, func(t *testing.T) {
			m, err := engine(t).Open(t.Context(), tt.model.write(t))
			if err == nil {
				defer m.Close()
				p := params()
				p.ContextTokens = 16
				var s inference.Session
				if s, err = m.NewSession(t.Context(), p); err == nil {
					s.Close()
				}
			}
			if tt.want == "" && err != nil || tt.want != "" && !fault.Is(err, tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNoTokenizer: text and grammars are refused for a model file without one, not handed to the engine, which aborts.
func TestNoTokenizer(t *testing.T) {
	m := zoo(t, "llama")
	if _, err := m.Tokenize("text", false); !fault.Is(err, fault.CodeArchitectureUnsupported) {
		t.Errorf("tokenize: got %v, want %s", err, fault.CodeArchitectureUnsupported)
	}
	if _, err := m.NewGrammar(`root ::= "a"`); !fault.Is(err, fault.CodeArchitectureUnsupported) {
		t.Errorf("grammar: got %v, want %s", err, fault.CodeArchitectureUnsupported)
	}
	if got := m.Piece(5); len(got) != 0 {
		t.Errorf("piece: got %q, want nothing", got)
	}
	if m.IsEnd(5) {
		t.Error("token 5 ends the text")
	}
}

// TestAbortReachesEngine: raising the flag stops a computation from inside, with no context having ended.
func TestAbortReachesEngine(t *testing.T) {
	m := zoo(t, "llama")
	p := params()
	p.ContextTokens = 64
	s, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = llamacpp.DecodeWithFlagUp(s, []inference.Token{1, 2, 3})
	if !fault.Is(err, fault.CodeEngineDecodeFailed) || !strings.Contains(err.Error(), "answered 2") {
		t.Fatalf("got %v, want the engine's own answer 2, aborted", err)
	}
	// The flag's slot goes to the next session, which must not find it raised.
	next, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := next.Decode(t.Context(), inference.Batch{Tokens: []inference.Token{1, 2, 3}}); err != nil {
		t.Fatalf("next session: %v", err)
	}
}

// TestClosedSessionCancelsNobody: a cancelled call on a closed session must not reach the session that has its slot now.
func TestClosedSessionCancelsNobody(t *testing.T) {
	m := zoo(t, "llama")
	p := params()
	p.ContextTokens = 64
	old, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	old.Close()
	next, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 50 {
		old.Decode(cancelled, inference.Batch{Tokens: []inference.Token{1}})
		runtime.Gosched()
		if err := next.Decode(t.Context(), inference.Batch{Tokens: []inference.Token{inference.Token(i)}}); err != nil {
			t.Fatalf("decode %d of the session that took the slot: %v", i, err)
		}
	}
}

// TestManySessions: contexts and callbacks are given back. purego has room for 2,000 callbacks in a process's life.
func TestManySessions(t *testing.T) {
	m := zoo(t, "llama")
	p := params()
	p.ContextTokens = 8
	for i := range 2500 {
		s, err := m.NewSession(t.Context(), p)
		if err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("close session %d: %v", i, err)
		}
	}
}
