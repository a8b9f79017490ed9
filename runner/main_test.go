package runner

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/tools"
)

// The test binary is its own sandbox helper, as edge is: what is tested is the real thing.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == SandboxCommand {
		os.Exit(SandboxMain(os.Args[2:], os.Environ(), os.Stderr))
	}
	playOtherParts()
	os.Exit(m.Run())
}

// bench is a Runner with its own folders, for one test.
type bench struct {
	t      testing.TB
	runner *Runner
	// project holds the tools file, temp the private folders of the processes.
	project, temp string
	printed       *syncBuffer
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newBench(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, project: t.TempDir(), temp: t.TempDir(), printed: &syncBuffer{}}
	// A busy machine is no reason for a test to fail; the tests of the limit set their own.
	cfg := Config{TempDir: b.temp, Environ: os.Environ(), Stderr: b.printed, Executable: executable, Rand: rand.Reader, Timeout: time.Minute}
	for _, f := range change {
		f(&cfg)
	}
	if b.runner, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.runner.Close()
		left, err := os.ReadDir(b.temp)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the folder for private folders: %v, %v", left, err)
		}
	})
	return b
}

func withSandbox(mode SandboxMode) func(*Config) {
	return func(c *Config) { c.Sandbox = mode }
}

const head = "from typing import Literal, Optional\nfrom edgestudio.tools import edge_tool\n\n"

// write makes the tools file: one function f around body, or a whole file if it names edge_tool itself.
func (b *bench) write(body string) string {
	b.t.Helper()
	if !strings.Contains(body, "@edge_tool") {
		body = "@edge_tool\ndef f():\n    'd'\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
	}
	path := filepath.Join(b.project, "tools.py")
	if err := os.WriteFile(path, []byte(head+body), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) freeze(body string) *tools.ActiveSet {
	b.t.Helper()
	patient := &Runner{cfg: b.runner.cfg, python: b.runner.python, programs: b.runner.programs, args: b.runner.args, first: b.runner.first, stderr: b.runner.stderr}
	patient.cfg.Timeout = time.Minute
	in, err := patient.Inspect(b.t.Context(), b.write(body))
	if err != nil {
		b.t.Fatal(err)
	}
	set, err := tools.Freeze(in, tools.Selection{})
	if err != nil {
		b.t.Fatalf("%v: %+v", err, fault.From(err).Problems)
	}
	return set
}

// call freezes the file and calls f with arguments in JSON.
func (b *bench) call(body, arguments string) (Result, error) {
	b.t.Helper()
	return b.again(b.freeze(body), arguments)
}

func (b *bench) again(set *tools.ActiveSet, arguments string) (Result, error) {
	b.t.Helper()
	return b.runner.Call(b.t.Context(), CallRequest{Set: set, Call: tools.Call{ToolName: "f", Arguments: json.RawMessage(arguments)}})
}

// want is call for a call that must succeed.
func (b *bench) want(body, arguments, result string) Result {
	b.t.Helper()
	got, err := b.call(body, arguments)
	if err != nil {
		b.t.Fatalf("%v\nprinted: %s", err, b.printed)
	}
	if string(got.Canonical) != result {
		b.t.Fatalf("got %s, want %s", got.Canonical, result)
	}
	return got
}
