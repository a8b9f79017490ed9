package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"

	"github.com/google/go-cmp/cmp"
)

// code gives the code of err, "" for none.
func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func TestInspect(t *testing.T) {
	b := newBench(t)
	path := b.write(`@edge_tool(name="fee_quote", description="Quote the fee.", intent_tags=["billing"])
def fee(amount: float, tier: Literal["basic", "pro"] = "basic") -> dict:
    return {}

@edge_tool(description="Draft.", execution_level="prepare", return_direct=True,
           output_schema={"type": "object", "properties": {}, "additionalProperties": False}, permissions=["read_local"])
def draft() -> dict:
    return {}
`)
	got, err := b.runner.Inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := tools.Inspection{
		Path:             path,
		FileSHA256:       digest.SHA256Of(source),
		GeneratorVersion: got.GeneratorVersion,
		PythonVersion:    b.runner.Python().Version,
		Tools: []tools.Tool{{
			Name: "fee_quote", Description: "Quote the fee.", ExecutionLevel: tools.Read, Permissions: []string{}, IntentTags: []string{"billing"}, Line: got.Tools[0].Line,
			Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{"amount":{"type":"number"},"tier":{"default":"basic","enum":["basic","pro"],"type":"string"}},"required":["amount"],"type":"object"}`),
		}, {
			Name: "draft", Description: "Draft.", ExecutionLevel: tools.Prepare, ReturnDirect: true, Permissions: []string{"read_local"}, IntentTags: []string{}, Line: got.Tools[1].Line,
			Parameters:   json.RawMessage(`{"additionalProperties":false,"properties":{},"required":[],"type":"object"}`),
			OutputSchema: json.RawMessage(`{"additionalProperties":false,"properties":{},"type":"object"}`),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.GeneratorVersion == "" || got.Tools[0].Line < 1 || got.Tools[1].Line <= got.Tools[0].Line {
		t.Errorf("generator %q, lines %d and %d", got.GeneratorVersion, got.Tools[0].Line, got.Tools[1].Line)
	}
}

func TestInspectProblems(t *testing.T) {
	b := newBench(t)
	path := b.write("@edge_tool\ndef a(x, y: dict):\n    'd'\n\n@edge_tool(name='no spaces')\ndef b():\n    'd'\n\n@edge_tool\ndef c():\n    return 1\n")
	got, err := b.runner.Inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var codes []fault.Code
	for _, p := range got.Problems {
		codes = append(codes, p.Code)
		if p.Line == 0 || p.Message == "" || p.Tool == "" {
			t.Errorf("a problem without line, message or tool: %+v", p)
		}
	}
	want := []fault.Code{fault.CodeMissingParameterTypeHint, fault.CodeUnsupportedTypeHint, fault.CodeInvalidToolName}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Warnings) == 0 {
		t.Error("no warning about a missing description")
	}
}

func TestInspectRefuses(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timeout = time.Second })
	for _, c := range []struct {
		name, path string
		want       fault.Code
	}{
		{"a missing file", filepath.Join(b.project, "none.py"), fault.CodeToolsFileNotFound},
		{"a folder", b.project, fault.CodeToolsFileNotFound},
		{"a file where a folder should be", filepath.Join(b.write("@edge_tool\n"), "tools.py"), fault.CodeToolsFileNotFound},
		{"a name that is too long", filepath.Join(b.project, strings.Repeat("x", 5000)), fault.CodeToolsFileNotFound},
		{"a top level that never ends", b.write("@edge_tool\ndef f():\n    'd'\nwhile True: pass\n"), fault.CodeRunnerTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := b.runner.Inspect(t.Context(), c.path); code(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCallResults(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ body, arguments, want string }{
		{"return 'x'", `{}`, `{"result":"x"}`},
		{"return None", `{}`, `{"result":null}`},
		{"return {'b': 1, 'a': [True, 2.5]}", `{}`, `{"a":[true,2.5],"b":1}`},
		{"return '日本 ✓ 𝄞 \\u2028 <&>'", `{}`, `{"result":"日本 ✓ 𝄞 ` + "\u2028" + ` <&>"}`},
		{"@edge_tool\ndef f(naïve: str, n: Optional[int] = None, flag: bool = True):\n    'd'\n    return [naïve, n, flag]\n",
			`{"n":9007199254740991,"naïve":"é\u0000\"\\𝄞"}`, `{"result":["é\u0000\"\\𝄞",9007199254740991,true]}`},
		{"@edge_tool\nasync def f():\n    'd'\n    import asyncio\n    await asyncio.sleep(0)\n    return 5\n", `{}`, `{"result":5}`},
		{"import asyncio\nasync def g(): return 6\nreturn asyncio.run(g())", `{}`, `{"result":6}`},
		{"import threading\ngot = []\nt = threading.Thread(target=lambda: got.append(7))\nt.start(); t.join()\nreturn got[0]", `{}`, `{"result":7}`},
		{"return {'a': 'x' * (65536 - 8)}", `{}`, `{"a":"` + strings.Repeat("x", 65536-8) + `"}`},
	} {
		t.Run(c.body[:min(len(c.body), 40)], func(t *testing.T) {
			b := &bench{t, b.runner, t.TempDir(), b.temp, b.printed}
			got := b.want(c.body, c.arguments, c.want)
			if !got.SecretVerified || got.Duration <= 0 || len(got.Sandbox) == 0 || !got.TracebackSHA256.IsZero() {
				t.Errorf("secret %v, duration %v, sandbox %s, traceback %s", got.SecretVerified, got.Duration, got.Sandbox, got.TracebackSHA256)
			}
		})
	}
}

func TestCallFailures(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		body string
		want fault.Code
		// says and hides are parts that the message must and must not have.
		says, hides string
	}{
		{"raise ValueError('secret-4711')", fault.CodeToolRaised, "ValueError", "4711"},
		{"return input()", fault.CodeToolRaised, "EOFError", ""},
		{"return {1, 2}", fault.CodeUnsupportedToolResult, "", ""},
		{"return float('nan')", fault.CodeUnsupportedToolResult, "", ""},
		{"return 'x' * 70000", fault.CodeToolResultOversized, "65536", ""},
		{"return {'a': 'x' * (65536 - 7)}", fault.CodeToolResultOversized, "65536", ""},
		{"return bytearray(3 << 30)", fault.CodeToolRaised, "MemoryError", ""},
		{"import sys; sys.exit(0)", fault.CodeToolRaised, "SystemExit", ""},
		{"import os; os._exit(3)", fault.CodeRunnerCrashed, "exit status 3", ""},
		{"import os; os._exit(0)", fault.CodeRunnerCrashed, "exit status 0", ""},
		{"import os, signal; os.kill(os.getpid(), signal.SIGKILL)", fault.CodeRunnerCrashed, "killed", ""},
		{"import os, signal; os.abort()", fault.CodeRunnerCrashed, "abort", ""},
	} {
		t.Run(c.body, func(t *testing.T) {
			b := &bench{t, b.runner, t.TempDir(), b.temp, b.printed}
			got, err := b.call(c.body, "{}")
			if code(err) != c.want || !strings.Contains(err.Error(), c.says) || (c.hides != "" && strings.Contains(err.Error(), c.hides)) {
				t.Fatalf("got %v %v, want %s with %q and without %q", code(err), err, c.want, c.says, c.hides)
			}
			var fe *fault.Error
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), "tool f") {
				t.Errorf("%v isn't a fault that names the tool", err)
			}
			if len(got.Canonical) > 0 || len(got.Sandbox) == 0 {
				t.Errorf("result %s and sandbox %s beside an error", got.Canonical, got.Sandbox)
			}
			if raised := c.want == fault.CodeToolRaised; raised == got.TracebackSHA256.IsZero() {
				t.Errorf("digest of a traceback: %s", got.TracebackSHA256)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"sleeping", "import time; time.sleep(60)"},
		{"busy", "while True: pass"},
		{"deaf to signals", "import signal, time\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)"},
		{"printing", "while True: print('x' * 1000)"},
	} {
		for _, mode := range []SandboxMode{SandboxAuto, SandboxOff} {
			t.Run(c.name+", sandbox "+string(mode), func(t *testing.T) {
				b := newBench(t, withSandbox(mode), func(c *Config) { c.Timeout = time.Second })
				got, err := b.call(c.body, "{}")
				if code(err) != fault.CodeRunnerTimeout {
					t.Fatalf("got %v, want %s", err, fault.CodeRunnerTimeout)
				}
				if got.SecretVerified || got.Duration < time.Second {
					t.Errorf("secret %v, duration %v", got.SecretVerified, got.Duration)
				}
			})
		}
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t)
	set := b.freeze("import time; time.sleep(60)")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err := b.runner.Call(ctx, CallRequest{Set: set, Call: tools.Call{ToolName: "f"}})
	if code(err) != fault.CodeCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %s", err, fault.CodeCancelled)
	}
}

func TestFileChanges(t *testing.T) {
	b := newBench(t)
	body := "return 1"
	set := b.freeze(body)
	path := set.Path()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.py")
	for _, c := range []struct {
		name   string
		change func() error
		want   fault.Code
	}{
		{"a comment is added", func() error { return os.WriteFile(path, append(source, "# x\n"...), 0o600) }, fault.CodeToolsFileChanged},
		{"restored", func() error { return os.WriteFile(path, source, 0o600) }, ""},
		{"a link to other bytes takes its place", func() error {
			return errors.Join(os.WriteFile(other, []byte(strings.Replace(string(source), "1", "2", 1)), 0o600), os.Remove(path), os.Symlink(other, path))
		}, fault.CodeToolsFileChanged},
		{"a link to the same bytes takes its place", func() error { return os.WriteFile(other, source, 0o600) }, ""},
		{"it is gone", func() error { return os.Remove(path) }, fault.CodeToolsFileNotFound},
		{"a folder takes its place", func() error { return os.Mkdir(path, 0o700) }, fault.CodeToolsFileNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			// Also with a process that was started before the change.
			b.runner.Prepare()
			for range 2 {
				if _, err := b.again(set, "{}"); code(err) != c.want {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
		})
	}
}

func TestLoadedFiles(t *testing.T) {
	b := newBench(t)
	helper := []byte("VALUE = 4\n")
	if err := os.WriteFile(filepath.Join(b.project, "helper.py"), helper, 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.want("import helper\n@edge_tool\ndef f():\n    'd'\n    return helper.VALUE\n", "{}", `{"result":4}`)
	if diff := cmp.Diff([]LoadedFile{{Path: "helper.py", SHA256: digest.SHA256Of(helper)}}, got.LoadedFiles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoStateBetweenCalls(t *testing.T) {
	b := newBench(t)
	set := b.freeze("n = 0\n@edge_tool\ndef f():\n    'd'\n    global n\n    n += 1\n    return n\n")
	for range 2 {
		b.runner.Prepare()
		if got, err := b.again(set, "{}"); err != nil || string(got.Canonical) != `{"result":1}` {
			t.Errorf("got %s, %v", got.Canonical, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	secrets := []string{"GITHUB_TOKEN=t0psecret", "AWS_SECRET_ACCESS_KEY=t0psecret", "LD_PRELOAD=/t0psecret", "PYTHONSTARTUP=/t0psecret", "PYTHONPATH=/t0psecret", "SSH_AUTH_SOCK=/t0psecret", "LC_ALL=C", "TZ=UTC", "TMPDIR=/elsewhere"}
	for _, mode := range []SandboxMode{SandboxAuto, SandboxOff} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, withSandbox(mode), func(c *Config) { c.Environ = append(c.Environ, secrets...) })
			got, err := b.call("import os, tempfile\nreturn {'env': dict(os.environ), 'cwd': os.getcwd(), 'temp': tempfile.gettempdir(), 'empty': os.listdir('.') == [], 'mode': os.stat('.').st_mode & 0o777}", "{}")
			if err != nil {
				t.Fatal(err)
			}
			var seen struct {
				Env       map[string]string
				Cwd, Temp string
				Empty     bool
				Mode      int
			}
			if err := json.Unmarshal(got.Canonical, &seen); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got.Canonical), "t0psecret") {
				t.Errorf("a secret got in: %s", got.Canonical)
			}
			for _, name := range []string{"PATH", "LC_ALL", "TZ"} {
				if seen.Env[name] == "" {
					t.Errorf("%s stayed outside", name)
				}
			}
			if seen.Env["TMPDIR"] != seen.Cwd || seen.Temp != seen.Cwd || !seen.Empty || seen.Mode != 0o700 || filepath.Dir(seen.Cwd) != b.temp {
				t.Errorf("private folder: %+v", seen)
			}
			if _, err := os.Stat(seen.Cwd); !os.IsNotExist(err) {
				t.Errorf("the private folder is still there: %v", err)
			}
		})
	}
}

func TestPrintingNeverReachesTheProtocol(t *testing.T) {
	b := newBench(t)
	b.want("import os, sys\nprint('at import')\n@edge_tool\ndef f():\n    'd'\n    print('noise'); os.write(1, b'raw noise\\n'); os.write(2, b'raw error\\n'); sys.stdout.flush()\n    return 1\n", "{}", `{"result":1}`)
	for _, want := range []string{"at import", "noise", "raw noise", "raw error"} {
		if !strings.Contains(b.printed.String(), want) {
			t.Errorf("%q wasn't passed on: %q", want, b.printed)
		}
	}
}

func TestFloodIsDrainedNotKept(t *testing.T) {
	b := newBench(t)
	b.want("for i in range(200000): print('x' * 1000)\nreturn 1", "{}", `{"result":1}`)
	printed := b.printed.String()
	if len(printed) < maxOutput || len(printed) > maxOutput+200 {
		t.Errorf("got %d bytes, want the first %d", len(printed), maxOutput)
	}
	if want := "edge: 199151424 more bytes of the tool's output were dropped\n"; !strings.HasSuffix(printed, "\n"+want) {
		t.Errorf("got %q at the end, want %q", printed[len(printed)-100:], want)
	}
}

// A reader that doesn't read must not hold up a call.
func TestStuckStderr(t *testing.T) {
	release := make(chan struct{})
	b := newBench(t, func(c *Config) { c.Stderr = stuckWriter(release) })
	defer close(release)
	b.want("for i in range(2000): print('x' * 1000)\nreturn 1", "{}", `{"result":1}`)
}

type stuckWriter chan struct{}

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w
	return len(p), nil
}
