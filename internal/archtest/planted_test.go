package archtest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"edge/internal/archtest"
)

// A checker that reports nothing is the same as a checker that checks nothing: each kind of defect is planted, and
// must be found at its place; beside it stands what looks alike and is allowed.
func TestPlantedDefects(t *testing.T) {
	tests := []struct {
		name, file, source string
		want               string // "" where the file is fine; else line and text of the one finding
	}{
		// Rooms.
		{"imprint imports tools", "imprint/a.go", `import "edge/tools"`, "2: imports edge/tools: imprint imports leaves only"},
		{"a subpackage does", "models/gguf/a.go", `import _ "edge/imprint"`, "2: imports edge/imprint: models imports leaves only"},
		{"a subpackage is imported", "receipts/a.go", `import "edge/models/gguf"`, "2: imports edge/models/gguf: receipts imports leaves only"},
		{"under another name", "facts/a.go", `import r "edge/receipts"`, "2: imports edge/receipts: facts"},
		{"tools imports runner", "tools/a.go", `import "edge/runner"`, "2: imports edge/runner: tools"},
		{"runner imports tools", "runner/a.go", `import "edge/tools"`, ""},
		{"runner imports imprint", "runner/a.go", `import "edge/imprint"`, "2: imports edge/imprint: runner imports leaves and tools only"},
		{"a room with a name that begins alike", "runner/a.go", `import "edge/toolshed"`, "2: imports edge/toolshed: folder toolshed has no rule"},
		{"inference imports learn", "inference/a.go", `import "edge/learn"`, "2: imports edge/learn"},
		{"learn composes", "learn/a.go", "import (\n\"edge/imprint\"\n\"edge/tools\"\n\"edge/runner\"\n\"edge/receipts\"\n\"edge/inference/generate\"\n\"edge/internal/canon\"\n)", ""},
		{"learn imports chat", "learn/a.go", `import "edge/chat"`, "2: imports edge/chat: learn"},
		{"chat imports learn", "chat/a.go", `import "edge/learn"`, ""},
		{"chat imports the program", "chat/a.go", `import "edge/cmd/edge"`, "2: imports edge/cmd/edge"},
		{"any room imports leaves", "imprint/a.go", `import "edge/internal/fault"`, ""},
		{"within a room", "models/a.go", `import "edge/models/gguf"`, ""},
		{"tests compose", "imprint/a_test.go", `import "edge/inference/fake"`, ""},
		{"for another system only", "imprint/a_windows.go", `import "edge/tools"`, "2: imports edge/tools"},
		{"an unknown folder", "helpers/a.go", ``, "1: folder helpers has no rule"},
		{"the root", "a.go", ``, "1: folder . has no rule"},
		{"the build's own package", "chat/a.go", `import "edge/internal/archtest"`, "2: imports edge/internal/archtest"},

		// Leaves.
		{"a leaf imports a room", "internal/fault/a.go", `import "edge/tools"`, "2: imports edge/tools: a leaf"},
		{"a leaf imports another leaf", "internal/atomicfile/a.go", `import "edge/internal/fault"`, "2: imports edge/internal/fault: a leaf"},
		{"a leaf imports another module", "internal/fault/a.go", `import "github.com/spf13/cobra"`, "2: imports github.com/spf13/cobra: a leaf"},
		{"a leaf imports another leaf's library", "internal/fault/a.go", `import "github.com/gowebpki/jcs"`, "2: imports github.com/gowebpki/jcs: a leaf"},
		{"canon has its libraries", "internal/canon/a.go", "import (\n\"github.com/gowebpki/jcs\"\n\"github.com/go-json-experiment/json/jsontext\"\n\"bytes\"\n)", ""},
		{"a leaf's test", "internal/canon/a_test.go", `import "github.com/google/go-cmp/cmp"`, ""},

		// Adapters.
		{"chat picks an adapter", "chat/a.go", `import "edge/inference/llamacpp"`, "2: imports edge/inference/llamacpp: only cmd/edge and tests pick an adapter"},
		{"learn picks a part of one", "learn/a.go", `import "edge/inference/ollama/wire"`, "2: imports edge/inference/ollama/wire: only"},
		{"the port picks one", "inference/a.go", `import "edge/inference/openai"`, "2: imports edge/inference/openai: only"},
		{"one picks another", "inference/ollama/a.go", `import "edge/inference/fake"`, "2: imports edge/inference/fake: only"},
		{"the program picks", "cmd/edge/engine.go", `import "edge/inference/llamacpp"`, ""},
		{"the leaderboard's runner picks", "bench/bfcl/engine.go", `import "edge/inference/llamacpp"`, ""},
		{"another measure picks", "bench/a.go", `import "edge/inference/llamacpp"`, "2: imports edge/inference/llamacpp: only cmd/edge and tests pick an adapter"},
		{"a test picks", "chat/a_test.go", `import "edge/inference/llamacpp"`, ""},
		{"the gate picks what carries its files", "imprint/a.go", `import "edge/imprint/oci"`, "2: imports edge/imprint/oci: only"},
		{"what carries imprints uses them", "imprint/oci/a.go", "import (\n\"net/http\"\n\"edge/imprint\"\n\"oras.land/oras-go/v2/registry\"\n)", ""},
		{"it uses tools", "imprint/oci/a.go", `import "edge/tools"`, "2: imports edge/tools: imprint imports leaves only"},
		{"an adapter's own parts", "inference/llamacpp/a.go", `import "edge/inference/llamacpp/pins"`, ""},

		// Foreign code and processes.
		{"unsafe", "imprint/a.go", `import "unsafe"`, "2: imports unsafe: memory"},
		{"unsafe in a test", "imprint/a_test.go", `import "unsafe"`, "2: imports unsafe: memory"},
		{"unsafe in a leaf", "internal/digest/a.go", `import _ "unsafe"`, "2: imports unsafe: memory"},
		{"yzma in another adapter", "inference/ollama/a.go", `import "github.com/hybridgroup/yzma/pkg/llama"`, "2: imports github.com/hybridgroup/yzma/pkg/llama: memory"},
		{"purego in the program", "cmd/edge/a.go", `import "github.com/ebitengine/purego"`, "2: imports github.com/ebitengine/purego: memory"},
		{"ffi", "runner/a.go", `import "github.com/jupiterrider/ffi"`, "2: imports github.com/jupiterrider/ffi: memory"},
		{"where it belongs", "inference/llamacpp/a.go", "import (\n\"unsafe\"\n\"github.com/hybridgroup/yzma/pkg/llama\"\n)", ""},
		{"the network in chat", "chat/a.go", `import "net/http"`, "2: imports net/http: only setup, pull and push"},
		{"a connection in the gate", "imprint/a.go", "import \"net\"\nfunc f() { net.Dial(``, ``) }", "3: uses net.Dial: only setup, pull and push"},
		{"a dialer in a tool's way", "runner/a.go", "import \"net\"\nvar _ net.Conn = &net.Dialer{}", "3: uses net.Dialer: only setup, pull and push"},
		{"a registry in the program", "cmd/edge/a.go", `import "oras.land/oras-go/v2"`, "2: imports oras.land/oras-go/v2: only setup, pull and push"},
		{"addresses aren't connections", "chat/a.go", `import "net/netip"`, ""},
		{"the network in a test", "chat/a_test.go", `import "net/http/httptest"`, ""},
		{"cgo", "inference/llamacpp/a.go", `import "C"`, "2: imports C: edge builds without cgo"},
		{"a process in chat", "chat/a.go", `import "os/exec"`, "2: imports os/exec: only the runner"},
		{"a process in the program", "cmd/edge/doctor.go", `import "os/exec"`, "2: imports os/exec: only the runner"},
		{"a process in a test", "chat/a_test.go", `import "os/exec"`, ""},
		{"a process in the runner", "runner/a.go", `import "os/exec"`, ""},
		{"a package client", "models/setup/a.go", `import "os/exec"`, ""},
		{"a process without os/exec", "chat/a.go", "import \"os\"\nfunc f() { os.StartProcess(``, nil, nil) }", "3: uses os.StartProcess: only the runner"},
		{"and a system call for it", "tools/a.go", "import sys \"syscall\"\nvar _ = sys.ForkExec", "3: uses syscall.ForkExec: only the runner"},
		{"a dot", "chat/a.go", `import . "strings"`, "2: imports strings with a dot"},

		// State.
		{"an init function", "tools/a.go", "func init() {}", "2: func init"},
		{"a method of that name", "tools/a.go", "type t int\nfunc (t) init() {}", ""},
		{"an init function in a test", "tools/a_test.go", "func init() {}", ""},
		{"a variable", "tools/a.go", "var limit = 8", "2: var limit: a package holds no state"},
		{"a variable without a value", "tools/a.go", "var cache map[string]int", "2: var cache"},
		{"one in a group", "tools/a.go", "import \"errors\"\nvar (\n\tErrX = errors.New(``)\n\ttable = []int{1}\n)", "5: var table"},
		{"several from one call", "tools/a.go", "import \"os\"\nvar a, _ = os.Getwd()", "3: var a"},
		{"a lock", "tools/a.go", "import \"sync\"\nvar once sync.Once", "3: var once"},
		{"another package's New", "tools/a.go", "import errors \"edge/internal/fault\"\nvar errX = errors.New(``)", "3: var errX"},
		{"errors", "tools/a.go", "import (\n\"errors\"\n\"fmt\"\n)\nvar ErrA = errors.New(``)\nvar errB = fmt.Errorf(`%w`, ErrA)", ""},
		{"a regular expression", "tools/a.go", "import re \"regexp\"\nvar name = re.MustCompile(``)", ""},
		{"an interface kept", "tools/a.go", "import \"io\"\ntype t struct{ io.Reader }\nvar _ io.Reader = t{}", ""},
		{"a call for its effect", "tools/a.go", "var _ = register()", "2: var _: nothing runs by being imported"},
		{"an embedded file", "runner/a.go", "import _ \"embed\"\n\n//go:embed boot.py\nvar boot string", ""},
		{"embedded files in a group", "runner/a.go", "import \"embed\"\nvar (\n\t//go:embed python\n\tsources embed.FS\n)", ""},
		{"a comment about embedding", "runner/a.go", "// go:embed isn't used\nvar boot string", "3: var boot"},
		{"a variable in a test", "tools/a_test.go", "var limit = 8", ""},
		{"a variable in a function", "tools/a.go", "func f() { var n = 1; _ = n }", ""},

		// The end of the process, and sealed states.
		{"an exit", "chat/a.go", "import \"os\"\nfunc f() { os.Exit(1) }", "3: uses os.Exit: only cmd/edge/main.go"},
		{"an exit beside main", "cmd/edge/chat.go", "import \"os\"\nfunc f() { os.Exit(1) }", "3: uses os.Exit"},
		{"an exit kept for later", "chat/a.go", "import \"os\"\nfunc f() func(int) { return os.Exit }", "3: uses os.Exit"},
		{"a fatal log", "runner/a.go", "import l \"log\"\nfunc f() { l.Fatalf(``) }", "3: uses log.Fatalf"},
		{"main's exit", "cmd/edge/main.go", "import \"os\"\nfunc main() { os.Exit(1) }", ""},
		{"the leaderboard's runner's exit", "bench/bfcl/main.go", "import \"os\"\nfunc main() { os.Exit(1) }", ""},
		{"an exit beside it", "bench/bfcl/ask.go", "import \"os\"\nfunc f() { os.Exit(1) }", "3: uses os.Exit: only cmd/edge/main.go"},
		{"a test's exit", "chat/a_test.go", "import \"os\"\nfunc f() { os.Exit(1) }", ""},
		{"another os", "chat/a.go", "type t struct{}\nfunc (t) Exit(int) {}\nfunc f() { var os t; os.Exit(1) }", ""},
		{"a fresh state in chat", "chat/a.go", "import \"edge/internal/sealed\"\nfunc f() { sealed.Fresh(nil, 0) }", "3: uses edge/internal/sealed.Fresh: only an engine adapter"},
		{"under another name in the gate", "imprint/a.go", "import s \"edge/internal/sealed\"\nfunc f() { s.Fresh(nil, 0) }", "3: uses edge/internal/sealed.Fresh"},
		{"an engine's fresh state", "inference/llamacpp/a.go", "import \"edge/internal/sealed\"\nfunc f() { sealed.Fresh(nil, 0) }", ""},
		{"an engine that verifies for itself", "inference/fake/a.go", "import \"edge/internal/sealed\"\nfunc f() { sealed.Verify(nil) }", "3: uses edge/internal/sealed.Verify: only the gate"},
		{"by another function", "learn/a.go", "import \"edge/internal/sealed\"\nfunc f() { sealed.VerifySegments(nil) }", "3: uses edge/internal/sealed.VerifySegments: only the gate"},
		{"the gate", "imprint/a.go", "import \"edge/internal/sealed\"\nfunc f() { sealed.Verify(nil) }", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, err := archtest.Load(fstest.MapFS{test.file: {Data: []byte("package p\n" + test.source)}})
			if err != nil || len(files) != 1 {
				t.Fatalf("loaded %d files: %v", len(files), err)
			}
			found := archtest.Check(files, nil)
			switch {
			case test.want == "" && len(found) > 0:
				t.Errorf("got %v, want nothing", found)
			case test.want != "" && len(found) != 1:
				t.Errorf("got %v, want exactly %q", found, test.want)
			case test.want != "" && !strings.HasPrefix(found[0].String(), test.file+":"+test.want):
				t.Errorf("got %q, want %q", found[0], test.file+":"+test.want)
			}
		})
	}
}

func TestAnExceptionIsForOneFileAndOneThing(t *testing.T) {
	exceptions := []archtest.Exception{
		{File: "runner/sandbox_linux.go", Thing: "unsafe", Why: "prctl takes an address"},
		{File: "cmd/edge/version.go", Thing: "version", Why: "the linker sets it"},
		{File: "chat/gone.go", Thing: "os.Exit", Why: "nothing any more"},
	}
	files, err := archtest.Load(fstest.MapFS{
		"runner/sandbox_linux.go": {Data: []byte("package p\nimport \"unsafe\"\nvar p unsafe.Pointer")},
		"runner/other.go":         {Data: []byte("package p\nimport \"unsafe\"")},
		"cmd/edge/version.go":     {Data: []byte("package main\nvar version string")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, violation := range archtest.Check(files, exceptions) {
		got = append(got, violation.String())
	}
	want := []string{
		"chat/gone.go:0: the exception for os.Exit isn't needed: remove it",
		"runner/other.go:2: imports unsafe: memory without types stays under inference/llamacpp",
		"runner/sandbox_linux.go:3: var p: a package holds no state; make it a constant, a function, or a field of what a constructor gives",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadSkipsWhatGoSkips(t *testing.T) {
	source := &fstest.MapFile{Data: []byte("package p")}
	files, err := archtest.Load(fstest.MapFS{
		"tools/a.go": source, "tools/a_darwin.go": source, "tools/testdata/b.go": source, "_exp/c.go": source,
		".git/d.go": source, "tools/_e.go": source, "vendor/f/f.go": source, "tools/notes.md": source,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{"tools/a.go", "tools/a_darwin.go"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := archtest.Load(fstest.MapFS{"tools/a.go": {Data: []byte("package")}}); err == nil {
		t.Error("a file that can't be parsed was passed over")
	}
}

func TestPlantedChains(t *testing.T) {
	packages := []archtest.Package{
		{ImportPath: "edge/cmd/edge", Imports: []string{"edge/chat", "edge/inference/llamacpp"}},
		{ImportPath: "edge/chat", Imports: []string{"edge/learn", "edge/runner", "example.org/menu"}},
		{ImportPath: "edge/learn", Imports: []string{"edge/imprint"}},
		{ImportPath: "edge/runner", Imports: []string{"edge/tools"}},
		{ImportPath: "edge/tools", Imports: []string{"unsafe"}},
		{ImportPath: "edge/imprint", Imports: []string{"edge/internal/helper"}},
		{ImportPath: "edge/internal/helper", Imports: []string{"edge/tools"}},
		{ImportPath: "edge/inference/llamacpp", Imports: []string{"github.com/hybridgroup/yzma/pkg/llama"}},
		{ImportPath: "github.com/hybridgroup/yzma/pkg/llama", Imports: []string{"github.com/ebitengine/purego", "unsafe"}},
		{ImportPath: "example.org/menu", Imports: []string{"example.org/screen"}},
		{ImportPath: "example.org/screen", Imports: []string{"github.com/ebitengine/purego"}},
	}
	want := []string{
		"edge/chat → example.org/menu → example.org/screen → github.com/ebitengine/purego: chat reaches foreign code",
		"edge/imprint → edge/internal/helper → edge/tools: imprint reaches tools",
	}
	if diff := cmp.Diff(want, archtest.CheckReach(packages)); diff != "" {
		t.Error(diff)
	}
}
