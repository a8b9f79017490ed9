package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recording is what make e2e-served RECORD=1 wrote down of a real server.
type recording struct {
	Prompts []string          `json:"prompts"`
	Calls   []json.RawMessage `json:"calls"`
	Answers []string          `json:"answers"`
	Said    []exchange        `json:"exchanges"`
}

type exchange struct {
	Method   string         `json:"method"`
	Path     string         `json:"path"`
	Request  map[string]any `json:"request"`
	Status   int            `json:"status"`
	Response string         `json:"response"`
}

// replay is a server that says again what the real one said: the same to the same question about itself, and its replies
// in their order. How a request is worded may change; what it is made of may not.
type replay struct {
	t      *testing.T
	mu     sync.Mutex
	said   []exchange
	change func(path, response string) string // nil: none
}

func (r *replay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(request.Body)
	i := slices.IndexFunc(r.said, func(e exchange) bool { return e.Method == request.Method && e.Path == request.URL.Path })
	if i < 0 {
		r.t.Errorf("%s %s was never recorded, or not so often", request.Method, request.URL.Path)
		http.NotFound(w, request)
		return
	}
	e := r.said[i]
	if strings.Contains(e.Path, "chat") {
		r.said = slices.Delete(r.said, i, i+1)
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			r.t.Errorf("%s: %v", e.Path, err)
		}
		if got, want := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(e.Request)); !slices.Equal(got, want) {
			r.t.Errorf("%s: the request has %q, the recorded one %q", e.Path, got, want)
		}
	}
	if r.change != nil {
		e.Response = r.change(e.Path, e.Response)
	}
	w.WriteHeader(e.Status)
	io.WriteString(w, e.Response)
}

// servedRun runs command lines against a replayed server.
type servedRun struct {
	t      *testing.T
	home   string
	server *replay
	model  string
	env    []string
	data   recording
}

const replayKey = "sk-replay-0123456789"

func newServedRun(t *testing.T, name, model string) *servedRun {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "served", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &servedRun{t: t, home: t.TempDir(), server: &replay{t: t}}
	if err := json.Unmarshal(raw, &r.data); err != nil {
		t.Fatal(err)
	}
	r.server.said = r.data.Said
	s := httptest.NewServer(r.server)
	t.Cleanup(s.Close)
	r.model = strings.ReplaceAll(model, "URL", s.URL)
	r.env = []string{"EDGE_HOME=" + r.home, "HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "EDGE_SERVE=off", "OLLAMA_HOST=" + s.URL, "OPENAI_API_KEY=" + replayKey}
	return r
}

func (r *servedRun) run(args ...string) (int, map[string]any) {
	r.t.Helper()
	return r.plain(append(args, "--model", r.model, "--tools", filepath.Join("..", "..", "testdata", "served", "household", "tools.py"))...)
}

// plain runs a command that takes neither model nor tools: in a process of its own, since a tool's process begins as another
// of edge's.
func (r *servedRun) plain(args ...string) (int, map[string]any) {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), "edge", append(args, "--json")...)
	c.Env = r.env
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%v: %v", args, err)
	}
	var object map[string]any
	if err := json.Unmarshal(out, &object); err != nil {
		r.t.Fatalf("%v: %v: %q", args, err, out)
	}
	return c.ProcessState.ExitCode(), object
}

// learn learns the sample without its holdout, as the recording did.
func (r *servedRun) learn() (path string, learned map[string]any) {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "served", "household", "learn_sample.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var sample map[string]any
	if err := json.Unmarshal(raw, &sample); err != nil {
		r.t.Fatal(err)
	}
	delete(sample, "holdout")
	if raw, err = json.Marshal(sample); err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.home, "sample.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		r.t.Fatal(err)
	}
	status, learned := r.run("demo", "learn", "run", "--sample-file", file)
	if status != 0 {
		r.t.Fatalf("learn: %v", learned)
	}
	return learned["artifact_path"].(string), learned
}

func TestServedReplay(t *testing.T) {
	for name, model := range map[string]string{"ollama": "ollama:smollm2-135m", "llama-server": "openai:URL#smollm2-135m"} {
		t.Run(name, func(t *testing.T) {
			r := newServedRun(t, name, model)
			path, learned := r.learn()
			if learned["kind"] != "prefix_replay" {
				t.Errorf("kind %v", learned["kind"])
			}
			for i, prompt := range r.data.Prompts {
				status, turn := r.run("demo", "chat", "--with-imprint", path, "--prompt", prompt)
				if status != 0 {
					t.Fatalf("%s: %v", prompt, turn)
				}
				if turn["answer"] != r.data.Answers[i] {
					t.Errorf("%s: answered %q, recorded %q", prompt, turn["answer"], r.data.Answers[i])
				}
				r.sameCalls(prompt, turn["tool_calls"], r.data.Calls[i])
				r.told(name, turn)
			}
			if left := r.server.said; slices.ContainsFunc(left, func(e exchange) bool { return strings.Contains(e.Path, "chat") }) {
				t.Errorf("replies that nobody asked for: %d", len(left))
			}
			r.noKey()
			if status, shown := r.plain("imprint", "verify", path); status != 0 {
				t.Errorf("verify: %v", shown)
			}
			if status, refused := r.plain("imprint", "verify", path, "--recompute"); status == 0 || code(refused) != "invalid_arguments" {
				t.Errorf("recompute: %d, %v", status, refused)
			}
		})
	}
}

func (r *servedRun) sameCalls(prompt string, got any, recorded json.RawMessage) {
	r.t.Helper()
	calls := []map[string]any{}
	for _, c := range got.([]any) {
		calls = append(calls, map[string]any{"tool_name": c.(map[string]any)["tool_name"], "arguments": c.(map[string]any)["arguments"]})
	}
	var want []map[string]any
	if err := json.Unmarshal(recorded, &want); err != nil {
		r.t.Fatal(err)
	}
	a, _ := json.Marshal(calls)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		r.t.Errorf("%s: called %s, recorded %s", prompt, a, b)
	}
}

// told looks at what a turn says of its server.
func (r *servedRun) told(name string, turn map[string]any) {
	r.t.Helper()
	server, usage, report := turn["server"].(map[string]any), turn["usage"].(map[string]any), turn["imprint"].(map[string]any)
	if server["backend"] != name || report["kind"] != "prefix_replay" || report["restored"] != false {
		r.t.Errorf("server %v, imprint %v", server, report)
	}
	asked := server["requests"] != 0.0 && server["unfinished"] == 0.0 // a reply that edge ended was counted by nobody
	if name == "ollama" && usage["cached_tokens"] != nil {
		r.t.Errorf("Ollama doesn't say what was cached: %v", usage)
	}
	if name == "llama-server" && asked && usage["cached_tokens"] == nil {
		r.t.Errorf("llama-server says what was cached: %v", usage)
	}
	if asked && (server["prompt_ms"] == nil || usage["prompt_tokens"] == 0.0) {
		r.t.Errorf("server %v, usage %v", server, usage)
	}
	if proven := name == "ollama"; server["model_proven"] != proven { // the replayed llama-server's file lies nowhere here
		r.t.Errorf("proven: %v", server["model_proven"])
	}
}

// noKey: the key is in no receipt and in no imprint.
func (r *servedRun) noKey() {
	r.t.Helper()
	files := 0
	err := filepath.WalkDir(r.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(replayKey)) {
			r.t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil || files == 0 {
		r.t.Errorf("%d files, %v", files, err)
	}
}

// TestServedGate: what the server says of itself is held to what the imprint was learned with.
func TestServedGate(t *testing.T) {
	const weights = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
	replaced := func(in, old, new string) func(path, response string) string {
		return func(path, response string) string {
			if path == in && !strings.Contains(response, old) {
				t.Errorf("%s doesn't say %s: %s", path, old, response)
			}
			if path != in {
				return response
			}
			return strings.ReplaceAll(response, old, new)
		}
	}
	for _, c := range []struct {
		name   string
		change func(path, response string) string
		code   string
	}{
		{"swapped under the same name", replaced("/api/show", weights, strings.Repeat("1", 64)), "imprint_model_mismatch"},
		{"another template", replaced("/api/show", "<|im_start|>assistant", "<|im_start|>helper"), "imprint_template_mismatch"},
		{"another version", replaced("/api/version", "0.24.0", "0.25.0"), "imprint_runtime_mismatch"},
		{"too old", replaced("/api/version", "0.24.0", "0.12.0"), "model_server_too_old"},
		{"gone", replaced("/api/tags", "smollm2-135m", "another"), "served_model_not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newServedRun(t, "ollama", "ollama:smollm2-135m")
			path, _ := r.learn()
			r.server.change = c.change
			status, refused := r.run("demo", "chat", "--with-imprint", path, "--prompt", "Hello there!")
			if status == 0 || code(refused) != c.code || refused["receipt_path"] == nil {
				t.Errorf("status %d: %v", status, refused)
			}
		})
	}
}

func TestServedModelsHaveTheServersSettings(t *testing.T) {
	r := newServedRun(t, "ollama", "ollama:smollm2-135m")
	for _, flag := range []string{"--threads=2", "--kv=q8_0", "--ubatch=64", "--no-flash-attention", "--slot-dir=/tmp"} {
		if status, refused := r.run("demo", "chat", "--prompt", "Hi", flag); status == 0 || code(refused) != "invalid_arguments" {
			t.Errorf("%s: %d, %v", flag, status, refused)
		}
	}
	r.model = "openai:https://models.example.org/v1#m"
	if status, refused := r.run("demo", "chat", "--prompt", "Hi"); status == 0 || code(refused) != "network_not_allowed" {
		t.Errorf("another machine: %d, %v", status, refused)
	}
}
