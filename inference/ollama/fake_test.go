package ollama_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"edge/inference"
	"edge/inference/ollama"
)

const (
	weights  = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
	manifest = "3ef9372cbfac63297ff059c6e48e62a0ff88267a48baf2ba0fbcb47c69c22cf0"
	other    = "1111111111111111111111111111111111111111111111111111111111111111"
)

// fake answers as an Ollama does; each test changes what it needs.
type fake struct {
	mu       sync.Mutex
	version  string
	manifest string
	show     map[string]any
	say      string // the reply, one event for each word
	schema   string // the reply under a schema
	cut      string // "": a whole reply; "events": without the last; "line": within a line
	fail     string // an error in place of a reply
	within   string // an error within a reply
	status   int
	asked    []map[string]any
}

func newFake() *fake {
	return &fake{
		version: "0.24.0", manifest: manifest, say: "It is five degrees.", schema: `{"unit":"kelvin"}`, status: http.StatusOK,
		show: map[string]any{
			"modelfile": "# made by ollama\nFROM /models/blobs/sha256-" + weights + "\nTEMPLATE \"x\"\n", "template": "x", "parameters": "temperature 0",
			"details":      map[string]any{"family": "llama", "parameter_size": "134.52M", "quantization_level": "Q4_1"},
			"capabilities": []string{"completion"}, "model_info": map[string]any{"llama.context_length": 8192},
		},
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	say := func(v any) { json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/api/version":
		say(map[string]string{"version": f.version})
	case "/api/tags":
		say(map[string]any{"models": []any{
			map[string]string{"name": "smol:latest", "digest": f.manifest}, map[string]string{"name": "embed:latest", "digest": other},
		}})
	case "/api/show":
		say(f.show)
	case "/api/embed":
		var in struct{ Input string }
		json.NewDecoder(r.Body).Decode(&in)
		say(map[string]any{"embeddings": [][]float32{{float32(len(in.Input)), 1, 2}}})
	case "/api/chat":
		f.chat(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	json.NewDecoder(r.Body).Decode(&in)
	f.asked = append(f.asked, in)
	if f.fail != "" {
		w.WriteHeader(f.status)
		json.NewEncoder(w).Encode(map[string]string{"error": f.fail})
		return
	}
	text := f.say
	if in["format"] != nil {
		text = f.schema
	}
	for i, piece := range strings.SplitAfter(text, " ") {
		json.NewEncoder(w).Encode(map[string]any{"message": map[string]string{"role": "assistant", "content": piece}})
		w.(http.Flusher).Flush()
		if i == 0 && f.within != "" {
			json.NewEncoder(w).Encode(map[string]string{"error": f.within})
			return
		}
	}
	switch f.cut {
	case "events":
		return
	case "line":
		fmt.Fprint(w, `{"message":{"role":"assi`)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"message": map[string]string{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
		"load_duration": 40e6, "prompt_eval_count": 978, "prompt_eval_duration": 65e6, "eval_count": 4, "eval_duration": 230e6,
	})
}

// last is the body of the last chat request.
func (f *fake) last() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[len(f.asked)-1]
}

func (f *fake) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// serve starts the server and gives its address.
func serve(t *testing.T, f http.Handler) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// open connects and opens the model.
func open(t *testing.T, f *fake, c ollama.Config) (inference.Model, error) {
	t.Helper()
	c.Host = serve(t, f)
	e, err := ollama.Connect(t.Context(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { e.Close() })
	return e.Open(t.Context(), "smol")
}
