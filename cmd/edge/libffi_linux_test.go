package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
)

// Without libffi only the engine is missing, and every command says so or works.
func TestWithoutLibffi(t *testing.T) {
	p := newPlace(t)
	// A file of that name that is no library, in the first folder that the dynamic linker looks into.
	linker := filepath.Join(p.dir, "lib")
	if err := os.Mkdir(linker, 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(filepath.Join("lib", "libffi.so.8"), "")
	t.Setenv("LD_LIBRARY_PATH", linker)
	p.write("tools.py", fileHead+"@edge_tool\ndef f() -> int:\n    'd'\n    return 1\n")
	r := p.edge("tools", "call", "tools.py", "f", "--sandbox", "required", "--json")
	if got := p.object(r); r.status != 0 || string(got.ToolCall.Result) != `{"result":1}` {
		t.Errorf("a call: status %d: %s%s", r.status, r.stdout, r.stderr)
	}

	s, err := home.Resolve(os.Getenv, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join("models", models.DefaultModel+".gguf")
	for _, needed := range []string{"runtime", model} {
		if _, err := os.Stat(filepath.Join(string(s), needed)); err != nil {
			t.Fatalf("%v: this test needs the engine and the default model: run make setup", err)
		}
	}
	p.home = string(s)
	var doctor struct {
		OK     bool
		Engine struct {
			OK   bool
			Todo string
		}
		CPU, Sandbox struct {
			OK          bool
			Found, Todo string
		}
	}
	r = p.edge("doctor", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &doctor); err != nil {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	if doctor.OK || doctor.Engine.OK || !doctor.Sandbox.OK || !strings.Contains(doctor.CPU.Found, "libffi.so.8") || !strings.Contains(doctor.Engine.Todo, "install libffi") {
		t.Errorf("doctor: got %+v", doctor)
	}
	p.home = filepath.Join(p.dir, "home")
	if err := os.MkdirAll(filepath.Join(p.home, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runtime", model} {
		if err := os.Symlink(filepath.Join(string(s), name), filepath.Join(p.home, name)); err != nil {
			t.Fatal(err)
		}
	}
	r = p.edge("demo", "chat", "--prompt", "hi", "--json")
	if got := p.object(r); got.Error.Code != fault.CodeEngineLoadFailed || r.status != fault.Engine.Exit() || !strings.Contains(r.stdout, "install libffi") {
		t.Errorf("chat: status %d: %s", r.status, r.stdout)
	}
}
