package computer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/hosted"
	"edge/internal/fault"
	"edge/internal/home"
)

// helperVariable has this test's program start a browser, say so, and wait for its end.
const helperVariable = "EDGE_TEST_BROWSER_HOME"

func TestMain(m *testing.M) {
	if folder := os.Getenv(helperVariable); folder != "" {
		tool, err := New(json.RawMessage(`{"pages":"."}`), hosted.Environment{Home: home.Dir(folder), Getenv: os.Getenv, Base: folder})
		if err == nil {
			_, err = tool.Call(context.Background(), json.RawMessage(`{"action":"screenshot"}`))
		}
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString("ready\n")
		select {}
	}
	os.Exit(m.Run())
}

// browsers are the processes that have TMPDIR among their arguments or below it: of one test's browser.
func browsers(dir string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(environ), "\x00"), "TMPDIR="+dir) {
			program, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
			if strings.Contains(program, "chrom") {
				found = append(found, filepath.Base(filepath.Dir(path))+" "+program)
			}
		}
	}
	return found
}

// eventually waits for a state that another process comes to.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error(what)
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	tool := open(t, environment(t), map[string]any{"pages": "."})
	does(t, tool, `{"action":"screenshot"}`)
	if len(browsers(dir)) == 0 {
		t.Fatal("no browser runs")
	}
	if err := tool.endBrowser(); err != nil {
		t.Error(err)
	}
	eventually(t, "the browser still runs", func() bool { return len(browsers(dir)) == 0 })
	wantEmpty(t, dir)
	// The next call begins anew.
	does(t, tool, `{"action":"screenshot"}`)
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "chromedp-runner") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

func TestTheBrowserDiesWithEdge(t *testing.T) {
	dir := t.TempDir()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"="+t.TempDir(), "TMPDIR="+dir)
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" || len(browsers(dir)) == 0 {
		t.Fatalf("%q, %v, %v", line, err, browsers(dir))
	}
	helper.Process.Kill()
	helper.Wait()
	eventually(t, "the browser outlives edge", func() bool { return len(browsers(dir)) == 0 })
}

func TestABrowserThatDiedIsStartedAgain(t *testing.T) {
	tool := open(t, environment(t), map[string]any{"pages": "."})
	does(t, tool, `{"action":"screenshot"}`)
	tool.browser.cancel()
	wantIn(t, does(t, tool, `{"action":"wait","ms":1}`).Output, "url: about:blank")
}

func TestNoBrowser(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"none on the path": {"EDGE_CHROMIUM": "", "PATH": t.TempDir()},
		"EDGE_CHROMIUM":    {"EDGE_CHROMIUM": filepath.Join(t.TempDir(), "nothing")},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range variables {
				t.Setenv(variable, value)
			}
			tool := open(t, environment(t), map[string]any{"pages": "."})
			_, err := tool.Call(context.Background(), json.RawMessage(`{"action":"screenshot"}`))
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.CodeBrowserNotFound {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatTheToolMayBeGiven(t *testing.T) {
	env := environment(t)
	for options, want := range map[string]fault.Code{
		`{}`:                                  fault.CodeNetworkNotAllowed,
		`{"pages":"none"}`:                    fault.CodeInvalidToolMetadata,
		`{"sites":["http://example.com"]}`:    fault.CodeInvalidToolMetadata,
		`{"sites":["http://127.0.0.1/path"]}`: fault.CodeInvalidToolMetadata,
		`{"sites":["https://localhost"]}`:     fault.CodeInvalidToolMetadata,
		`{"pages":".","more":1}`:              fault.CodeInvalidToolMetadata,
	} {
		if _, err := New(json.RawMessage(options), env); !fault.Is(err, want) {
			t.Errorf("%s: got %v, want %s", options, err, want)
		}
	}
	tool := open(t, env, map[string]any{"pages": ".", "start_url": "none.html"})
	if _, err := tool.Call(context.Background(), json.RawMessage(`{"action":"screenshot"}`)); !fault.Is(err, fault.CodeInvalidToolMetadata) {
		t.Errorf("start_url: got %v", err)
	}
	env.AllowNetwork = true
	open(t, env, map[string]any{})
}
