package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/internal/digest"
	"edge/runner"
	"edge/tools"
)

func spareConfig(t *testing.T, extra ...string) runner.Config {
	t.Helper()
	return runner.Config{Environ: slices.Concat(os.Environ(), extra), Sandbox: runner.SandboxOff, Rand: rand.Reader}
}

// ready waits until a spare runner stands.
func ready(t *testing.T, s *spares, cfg runner.Config) {
	t.Helper()
	s.prepare(cfg)
	s.work.Wait()
	if s.count() != 1 {
		t.Fatal("no spare runner")
	}
}

func TestASpareRunnerIsUsedOnlyWhereItIsTheSame(t *testing.T) {
	bin := t.TempDir()
	python, err := runner.New(spareConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(bin, "python3")
	install := func(comment string) {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n# "+comment+"\nexec "+python.Python().Path+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	install("first")
	cfg := spareConfig(t, "EDGE_PYTHON="+script, "LANG=C")
	for name, test := range map[string]struct {
		change func(*runner.Config)
		same   bool
	}{
		"same":                     {func(*runner.Config) {}, true},
		"a variable of no concern": {func(c *runner.Config) { c.Environ = append(slices.Clone(c.Environ), "WINDOWID=7") }, true},
		"another language":         {func(c *runner.Config) { c.Environ = append(slices.Clone(c.Environ), "LC_ALL=de_DE.UTF-8") }, false},
		"another path":             {func(c *runner.Config) { c.Environ = append(slices.Clone(c.Environ), "PATH=/usr/bin") }, false},
		"another home":             {func(c *runner.Config) { c.Environ = append(slices.Clone(c.Environ), "HOME=/tmp") }, false},
		"another sandbox":          {func(c *runner.Config) { c.Sandbox = runner.SandboxAuto }, false},
		"no named interpreter":     {func(c *runner.Config) { c.Environ = append(slices.Clone(c.Environ), "EDGE_PYTHON=") }, false},
		"the program changed":      {func(*runner.Config) { install("another, longer") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			install("first")
			var s spares
			defer s.close()
			ready(t, &s, cfg)
			other := cfg
			test.change(&other)
			sp := s.take(other)
			if (sp != nil) != test.same {
				t.Errorf("taken: %t", sp != nil)
			}
			if sp != nil {
				sp.runner.Close()
				if s.take(other) != nil {
					t.Error("taken twice")
				}
			}
		})
	}
}

func TestASpareRunnerWorksForItsChat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.py")
	source := "from edgestudio.tools import edge_tool\nprint('at the top')\n@edge_tool\ndef double(n: int) -> dict:\n    return {'n': 2 * n}\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var s spares
	cfg := spareConfig(t)
	ready(t, &s, cfg)
	var printed bytes.Buffer
	cfg.Stderr = &printed
	r, err := s.runner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.count() != 0 {
		t.Fatal("the spare runner wasn't used")
	}
	in, err := r.Inspect(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	if in.FileSHA256 != digest.SHA256Of([]byte(source)) || len(in.Tools) != 1 {
		t.Errorf("got %+v", in)
	}
	if _, err := tools.Freeze(in, tools.Selection{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(printed.String(), "at the top") {
		t.Errorf("printed %q", printed.String())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	s.close()
	s.prepare(cfg) // after the end nothing begins
	if s.work.Wait(); s.count() != 0 {
		t.Error("a spare runner after the end")
	}
}

func TestASpareRunnerIsLetGo(t *testing.T) {
	dir := t.TempDir()
	cfg := spareConfig(t)
	cfg.TempDir = dir
	var s spares
	before := time.Now()
	ready(t, &s, cfg)
	ready(t, &s, cfg) // takes the first one's place
	s.evict(before)
	if s.count() != 1 {
		t.Error("let go too early")
	}
	s.evict(time.Now())
	if s.count() != 0 {
		t.Error("kept")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	s.close()
}

func TestRelay(t *testing.T) {
	var r relay
	r.Write([]byte("before "))
	r.Write(bytes.Repeat([]byte("x"), 2*maxHeld))
	if r.held.Len() != maxHeld {
		t.Errorf("held %d", r.held.Len())
	}
	var out bytes.Buffer
	r.to(&out)
	r.Write([]byte("after"))
	if text := out.String(); len(text) != maxHeld+5 || !strings.HasPrefix(text, "before x") || !strings.HasSuffix(text, "xafter") {
		t.Errorf("%d bytes", len(text))
	}
}
