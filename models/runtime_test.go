package models_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models"
)

// entry is one entry of a package.
type entry struct {
	name    string
	kind    byte
	content string
}

// engineFiles are the files of a small package, as the real ones are laid out.
func engineFiles() []entry {
	return []entry{
		{"package/LICENSE", tar.TypeReg, "MIT"},
		{"package/bins/test-x64/llama-addon.node", tar.TypeReg, "addon"},
		{"package/bins/test-x64/libllama-common.so", tar.TypeReg, "common"},
		{"package/bins/test-x64/libggml-base.so", tar.TypeReg, "base"},
		{"package/bins/test-x64/libggml-cpu-x64.so", tar.TypeReg, "cpu"},
		{"package/bins/test-x64/libggml.v9.so", tar.TypeReg, "ggml"},
		{"package/bins/test-x64/libllama.v9.so", tar.TypeReg, "llama"},
	}
}

func pack(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for _, e := range entries {
		head := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o644}
		if e.kind == tar.TypeReg {
			head.Size = int64(len(e.content))
		} else {
			head.Linkname = e.content
		}
		if err := out.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(out, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// testRelease pins the small package.
func testRelease(t *testing.T) (r models.Release, tarball []byte) {
	t.Helper()
	tarball = pack(t, engineFiles())
	sum := sha512.Sum512(tarball)
	r = models.Release{
		Platform: "test-x64", OS: "test", Arch: "x64", Engine: "v9", Package: "@test/test-x64", Version: "1.2.3",
		Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), Size: int64(len(tarball)),
		Aliases: []models.Alias{{Name: "libggml.so", Target: "libggml.v9.so"}, {Name: "libllama.so", Target: "libllama.v9.so"}},
	}
	for _, e := range engineFiles()[3:] {
		r.Libraries = append(r.Libraries, models.Library{
			Name: filepath.Base(e.name), Size: int64(len(e.content)), SHA256: digest.SHA256Of([]byte(e.content)),
		})
	}
	return r, tarball
}

// engineWorld is a world whose release and default model are small ones, both of which lie in files for --from.
func engineWorld(t *testing.T, cfg models.Config) (w *world, tgz, model string) {
	t.Helper()
	var tarball []byte
	cfg.Release, tarball = testRelease(t)
	content := tinyModel(1)
	if cfg.Catalogue == nil {
		entry := pinned(models.DefaultModel, content)
		entry.Wheels = []models.Wheel{{Requirement: "tiny==1.0", Member: "tiny/tiny.gguf"}}
		cfg.Catalogue = []models.Entry{entry}
	}
	w = newWorld(t, cfg)
	dir := t.TempDir()
	return w, writeFile(t, filepath.Join(dir, "engine.tgz"), tarball), writeFile(t, filepath.Join(dir, "tiny.gguf"), content)
}

// setUp installs both from files.
func setUp(t *testing.T) (w *world, dir string) {
	t.Helper()
	w, tgz, model := engineWorld(t, models.Config{})
	res, err := w.Setup(t.Context(), models.SetupOptions{From: []string{tgz, model}})
	if err != nil {
		t.Fatal(err)
	}
	return w, res.Runtime.Dir
}

func TestRuntime(t *testing.T) {
	w, dir := setUp(t)
	if want := filepath.Join(w.home.Runtime(), "v9-test-x64"); dir != want {
		t.Errorf("got %s, want %s", dir, want)
	}
	rt, err := w.Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifest := readFile(t, filepath.Join(dir, "manifest.json"))
	if rt.SHA256 != digest.SHA256Of(manifest) || rt.Release.Engine != "v9" {
		t.Errorf("got %+v", rt)
	}
	if want := `{"aliases":[{"name":"libggml.so","target":"libggml.v9.so"},{"name":"libllama.so","target":"libllama.v9.so"}],` +
		`"engine":"llama.cpp v9","integrity":"` + rt.Release.Integrity + `","libraries":[{"name":"libggml-base.so","sha256":"` +
		digest.SHA256Of([]byte("base")).String() + `","size":4},`; !strings.HasPrefix(string(manifest), want) {
		t.Errorf("got the manifest %s", manifest)
	}
	for name, content := range map[string]string{"libllama.so": "llama", "libggml.so": "ggml", "libggml-base.so": "base"} {
		if got := readFile(t, filepath.Join(dir, name)); string(got) != content {
			t.Errorf("%s has %q", name, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 7 {
		t.Errorf("%d files: %v, %v", len(entries), entries, err)
	}
}

func TestRuntimeRefuses(t *testing.T) {
	sum := func(s string) string { return digest.SHA256Of([]byte(s)).String() }
	for _, tt := range []struct {
		name   string
		damage func(dir string) error
		says   []string
	}{
		{"flipped bit", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "libllama.v9.so"), []byte("llamb"), 0o600)
		},
			[]string{"libllama.v9.so: got " + sum("llamb") + ", want " + sum("llama"), "edge setup --repair"}},
		{"library and manifest swapped together", func(dir string) error {
			path := filepath.Join(dir, "manifest.json")
			manifest, err := os.ReadFile(path)
			forged := strings.ReplaceAll(string(manifest), sum("llama"), sum("evil!"))
			return errors.Join(err, os.WriteFile(path, []byte(forged), 0o600), os.WriteFile(filepath.Join(dir, "libllama.v9.so"), []byte("evil!"), 0o600))
		}, []string{"libllama.v9.so: got " + sum("evil!"), "manifest.json"}},
		{"library longer", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "libggml-cpu-x64.so"), []byte("cpu+"), 0o600)
		},
			[]string{"libggml-cpu-x64.so", "4 bytes, not 3"}},
		{"library missing", func(dir string) error { return os.Remove(filepath.Join(dir, "libggml-cpu-x64.so")) },
			[]string{"libggml-cpu-x64.so", "no such file"}},
		{"library behind a link", func(dir string) error {
			path := filepath.Join(dir, "libggml-base.so")
			return errors.Join(os.Rename(path, filepath.Join(filepath.Dir(dir), "elsewhere")), os.Symlink("../elsewhere", path))
		}, []string{"libggml-base.so", "isn't a plain file"}},
		{"one library more, which the engine would load", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "libggml-cpu-evil.so"), nil, 0o600)
		}, []string{"libggml-cpu-evil.so: got a file, want no such file"}},
		{"remote procedure calls", func(dir string) error { return os.WriteFile(filepath.Join(dir, "libggml-rpc.so"), nil, 0o600) },
			[]string{"libggml-rpc.so"}},
		{"a library of the system, which would be found first", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "libstdc++.so.6"), nil, 0o600)
		}, []string{"libstdc++.so.6"}},
		{"second name for something else", func(dir string) error {
			path := filepath.Join(dir, "libllama.so")
			return errors.Join(os.Remove(path), os.Symlink("libggml.v9.so", path))
		}, []string{"libllama.so: got a link to libggml.v9.so, want a link to libllama.v9.so"}},
		{"second name that is a file of its own", func(dir string) error {
			path := filepath.Join(dir, "libllama.so")
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("llama"), 0o600))
		}, []string{"libllama.so: got something else"}},
		{"second name missing", func(dir string) error { return os.Remove(filepath.Join(dir, "libllama.so")) },
			[]string{"libllama.so: got something else"}},
		{"manifest missing", func(dir string) error { return os.Remove(filepath.Join(dir, "manifest.json")) },
			[]string{"manifest.json"}},
		{"manifest longer", func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, "manifest.json"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("\n")
			return errors.Join(err, f.Close())
		}, []string{"manifest.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, dir := setUp(t)
			if err := tt.damage(dir); err != nil {
				t.Fatal(err)
			}
			_, err := w.Runtime(t.Context())
			wantFault(t, err, fault.CodeRuntimeDigestMismatch, append(tt.says, dir)...)
			if len(fault.From(err).Mismatches) == 0 {
				t.Error("no mismatches are listed")
			}
		})
	}
}

func TestRuntimeEveryByte(t *testing.T) {
	w, dir := setUp(t)
	for _, e := range engineFiles()[3:] {
		path := filepath.Join(dir, filepath.Base(e.name))
		for i := range e.content {
			flipped := []byte(e.content)
			flipped[i] ^= 1
			writeFile(t, path, flipped)
			if _, err := w.Runtime(t.Context()); !fault.Is(err, fault.CodeRuntimeDigestMismatch) {
				t.Errorf("%s with byte %d flipped: %v", path, i, err)
			}
		}
		writeFile(t, path, []byte(e.content))
	}
	if _, err := w.Runtime(t.Context()); err != nil {
		t.Errorf("restored: %v", err)
	}
}

func TestRuntimeMissing(t *testing.T) {
	w, _, _ := engineWorld(t, models.Config{})
	_, err := w.Runtime(t.Context())
	wantFault(t, err, fault.CodeRuntimeNotFound, "test-x64", w.home.Runtime(), "edge setup")

	set, dir := setUp(t)
	writeFile(t, filepath.Join(dir, ".DS_Store"), nil)
	if _, err := set.Runtime(t.Context()); err != nil {
		t.Errorf("a hidden file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Runtime(ctx); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// An archive is read as one that may be forged; nothing of a bad one is ever seen in the runtime folder.
func TestSetupFromABadPackage(t *testing.T) {
	with := func(more ...entry) func(*testing.T) []byte {
		return func(t *testing.T) []byte { return pack(t, append(more, engineFiles()...)) }
	}
	for _, tt := range []struct {
		name  string
		bytes func(*testing.T) []byte
		says  string
	}{
		{"reaches outside", with(entry{"../../libggml-base.so", tar.TypeReg, "base"}), "reaches outside"},
		{"reaches outside from below", with(entry{"package/../../x", tar.TypeReg, "x"}), "reaches outside"},
		{"absolute", with(entry{"/tmp/libggml-base.so", tar.TypeReg, "base"}), "reaches outside"},
		{"with the other slash", with(entry{`..\libggml-base.so`, tar.TypeReg, "base"}), "reaches outside"},
		{"symbolic link", with(entry{"package/bins/test-x64/libllama.v9.so", tar.TypeSymlink, "/etc/passwd"}), "isn't a file"},
		{"hard link", with(entry{"package/bins/test-x64/libllama.v9.so", tar.TypeLink, "package/LICENSE"}), "isn't a file"},
		{"device", with(entry{"package/bins/test-x64/libllama.v9.so", tar.TypeChar, ""}), "isn't a file"},
		{"other bytes", with(entry{"package/bins/test-x64/libllama.v9.so", tar.TypeReg, "llamb"}), "libllama.v9.so isn't the pinned library"},
		{"longer library", with(entry{"package/bins/test-x64/libllama.v9.so", tar.TypeReg, "llama and more"}), "libllama.v9.so isn't the pinned library"},
		{"library missing", func(t *testing.T) []byte { return pack(t, engineFiles()[:6]) }, "lacks libllama.v9.so"},
		{"nothing in it", func(t *testing.T) []byte { return pack(t, nil) }, "lacks"},
		{"cut short", func(t *testing.T) []byte { b := pack(t, engineFiles()); return b[:len(b)/2] }, "unexpected EOF"},
		{"not an archive", func(*testing.T) []byte { return []byte("hello") }, "isn't a gzip archive"},
		{"compressed, but no archive", func(t *testing.T) []byte {
			var b bytes.Buffer
			zip := gzip.NewWriter(&b)
			io.WriteString(zip, strings.Repeat("hello", 1000))
			zip.Close()
			return b.Bytes()
		}, "can't be read"},
		{"too many entries", func(t *testing.T) []byte {
			var many []entry
			for range 10_001 {
				many = append(many, entry{"package/x", tar.TypeReg, ""})
			}
			return pack(t, append(many, engineFiles()...))
		}, "more than 10000 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, tgz, model := engineWorld(t, models.Config{})
			writeFile(t, tgz, tt.bytes(t))
			_, err := w.Setup(t.Context(), models.SetupOptions{From: []string{tgz, model}})
			wantFault(t, err, fault.CodeRuntimeDigestMismatch, tt.says, "npm pack")
			nothingLeft(t, w)
		})
	}
}

// nothingLeft asserts that a failed setup left no engine, no model and no temporary file.
func nothingLeft(t *testing.T, w *world) {
	t.Helper()
	err := filepath.WalkDir(w.home.Path(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Base(path) != "setup.lock" && !strings.HasSuffix(path, ".gguf.lock") {
			t.Errorf("left behind: %s", path)
		}
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestBounded(t *testing.T) {
	got, err := io.ReadAll(models.Bounded(strings.NewReader("12345"), 5))
	if string(got) != "12345" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := io.ReadAll(models.Bounded(strings.NewReader("123456"), 5)); err == nil {
		t.Error("one byte more than allowed passed for the end")
	}
}
