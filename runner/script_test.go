package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/internal/fault"
)

func (b *bench) script(source string, change ...func(*Script)) (ScriptResult, error) {
	b.t.Helper()
	s := Script{Source: []byte(source), Timeout: time.Minute, StdoutChars: 1000, StderrChars: 1000}
	for _, f := range change {
		f(&s)
	}
	return b.runner.Script(b.t.Context(), s)
}

func TestScript(t *testing.T) {
	b := newBench(t)
	got, err := b.script("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(4)")
	if err != nil {
		t.Fatal(err)
	}
	var block map[string]any
	if err := json.Unmarshal(got.Sandbox, &block); err != nil || block["level"] != "confined" {
		t.Errorf("sandbox: %s, %v", got.Sandbox, err)
	}
	if got.Stdout != "out\n" || got.Stderr != "err\n" || got.ExitCode != 4 || got.TimedOut {
		t.Errorf("got %+v", got)
	}
}

func TestScriptSeesNoSecret(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Environ = append(c.Environ, "API_KEY=secret", "PYTHONSTARTUP=/x") })
	got, err := b.script("import os\nprint(sorted(k for k in os.environ if k == 'API_KEY' or k.startswith('PYTHON')))")
	if err != nil || got.Stdout != "['PYTHONHASHSEED', 'PYTHONPATH']\n" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestScriptIsTheSameEachTime(t *testing.T) {
	b := newBench(t)
	const source = "import os, sys\nprint({'a', 'b', 'c', 'd'}, os.getcwd(), sys.path[0])\nraise ValueError"
	first, err := b.script(source)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.script(source)
	if err != nil || first.Stdout != second.Stdout || first.Stderr != second.Stderr || !strings.Contains(first.Stderr, `"main.py", line 3`) {
		t.Errorf("got %+v, then %+v, %v", first, second, err)
	}
}

func TestScriptPackages(t *testing.T) {
	b := newBench(t)
	packages := t.TempDir()
	for name, source := range map[string]string{"edge_extra.py": "value = 'packaged'", "json.py": "raise SystemExit('shadowed')"} {
		if err := os.WriteFile(filepath.Join(packages, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(s *Script) { s.Packages = packages }
	if got, err := b.script("import json, edge_extra\nprint(json.dumps(edge_extra.value))", with); err != nil || got.Stdout != "\"packaged\"\n" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := b.script("import edge_extra"); err != nil || !strings.Contains(got.Stderr, "ModuleNotFoundError") {
		t.Errorf("without: %+v, %v", got, err)
	}
	if got, err := b.script("import edge_extra\nopen(edge_extra.__file__, 'w')", with); err != nil || !strings.Contains(got.Stderr, "PermissionError") {
		t.Errorf("written to: %+v, %v", got, err)
	}
}

func TestScriptRunsInTheSandboxOnly(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Executable = "" })
	got, err := b.script("print(1)")
	if canEnforce("") == nil {
		if err != nil {
			t.Errorf("a platform that needs no helper: %v", err)
		}
	} else if !fault.Is(err, fault.CodeSandboxUnavailable) || !strings.Contains(fault.From(err).NextStep(), "--sandbox off") {
		t.Errorf("got %+v, %v", got, err)
	}
	off := newBench(t, withSandbox(SandboxOff))
	marker := filepath.Join(t.TempDir(), "marker")
	if got, err := off.script("open(" + quotePython(marker) + ", 'w')\nprint(1)"); err != nil || got.Stdout != "1\n" {
		t.Errorf("with the sandbox off: %+v, %v", got, err)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("with the sandbox off: %v", err)
	}
}

func TestScriptEndsWithItsLimitAndItsContext(t *testing.T) {
	b := newBench(t)
	if got, err := b.script("while True: pass", func(s *Script) { s.Timeout = 300 * time.Millisecond }); err != nil || !got.TimedOut {
		t.Errorf("limit: %+v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.runner.Script(ctx, Script{Source: []byte("while True: pass"), Timeout: time.Minute}); !fault.Is(err, fault.CodeRunnerTimeout) {
		t.Errorf("deadline: %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := b.runner.Script(ended, Script{Source: []byte("print(1)"), Timeout: time.Minute}); !fault.Is(err, fault.CodeCancelled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	for _, tt := range []struct {
		chars  int
		writes []string
		want   string
	}{
		{3, []string{"ab", "cd", "e"}, "cde"},
		{3, []string{"é", "ü", "ö", "ä"}, "üöä"},
		{3, []string{strings.Repeat("x", 1000), "ab"}, "xab"},
		{2, []string{"a\xff"}, "a\uFFFD"},
		{9, []string{"in /p/q/main.py"}, "n main.py"},
		{9, []string{"in /p/q"}, "in ."},
		{0, []string{"a"}, ""},
	} {
		w := &tail{chars: tt.chars}
		for _, text := range tt.writes {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := w.text("/p/q"); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.writes, got, tt.want)
		}
	}
}
