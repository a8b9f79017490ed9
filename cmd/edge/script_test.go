package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"edge/internal/home"
	"edge/models"
)

// The scripts in testdata/script are edge's end-to-end tests: a real engine, the default model, real Python. All three
// are required. Each script has an EDGE_HOME of its own, whose engine and model are those that `make setup` fetched;
// $IMPRINT, $TOOLS and $SAMPLE are what all scripts share, learned once.

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"edge": func() { os.Exit(run()) }})
}

func TestScripts(t *testing.T) {
	s := newStage(t)
	testscript.RunT(oneByOne{t}, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               s.setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonField, "refused": refused, "flip": flip, "append": appendTo, "cut": cut,
		},
	})
}

// oneByOne runs scripts one after the other: the engine's threads spin, and two engines at once starve each other.
type oneByOne struct{ *testing.T }

func (oneByOne) Parallel()     {}
func (oneByOne) Verbose() bool { return testing.Verbose() }
func (t oneByOne) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(oneByOne{t}) })
}

// stage is what all scripts share.
type stage struct {
	home      home.Dir // where make setup has put engine and model
	dir       string
	python    string
	identity  []byte // the cache of model identities, for the path modelPath
	modelPath string
}

const (
	sharedTools = `from typing import Literal
from edgestudio.tools import edge_tool

@edge_tool(description="Compute the service fee for an amount.", intent_tags=["billing"])
def calculate_fee(amount: float, tier: Literal["basic", "pro"] = "basic") -> dict:
    print("computing the fee")
    return {"fee": amount * (0.003 if tier == "basic" else 0.002)}

@edge_tool
def order_status(order_id: str) -> dict:
    """Look up the status of a local order record."""
    return {"order_id": order_id, "status": "shipped"}
`
	sharedSample = `{"schema":"edge.learn_sample/v1","profile":{"system":"You are a billing assistant.","facts":["The shop is in Porto."]},
"examples":[
 {"prompt":"What is the fee for 250?","call":{"tool_name":"calculate_fee","arguments":{"amount":250}}},
 {"prompt":"Fee of 75, tier pro","call":{"tool_name":"calculate_fee","arguments":{"amount":75,"tier":"pro"}}},
 {"prompt":"Where is order A-17?","call":{"tool_name":"order_status","arguments":{"order_id":"A-17"}}},
 {"prompt":"Status of order 555","call":{"tool_name":"order_status","arguments":{"order_id":"555"}}},
 {"prompt":"Thanks, bye","answer":"You're welcome."},
 {"prompt":"Hello","answer":"Hi! How can I help?"}]}
`
)

func newStage(t *testing.T) *stage {
	t.Helper()
	real, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{home: real, dir: t.TempDir()}
	model := filepath.Join(real.Models(), models.DefaultModel+".gguf")
	for _, needed := range []string{real.Runtime(), model} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: these tests need the engine and the default model: run make setup", err)
		}
	}
	for _, name := range []string{"python3", "python"} {
		out, err := exec.Command(name, "-c", "import sys; print(sys.executable if sys.version_info >= (3, 10) else '')").Output()
		if s.python = strings.TrimSpace(string(out)); err == nil && s.python != "" {
			break
		}
	}
	if s.python == "" {
		t.Fatal("these tests need Python 3.10 or newer")
	}
	s.write(t, "tools.py", sharedTools)
	s.write(t, "sample.json", sharedSample)
	own := filepath.Join(s.dir, "home")
	s.modelPath = filepath.Join(own, "models", models.DefaultModel+".gguf")
	if err := s.furnish(own); err != nil {
		t.Fatal(err)
	}
	learn := exec.Command("edge", "demo", "learn", "run", "--sample-file", "sample.json", "--tools", "tools.py", "--out", "shop.imprint", "--json")
	learn.Dir, learn.Env = s.dir, append(os.Environ(), "EDGE_HOME="+own, "EDGE_THREADS=1", "EDGE_PYTHON="+s.python)
	var problems bytes.Buffer
	learn.Stderr = &problems
	out, err := learn.Output()
	if err != nil {
		t.Fatalf("learning the shared imprint: %v\n%s%s", err, out, problems.Bytes())
	}
	// Hashing the model is slow, and was done now.
	if s.identity, err = os.ReadFile(filepath.Join(own, "models", "identities.json")); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// furnish makes an EDGE_HOME with the real engine and model, which stay where they are.
func (s *stage) furnish(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "models"), 0o700); err != nil {
		return err
	}
	model := models.DefaultModel + ".gguf"
	if err := os.Symlink(filepath.Join(s.home.Models(), model), filepath.Join(dir, "models", model)); err != nil {
		return err
	}
	if s.identity != nil {
		moved := bytes.ReplaceAll(s.identity, quoted(s.modelPath), quoted(filepath.Join(dir, "models", model)))
		if err := os.WriteFile(filepath.Join(dir, "models", "identities.json"), moved, 0o600); err != nil {
			return err
		}
	}
	return os.Symlink(s.home.Runtime(), filepath.Join(dir, "runtime"))
}

func quoted(text string) []byte {
	raw, _ := json.Marshal(text) // a string can't fail
	return raw
}

func (s *stage) setup(e *testscript.Env) error {
	dir := filepath.Join(e.WorkDir, "home")
	if err := s.furnish(dir); err != nil {
		return err
	}
	e.Setenv("EDGE_HOME", dir)
	e.Setenv("EDGE_THREADS", "1")
	e.Setenv("EDGE_PYTHON", s.python)
	e.Setenv("TOOLS", filepath.Join(s.dir, "tools.py"))
	e.Setenv("SAMPLE", filepath.Join(s.dir, "sample.json"))
	e.Setenv("IMPRINT", filepath.Join(s.dir, "shop.imprint"))
	e.Setenv("PYTHON", s.python)
	e.Setenv("REAL_RUNTIME", s.home.Runtime())
	e.Setenv("MODEL", filepath.Join(s.home.Models(), models.DefaultModel+".gguf"))
	zoo, err := filepath.Abs(filepath.Join("..", "..", "testdata", "zoo", "llama.gguf"))
	if err != nil {
		return err
	}
	e.Setenv("ZOO", zoo)
	// The shared file must be what it was, whatever a script has done.
	before, err := os.ReadFile(filepath.Join(s.dir, "shop.imprint"))
	if err != nil {
		return err
	}
	e.Defer(func() {
		if after, err := os.ReadFile(filepath.Join(s.dir, "shop.imprint")); err != nil || !bytes.Equal(before, after) {
			e.T().Fatal("the shared imprint was changed: ", err)
		}
	})
	return nil
}

// exits runs a command that must end with a status: exits 11 edge …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGUMENT…]")
	}
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		status = exit.ExitCode()
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// jsonField looks into the one JSON object on standard output: json PATH WANT, or ! json PATH where it must be absent.
// WANT is JSON text, or else a string; * is anything that is there.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || neg != (len(args) == 1) {
		ts.Fatalf("usage: json PATH WANT, or ! json PATH")
	}
	value, ok := lookup(ts, oneObject(ts), args[0])
	switch {
	case neg && ok:
		ts.Fatalf("%s is there: %s", args[0], compact(value))
	case neg:
		return
	case !ok:
		ts.Fatalf("%s isn't there", args[0])
	case args[1] == "*":
		return
	}
	if got := compact(value); got != args[1] && got != string(quoted(args[1])) {
		ts.Fatalf("%s: got %s, want %s", args[0], got, args[1])
	}
}

func oneObject(ts *testscript.TestScript) map[string]any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil {
		ts.Fatalf("standard output isn't a JSON object: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("standard output has something behind its JSON object")
	}
	return object
}

// lookup follows a path such as tool_calls.0.arguments; length is that of a list.
func lookup(ts *testscript.TestScript, value any, path string) (any, bool) {
	for _, part := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			if part == "length" {
				value = json.Number(strconv.Itoa(len(v)))
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			ts.Fatalf("%s: %s isn't a container", path, compact(value))
		}
	}
	return value, true
}

func compact(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// refused runs edge with --json, which must fail: refused STATUS CODE [receipt] edge … makes sure of the exit status, the
// code, the one JSON object, and with "receipt" of a receipt that says the same.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: refused STATUS CODE [receipt] edge …")
	}
	status, code := args[0], args[1]
	command := args[2:]
	receipt := command[0] == "receipt"
	if receipt {
		command = command[1:]
	}
	exits(ts, false, append([]string{status}, append(command, "--json")...))
	object := oneObject(ts)
	for path, want := range map[string]string{"schema": `"edge.error/v1"`, "ok": "false", "error.code": `"` + code + `"`} {
		if value, ok := lookup(ts, object, path); !ok || compact(value) != want {
			ts.Fatalf("%s: got %s, want %s", path, compact(value), want)
		}
	}
	for _, path := range []string{"error.class", "error.message", "error.hint"} {
		if value, _ := lookup(ts, object, path); value == nil || value == "" {
			ts.Fatalf("%s is missing", path)
		}
	}
	if _, ok := lookup(ts, object, "error.mismatches.length"); !ok {
		ts.Fatalf("error.mismatches isn't a list")
	}
	path, written := lookup(ts, object, "receipt_path")
	if receipt != written {
		ts.Fatalf("a receipt was written: %t, want %t", written, receipt)
	}
	if !receipt {
		return
	}
	var record struct {
		Body struct {
			Outcome   string `json:"outcome"`
			ErrorCode string `json:"error_code"`
		} `json:"body"`
	}
	raw, err := os.ReadFile(fmt.Sprint(path))
	ts.Check(err)
	ts.Check(json.Unmarshal(raw, &record))
	if record.Body.Outcome != "refused" || record.Body.ErrorCode != code {
		ts.Fatalf("the receipt says %+v", record.Body)
	}
}

// flip changes one bit of a file: flip FILE OFFSET, where a negative offset counts from the end and N% is a share.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	at := offset(ts, args[1], info.Size())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	ts.Check(err)
	b[0] ^= 1
	_, err = f.WriteAt(b, at)
	ts.Check(err)
}

func offset(ts *testscript.TestScript, text string, size int64) int64 {
	number, share := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(number, 10, 64)
	ts.Check(err)
	switch {
	case share:
		n = size * n / 100
	case n < 0:
		n += size
	}
	return n
}

// cut shortens a file: cut FILE OFFSET.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE OFFSET")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, offset(ts, args[1], info.Size())))
}

// appendTo writes text behind a file: append FILE TEXT.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(args[1])
	ts.Check(errors.Join(err, f.Close()))
}

// TestEveryScriptIsRun: a file of another ending would be left out without a word.
func TestEveryScriptIsRun(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("testdata", "script"))
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) != ".txtar" }); i >= 0 {
		t.Errorf("%s isn't a .txtar", entries[i].Name())
	}
}
