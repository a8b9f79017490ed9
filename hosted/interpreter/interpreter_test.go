package interpreter

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/hosted"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/runner"
	"edge/tools"
)

// The test binary is its own sandbox helper, as edge is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runner.SandboxCommand {
		os.Exit(runner.SandboxMain(os.Args[2:], os.Environ(), os.Stderr))
	}
	os.Exit(m.Run())
}

// environment has a folder of wheels for pip instead of the network.
func environment(t *testing.T, wheels string) hosted.Environment {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+wheels)
	python, err := runner.New(runner.Config{Environ: environ, Executable: executable, Rand: rand.Reader, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { python.Close() })
	return hosted.Environment{Home: home.Dir(t.TempDir()), Python: python, Getenv: os.Getenv}
}

func run(t *testing.T, i *Interpreter, code string, packages ...string) Output {
	t.Helper()
	out, err := i.Run(context.Background(), code, packages)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCodeIsRunAndItsOutputGiven(t *testing.T) {
	i := New(environment(t, ""))
	for _, tt := range []struct {
		name, code string
		want       Output
	}{
		{"prints", "print(6 * 7)", Output{Success: true, Stdout: "42\n"}},
		{"unicode", "print('數據 ✓')", Output{Success: true, Stdout: "數據 ✓\n"}},
		{"nothing printed", "x = 1", Output{Success: true, Note: EmptyNote}},
		{"only space printed", "print(' ')", Output{Success: true, Stdout: " \n", Note: EmptyNote}},
		{"exit status", "import sys; print('a'); sys.exit(3)", Output{Stdout: "a\n", ReturnCode: 3}},
		{"standard error", "import sys; print('e', file=sys.stderr); print('o')", Output{Success: true, Stdout: "o\n", Stderr: "e\n"}},
		{"ended by a signal", "import os; os.kill(os.getpid(), 9)", Output{ReturnCode: -9}},
		{"run as a program", "import sys; print(__name__, sys.argv, __file__)", Output{Success: true, Stdout: "__main__ ['main.py'] main.py\n"}},
		{"no input", "import sys; print(repr(sys.stdin.read()))", Output{Success: true, Stdout: "''\n"}},
		{"an error names the file without its folder", "import sys; print(repr(sys.path[0]), sys._getframe().f_code.co_filename)", Output{Success: true, Stdout: "'.' main.py\n"}},
		{"a file of its own", "open('a', 'w').write('1'); print(open('a').read())", Output{Success: true, Stdout: "1\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, i, tt.code)
			got.Sandbox = nil
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestOnlyTheEndOfOutputIsKept(t *testing.T) {
	i := New(environment(t, ""))
	got := run(t, i, "import sys\nfor i in range(100_000): print('é%06d' % i)\nsys.stderr.write('x' * 10_000 + 'end')")
	if n := len([]rune(got.Stdout)); n != StdoutChars || !strings.HasSuffix(got.Stdout, "é099999\n") {
		t.Errorf("stdout has %d characters, and ends in %q", n, got.Stdout[len(got.Stdout)-20:])
	}
	if n := len(got.Stderr); n != StderrChars || !strings.HasSuffix(got.Stderr, "xend") {
		t.Errorf("stderr has %d characters", n)
	}
}

// The largest output that there can be is a result that a chat takes.
func TestAnyOutputFitsIntoAResult(t *testing.T) {
	tool, err := Open(json.RawMessage(`{"allow_packages":false}`), environment(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	mux := hosted.Mux{By: map[string]hosted.Tool{"code_interpreter": tool}}
	for name, char := range map[string]string{"control": `\x01`, "quotes": `\"`, "wide": `\U0001F9A6`, "invalid": `\udc80`} {
		code, err := json.Marshal(map[string]string{"code": `import sys
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(errors="surrogateescape")
    stream.write("` + char + `" * 20000)`})
		if err != nil {
			t.Fatal(err)
		}
		got, err := mux.Call(context.Background(), runner.CallRequest{Call: tools.Call{ToolName: "code_interpreter", Arguments: code}})
		if err != nil || len(got.Canonical) < StdoutChars+StderrChars {
			t.Errorf("%s: %d bytes, %v", name, len(got.Canonical), err)
		}
	}
}

func TestCodeThatDoesNotEndIsEnded(t *testing.T) {
	i := New(environment(t, ""))
	i.timeout = 2 * time.Second
	for name, code := range map[string]string{
		"a loop":              "print('begun', flush=True)\nwhile True: pass",
		"output without end":  "print('begun', flush=True)\nwhile True: print('x' * 100_000)",
		"threads that stay":   "import threading, time; print('begun', flush=True); threading.Thread(target=time.sleep, args=(999,)).start()",
		"deaf to termination": "import signal, time\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except OSError: pass\nprint('begun', flush=True); time.sleep(999)",
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, i, code)
			if got.Success || got.Error != "timeout after 2s" || got.Stdout == "" || len(got.Stdout) > 4*StdoutChars {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCodeIsConfined(t *testing.T) {
	i := New(environment(t, ""))
	outside := filepath.Join(t.TempDir(), "outside")
	for name, code := range map[string]string{
		"write":   fmt.Sprintf("open(%q, 'w')", outside),
		"network": "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
		"process": "import subprocess; subprocess.run(['true'])",
		"fork":    "import os; os.fork()",
		"memory":  "b = bytearray(3 << 30)",
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, i, code)
			if got.Success || !strings.Contains(got.Stderr, "PermissionError") && !strings.Contains(got.Stderr, "MemoryError") {
				t.Errorf("got %+v", got)
			}
		})
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was written outside")
	}
}

func TestRunsLeaveNothing(t *testing.T) {
	env := environment(t, "")
	i := New(env)
	run(t, i, "import os; os.mkdir('d'); open('d/f', 'w').write('x'); print(os.getcwd())")
	if _, err := os.Stat(env.Home.Hosted()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without packages, state was made: %v", err)
	}
	if got := run(t, i, "import os; print(sorted(os.listdir('.')))"); got.Stdout != "['.site', 'main.py']\n" {
		t.Errorf("a run sees %q", got.Stdout)
	}
}

// wheel makes a wheel of one module.
func wheel(t *testing.T, dir, name, version, source string) {
	t.Helper()
	info := name + "-" + version + ".dist-info/"
	files := map[string]string{
		name + ".py":      source,
		info + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD":   name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
	}
	f, err := os.Create(filepath.Join(dir, name+"-"+version+"-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for path, text := range files {
		w, err := z.Create(path)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestPackagesAreInstalledAndStay(t *testing.T) {
	wheels := t.TempDir()
	wheel(t, wheels, "edge_abacus", "1.0", "def add(a, b): return a + b\nversion = 1\n")
	env := environment(t, wheels)

	i := New(env)
	got := run(t, i, "print(1)", "edge_abacus")
	if want := []string{"[pip install edge_abacus] refused: the network is off; it needs --allow-network"}; !got.Success || !slices.Equal(got.PipLogs, want) {
		t.Errorf("without network: %+v", got)
	}

	env.AllowNetwork = true
	i = New(env)
	const use = "import edge_abacus; print(edge_abacus.add(2, 3), edge_abacus.version)"
	if got = run(t, i, use, "edge_abacus"); got.Stdout != "5 1\n" || !slices.Equal(got.PipLogs, []string{"[pip install edge_abacus] ok"}) {
		t.Fatalf("with network: %+v", got)
	}
	env.AllowNetwork = false
	if got = run(t, New(env), use); got.Stdout != "5 1\n" || got.PipLogs != nil {
		t.Errorf("a later run: %+v", got)
	}
	if got = run(t, New(env), "import edge_abacus; open(edge_abacus.__file__, 'a')"); !strings.Contains(got.Stderr, "PermissionError") {
		t.Errorf("a package can be written to: %+v", got)
	}

	wheel(t, wheels, "edge_abacus", "2.0", "def add(a, b): return b + a\nversion = 2\n")
	if got = run(t, i, use, "edge_abacus>=2,<3"); got.Stdout != "5 2\n" {
		t.Errorf("another version: %+v", got)
	}
	if got = run(t, i, "print(1)", "edge_no_such_package"); !got.Success || len(got.PipLogs) != 1 || !strings.Contains(got.PipLogs[0], "FAILED") {
		t.Errorf("a package that isn't there: %+v", got)
	}
}

func TestOnlySimpleRequirementsAreTaken(t *testing.T) {
	for _, good := range []string{"requests", "ruamel.yaml", "A", "a-b_c.d", "requests[socks]==2.31.0", "x[a,b]>=1,<2", "n~=1.4.2", "n!=1.*", "n===1.0+local", "n>=1!2"} {
		if !Requirement(good) {
			t.Errorf("%q was refused", good)
		}
	}
	for _, bad := range []string{
		"", "-r", "--index-url=x", "-e.", ".", "./x", "/etc/passwd", "a/b", `a\b`, "a @ file:///x", "git+https://h/x", "https://h/x.whl", "x.whl ; y",
		"a b", "a;os_name=='nt'", "a==", "a==1 --pre", "a\nb", "a==1\n", "a[", "a[]", "_a", "a-", "名", strings.Repeat("a", 201), "file:x", "a=1",
	} {
		if Requirement(bad) {
			t.Errorf("%q was taken", bad)
		}
	}
	env := environment(t, "")
	env.AllowNetwork = true
	if got := run(t, New(env), "print(1)", make([]string, maxPackages+1)...); len(got.PipLogs) != 1 || !strings.Contains(got.PipLogs[0], "at most") {
		t.Errorf("many packages: %+v", got)
	}
	got := run(t, New(env), "print(1)", "--target=/", "../x")
	if len(got.PipLogs) != 2 || !strings.Contains(got.PipLogs[0], "refused") || !strings.Contains(got.PipLogs[1], "refused") {
		t.Errorf("got %+v", got)
	}
}

func TestTheHostedTool(t *testing.T) {
	env := environment(t, "")
	tool, err := Open(json.RawMessage(`{"allow_packages":false}`), env)
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	got, err := tool.Call(context.Background(), json.RawMessage(`{"code":"print(1)","packages":["x"]}`))
	if want := `{"success":true,"stdout":"1\n","stderr":"","returncode":0}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	mux := hosted.Mux{By: map[string]hosted.Tool{"code_interpreter": tool}}
	ran, err := mux.Call(context.Background(), runner.CallRequest{Call: tools.Call{ToolName: "code_interpreter", Arguments: json.RawMessage(`{"code":"1"}`)}})
	if err != nil || !strings.Contains(string(ran.Sandbox), `"level":"confined"`) {
		t.Errorf("for the receipt: %s, %v", ran.Sandbox, err)
	}
	if _, err := Open(json.RawMessage(`{"container":"x"}`), env); !fault.Is(err, fault.CodeInvalidToolMetadata) {
		t.Errorf("an unknown option: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tool.Call(cancelled, json.RawMessage(`{"code":"print(1)"}`)); !fault.Is(err, fault.CodeCancelled) {
		t.Errorf("cancelled: %v", err)
	}
}
