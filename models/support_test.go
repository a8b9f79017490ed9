package models_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
	"edge/models/fetch"
)

// tinyModel is a whole GGUF file of two metadata entries and one tensor, whose bytes are all weight.
func tinyModel(weight byte, more ...func(*bytes.Buffer)) []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	num(&b, uint32(3), uint64(1), uint64(2+len(more)))
	text(&b, "general.architecture", "llama")
	text(&b, "general.name", "Tiny")
	for _, add := range more {
		add(&b)
	}
	str(&b, "t")
	num(&b, uint32(1), uint64(4096), uint32(0), uint64(0))
	b.Write(make([]byte, (32-b.Len()%32)%32))
	b.Write(bytes.Repeat([]byte{weight}, 4*4096))
	return b.Bytes()
}

func num(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
}

func str(b *bytes.Buffer, s string) {
	num(b, uint64(len(s)))
	b.WriteString(s)
}

func text(b *bytes.Buffer, key, value string) {
	str(b, key)
	num(b, uint32(8))
	str(b, value)
}

// world is a Store over an empty EDGE_HOME, and a record of what it showed.
type world struct {
	*models.Store
	t    *testing.T
	home home.Dir

	mu       sync.Mutex
	labels   []string
	messages []string
}

// newWorld makes one from cfg. Unless the test says otherwise, its clock is an hour ahead, so that files written just
// now count as settled.
func newWorld(t *testing.T, cfg models.Config) *world {
	t.Helper()
	w := &world{t: t, home: cfg.Home}
	if w.home == "" {
		w.home = home.Dir(filepath.Join(t.TempDir(), "edge [x"))
		cfg.Home = w.home
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Now().Add(time.Hour) }
	}
	cfg.Notify = func(message string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.messages = append(w.messages, message)
	}
	if cfg.Progress == nil {
		cfg.Progress = func(label string) fetch.Progress {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.labels = append(w.labels, label)
			return fetch.Silent{}
		}
	}
	s, err := models.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Store = s
	return w
}

// hashed says how many times a whole model was read to digest it.
func (w *world) hashed() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, label := range w.labels {
		if strings.HasPrefix(label, "checking ") {
			n++
		}
	}
	return n
}

func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.messages, "\n")
}

func (w *world) open(name string) models.Model {
	w.t.Helper()
	m, err := w.Open(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// wantFault asserts the code, that the message says each of the texts, and that there is a next step.
func wantFault(t *testing.T, err error, code fault.Code, says ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	f := fault.From(err)
	for _, s := range says {
		if !strings.Contains(f.Message+"\n"+f.NextStep(), s) {
			t.Errorf("%q with the hint %q doesn't say %q", f.Message, f.NextStep(), s)
		}
	}
	if f.NextStep() == "" {
		t.Errorf("%q has no next step", f.Message)
	}
}

// pinned is an entry of a test's catalogue for content.
func pinned(name string, content []byte) models.Entry {
	return models.Entry{Name: name, Title: name, License: "none", Size: int64(len(content)), SHA256: digest.SHA256Of(content)}
}

// wheel is a Python package with these members.
func wheel(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, content := range members {
		f, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hidden are the files and folders under dir that a person wouldn't see: temporary ones, in this package.
func hidden(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), ".") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
