package archtest

import "slices"

// room is one top-level part of the module and the other rooms that it may import. Packages of one room may import each
// other, and every room may import the leaves.
type room struct {
	dir  string
	uses []string
}

func rooms() []room {
	composed := []string{"imprint", "tools", "runner", "receipts", "models", "facts", "inference"}
	return []room{
		{"imprint", nil},
		{"tools", nil},
		{"runner", []string{"tools"}},
		{"receipts", nil},
		{"models", nil},
		{"facts", nil},
		{"inference", nil},
		{"hosted", []string{"tools", "runner", "facts"}},
		{"learn", composed},
		{"chat", append([]string{"learn"}, composed...)},
		{"agent", append([]string{"learn", "chat"}, composed...)},
		{"evolve", append([]string{"learn", "chat", "hosted"}, composed...)},
		{"serve", append([]string{"learn", "chat"}, composed...)},
		{"studio", append([]string{"learn", "chat"}, composed...)},
		{"bench", append([]string{"learn", "chat"}, composed...)},
		{"cmd/edge", append([]string{"learn", "chat", "agent", "hosted", "evolve", "serve", "studio", "bench"}, composed...)},
	}
}

func roomOf(dir string) (room, bool) {
	all := rooms()
	i := slices.IndexFunc(all, func(r room) bool { return under(dir, r.dir) })
	if i < 0 {
		return room{}, false
	}
	return all[i], true
}

// leaves is the folder of the packages that import nothing but the standard library.
const leaves = "internal"

// leafExtras says what else a leaf may import. Tests are free to use the testing libraries.
func leafExtras() map[string][]string {
	return map[string][]string{
		"internal/canon":  {"github.com/gowebpki/jcs", "github.com/go-json-experiment/json"},
		"internal/digest": {"github.com/zeebo/blake3"},
		"internal/dsse":   {"edge/internal/atomicfile", "edge/internal/canon", "edge/internal/digest", "edge/internal/fault"},
		"internal/stamp":  {"golang.org/x/sys/windows"},
		"internal/sealed": {"edge/internal/digest", "github.com/zeebo/blake3"},
	}
}

// adapters are the packages behind a port, and what carries imprints over the network: only the program and the measure
// pick one, and tests do. Not even package imprint imports the latter.
func adapters() []string {
	return []string{
		"inference/llamacpp", "inference/ollama", "inference/openai", "inference/fake", "inference/enginetest", "imprint/oci",
	}
}

// program is the one folder that composes everything and picks adapters; programMain is the one file that may end the
// process.
const (
	program     = "cmd/edge"
	programMain = "cmd/edge/main.go"
)

// measure is the program that runs edge on a leaderboard's data. It composes as the program does, and is never shipped.
const (
	measure     = "bench/bfcl"
	measureMain = "bench/bfcl/main.go"
)

// confinement is a set of imports that only some folders may have.
type confinement struct {
	imports []string
	dirs    []string
	tests   bool // whether test files are free of it
	why     string
}

func confinements() []confinement {
	return []confinement{
		{ffi(), []string{"inference/llamacpp"}, false, "memory without types stays under inference/llamacpp"},
		{[]string{"os/exec"}, []string{"runner", "models", "bench", "hosted/computer"}, true, "only the runner, setup's package clients and the browser's package start processes"},
		{network(), networked(), true, "only setup, pull and push use the network"},
		{[]string{"C"}, nil, false, "edge builds without cgo"},
	}
}

// network is what speaks to other machines; callRules has what opens a bare connection.
func network() []string {
	return []string{"net/http", "net/rpc", "net/smtp", "crypto/tls", "golang.org/x/net/http2", "golang.org/x/net/websocket", "golang.org/x/net/proxy", "oras.land/oras-go", "github.com/opencontainers"}
}

// networked are the folders that may.
func networked() []string {
	return []string{"models", "imprint/oci", "inference/ollama", "inference/served", "inference/openai", "hosted/websearch", "hosted/webpage", "hosted/computer", "evolve/remote", "serve", "studio"}
}

// ffi is what calls into foreign code or goes around the type system.
func ffi() []string {
	return []string{"unsafe", "github.com/ebitengine/purego", "github.com/jupiterrider/ffi", "github.com/hybridgroup/yzma"}
}

// selector is an exported name of a package, or all that begin with it where it ends in a star.
type selector struct{ path, name string }

// callRule keeps some names of some packages to some places. Tests are free of it.
type callRule struct {
	names []selector
	dirs  []string // folders, or files
	why   string
}

func callRules() []callRule {
	return []callRule{
		{[]selector{{"edge/internal/sealed", "Fresh*"}}, []string{"inference", "internal/sealed"}, "only an engine adapter vouches for bytes that its engine has just written"},
		{[]selector{{"edge/internal/sealed", "Verify*"}}, []string{"imprint", "internal/sealed"}, "only the gate of package imprint makes a state out of a file"},
		{[]selector{{"net", "Dial*"}, {"net", "Listen*"}, {"net", "Lookup*"}, {"net", "Resolver"}}, networked(), "only setup, pull and push use the network"},
		{
			[]selector{{"os", "Exit"}, {"syscall", "Exit"}, {"golang.org/x/sys/unix", "Exit"}, {"log", "Fatal*"}, {"log", "Panic*"}, {"runtime", "Goexit"}},
			[]string{programMain, measureMain}, "only " + programMain + " ends the process: anywhere else it would skip a receipt",
		},
		{
			[]selector{
				{"os", "StartProcess"}, {"syscall", "StartProcess"}, {"syscall", "ForkExec"}, {"syscall", "Exec"},
				{"golang.org/x/sys/unix", "Exec"}, {"golang.org/x/sys/windows", "CreateProcess*"},
			},
			[]string{"runner", "models"}, "only the runner and setup's package clients start processes",
		},
	}
}

// Exceptions are the reviewed ones.
func Exceptions() []Exception {
	const (
		libffi = "inference/llamacpp/libffi/libffi_linux.go"
		why    = "another module's init would panic where libffi is missing, and with it every command; this one has to run before"
	)
	return []Exception{{libffi, "init", why}, {libffi, "dlopen", why}, {libffi, "dlsym", why}, {libffi, "dlerror", why}}
}
