package models_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
	"edge/models/fetch"
)

func TestOpenOwnFile(t *testing.T) {
	content := tinyModel(1,
		func(b *bytes.Buffer) { text(b, "tokenizer.ggml.model", "gpt2") },
		func(b *bytes.Buffer) { text(b, "tokenizer.chat_template", "{{ x }}") })
	path := writeFile(t, filepath.Join(t.TempDir(), "own.gguf"), content)
	w := newWorld(t, models.Config{})
	record := new(bytes.Buffer)
	text(record, "tokenizer.ggml.model", "gpt2")
	want := models.Model{Name: "own", Path: path, Identity: models.Identity{
		Size: int64(len(content)), SHA256: digest.SHA256Of(content), Architecture: "llama", Title: "Tiny", Parameters: 4096, Tensors: 1,
		TokenizerSHA256: digest.SHA256Of(record.Bytes()), TemplateSHA256: digest.SHA256Of([]byte("{{ x }}")),
	}}
	for _, how := range []string{"read", "remembered"} {
		if diff := cmp.Diff(want, w.open(path)); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
	}
	if w.hashed() != 1 {
		t.Errorf("hashed %d times", w.hashed())
	}
	if _, err := w.Verify(t.Context(), path); err != nil || w.hashed() != 2 {
		t.Errorf("verify read the file %d times in all: %v", w.hashed(), err)
	}
	// Another process, another Store, the same memory.
	other := newWorld(t, models.Config{Home: w.home})
	if diff := cmp.Diff(want, other.open(path)); diff != "" || other.hashed() != 0 {
		t.Errorf("hashed %d times: %s", other.hashed(), diff)
	}
}

// The fault that size and time can't show: one changed byte under the same name, size and modification time.
func TestOpenSeesAChangedByte(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "model.gguf"), tinyModel(1))
	w := newWorld(t, models.Config{})
	before := w.open(path)
	if w.open(path); w.hashed() != 1 {
		t.Fatal("the file isn't remembered, so this test shows nothing")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{2}, before.Size-100); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(path); err != nil || !now.ModTime().Equal(info.ModTime()) || now.Size() != info.Size() {
		t.Fatalf("the disguise failed: %v", err)
	}
	after := w.open(path)
	if after.SHA256 == before.SHA256 || after.SHA256 != digest.SHA256Of(readFile(t, path)) {
		t.Errorf("got %s for the changed file, and %s before", after.SHA256, before.SHA256)
	}
}

func TestOpenSeesAReplacedFile(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "model.gguf"), tinyModel(1))
	w := newWorld(t, models.Config{})
	before := w.open(path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	other := writeFile(t, filepath.Join(dir, "other"), tinyModel(2))
	if err := errors.Join(os.Chtimes(other, time.Time{}, info.ModTime()), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
	if after := w.open(path); after.SHA256 == before.SHA256 {
		t.Error("another file under the same name passed for the old one")
	}
}

// A file that was written a moment ago could be written to again within the same tick of the file system's clock.
func TestOpenDoesNotRememberUnsettledFiles(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "model.gguf"), tinyModel(1))
	changed := time.Now()
	clock := changed
	w := newWorld(t, models.Config{Now: func() time.Time { return clock }})
	for _, tt := range []struct {
		name   string
		clock  time.Time
		hashed int
	}{
		{"at once", changed, 1},
		{"again", changed.Add(time.Second), 2},
		{"before two seconds are over", changed.Add(1900 * time.Millisecond), 3},
		{"settled", changed.Add(3 * time.Second), 4},
		{"remembered", changed.Add(3 * time.Second), 4},
	} {
		clock = tt.clock
		if w.open(path); w.hashed() != tt.hashed {
			t.Fatalf("%s: hashed %d times, want %d", tt.name, w.hashed(), tt.hashed)
		}
	}

	future := writeFile(t, filepath.Join(t.TempDir(), "future.gguf"), tinyModel(1))
	if err := os.Chtimes(future, time.Time{}, changed.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.open(future)
	if w.open(future); w.hashed() != 6 {
		t.Error("a modification time in the future was trusted")
	}
}

func TestOpenIgnoresABrokenCache(t *testing.T) {
	content := tinyModel(1)
	path := writeFile(t, filepath.Join(t.TempDir(), "model.gguf"), content)
	w := newWorld(t, models.Config{})
	w.open(path)
	cache := filepath.Join(w.home.Models(), "identities.json")
	good := readFile(t, cache)
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	sha := digest.SHA256Of(content).String()
	for name, bad := range map[string]string{
		"empty":               "",
		"cut":                 string(good[:len(good)/2]),
		"not JSON":            "\x00\x01",
		"another shape":       "[]",
		"another version":     strings.Replace(string(good), "identities/v1", "identities/v2", 1),
		"an unknown field":    strings.Replace(string(good), `"files"`, `"more": 1, "files"`, 1),
		"no digest":           strings.Replace(string(good), sha, strings.Repeat("0", 64), 1),
		"half a digest":       strings.Replace(string(good), sha, sha[:32], 1),
		"another size":        strings.Replace(string(good), fmt.Sprintf(`"size": %d,%s`, len(content), "\n    \"sha256\""), "\"size\": 7,\n    \"sha256\"", 1),
		"another file's time": strings.Replace(string(good), `"changed_ns": 1`, `"changed_ns": 2`, 1),
	} {
		if bad == string(good) {
			t.Fatalf("%s: nothing was broken", name)
		}
		writeFile(t, cache, []byte(bad))
		before := w.hashed()
		if m := w.open(path); m.SHA256.String() != sha || w.hashed() != before+1 {
			t.Errorf("%s: believed", name)
		}
		if w.open(path); w.hashed() != before+1 {
			t.Errorf("%s: the cache wasn't mended", name)
		}
	}
}

func TestOpenWithoutACache(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "model.gguf"), tinyModel(1))
	// A file where the folder should be: nothing can be written.
	w := newWorld(t, models.Config{Home: home.Dir(writeFile(t, filepath.Join(t.TempDir(), "edge"), nil))})
	w.open(path)
	if w.open(path); w.hashed() != 2 {
		t.Errorf("hashed %d times", w.hashed())
	}
}

func TestOpenKeepsTheCacheShort(t *testing.T) {
	w := newWorld(t, models.Config{})
	w.open(writeFile(t, filepath.Join(t.TempDir(), "first.gguf"), tinyModel(1)))
	path := filepath.Join(w.home.Models(), "identities.json")
	var cache struct {
		Schema string           `json:"schema"`
		Files  []map[string]any `json:"files"`
	}
	if err := json.Unmarshal(readFile(t, path), &cache); err != nil {
		t.Fatal(err)
	}
	for len(cache.Files) < 300 {
		cache.Files = append(cache.Files, cache.Files[0])
	}
	long, err := json.Marshal(cache)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, long)
	last := writeFile(t, filepath.Join(t.TempDir(), "last.gguf"), tinyModel(1))
	w.open(last)
	cache.Files = nil
	if err := json.Unmarshal(readFile(t, path), &cache); err != nil {
		t.Fatal(err)
	}
	if n := len(cache.Files); n != 256 || cache.Files[n-1]["path"] != last {
		t.Errorf("%d records, the last of %s", n, cache.Files[n-1]["path"])
	}
}

// meddler changes a file while it is hashed.
type meddler struct {
	fetch.Silent
	meddle func()
}

func (m meddler) Start(int64) { m.meddle() }

func TestOpenWhileTheFileIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	for _, tt := range []struct {
		name   string
		passes int // that find the file changed
	}{{"once", 1}, {"for ever", 1000}} {
		t.Run(tt.name, func(t *testing.T) {
			writeFile(t, path, tinyModel(0))
			passes := 0
			w := newWorld(t, models.Config{Progress: func(string) fetch.Progress {
				return meddler{meddle: func() {
					if passes++; passes <= tt.passes {
						writeFile(t, path, tinyModel(byte(passes)))
						if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Duration(passes)*time.Second)); err != nil {
							t.Error(err)
						}
					}
				}}
			}})
			m, err := w.Open(t.Context(), path)
			if tt.passes > 1 {
				wantFault(t, err, fault.CodeModelFileInvalid, "changes while it is read", "wait until it is complete")
				return
			}
			if err != nil || m.SHA256 != digest.SHA256Of(readFile(t, path)) {
				t.Errorf("got %s, %v", m.SHA256, err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	split := tinyModel(1, func(b *bytes.Buffer) {
		str(b, "split.count")
		num(b, uint32(2), uint16(3))
	})
	w := newWorld(t, models.Config{})
	for _, tt := range []struct {
		name, path string
		code       fault.Code
		says       []string
	}{
		{"missing", filepath.Join(dir, "no.gguf"), fault.CodeModelNotFound, []string{"no.gguf", "--model"}},
		{"folder", dir + "/", fault.CodeModelFileInvalid, []string{"isn't a file"}},
		{"not GGUF", writeFile(t, filepath.Join(dir, "page.gguf"), []byte("<html>")), fault.CodeModelFileInvalid, []string{"page.gguf", "<htm"}},
		{"empty", writeFile(t, filepath.Join(dir, "empty.gguf"), nil), fault.CodeModelFileInvalid, []string{"empty.gguf"}},
		{"cut short", writeFile(t, filepath.Join(dir, "short.gguf"), tinyModel(1)[:9000]), fault.CodeModelFileInvalid, []string{"cut short"}},
		{"one of several parts", writeFile(t, filepath.Join(dir, "part.gguf"), split), fault.CodeModelFileInvalid, []string{"one of 3 parts", "--merge"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.Open(t.Context(), tt.path)
			wantFault(t, err, tt.code, tt.says...)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Open(ctx, writeFile(t, filepath.Join(dir, "good.gguf"), tinyModel(1)))
		if fault.From(err).Code != fault.CodeCancelled {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenHoldsTheCatalogueToItsDigests(t *testing.T) {
	content := tinyModel(1)
	entry := pinned("tiny", content)
	w := newWorld(t, models.Config{Catalogue: []models.Entry{entry, pinned(models.DefaultModel, content)}})

	_, err := w.Open(t.Context(), "tiny")
	wantFault(t, err, fault.CodeModelNotFound, "tiny", "edge models pull tiny")
	_, err = w.Open(t.Context(), "")
	wantFault(t, err, fault.CodeModelNotFound, models.DefaultModel, "edge setup")

	path := writeFile(t, filepath.Join(w.home.Models(), "tiny.gguf"), content)
	if m := w.open("tiny"); !m.Pinned || m.Name != "tiny" || m.Path != path {
		t.Errorf("got %+v", m)
	}
	other := tinyModel(2)
	writeFile(t, path, other)
	_, err = w.Open(t.Context(), "tiny")
	wantFault(t, err, fault.CodeModelDigestMismatch, path, digest.SHA256Of(other).String(), entry.SHA256.String())
	want := []fault.Mismatch{{Field: "model_sha256", Want: entry.SHA256.String(), Got: digest.SHA256Of(other).String()}}
	if diff := cmp.Diff(want, fault.From(err).Mismatches); diff != "" {
		t.Errorf("mismatches: %s", diff)
	}
}
