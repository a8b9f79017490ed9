package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/internal/fault"
)

// program writes an executable shell script and gives its folder.
func program(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFindPython(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("the stand-ins are shell scripts; python_test covers the search on unix")
		return
	}
	says := func(version, executable string) string {
		return `echo '{"version": [` + version + `], "executable": "` + executable + `"}'`
	}
	stub := program(t, "python3", "exit 9")
	two := program(t, "python3", `echo 'SyntaxError' >&2; exit 1`)
	old := program(t, "python3", says("3, 9, 19", "/old"))
	good := program(t, "python3", says("3, 10, 0", "/good"))
	plain := program(t, "python", says("3, 14, 1", "/plain"))
	t.Chdir(good) // a relative PATH would find it
	four := program(t, "python3", says("4, 0, 0", "/four"))
	chatty := program(t, "python3", "head -c 1000000 /dev/zero")
	file := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(file, []byte("not executable"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, named string
		environ     []string
		want        string // the path, or parts of the message
	}{
		{"the first on PATH", "", []string{"PATH=" + good + ":" + old}, "/good"},
		{"a stub is passed over only for another name", "", []string{"PATH=" + stub + ":" + plain}, "/plain"},
		{"python2 as python3", "", []string{"PATH=" + two + ":" + plain}, "/plain"},
		{"too old", "", []string{"PATH=" + old}, "is 3.9.19; python isn't there"},
		{"too new to know", "", []string{"PATH=" + four}, "is 4.0.0"},
		{"another kind of program", "", []string{"PATH=" + chatty + ":/usr/bin:/bin", "EDGE_PYTHON=" + filepath.Join(chatty, "python3")}, "isn't a Python 3"},
		{"not executable", "", []string{"PATH=" + filepath.Dir(file)}, "python3 isn't there"},
		{"a relative PATH", "", []string{"PATH=.:bin"}, "python3 isn't there"},
		{"no PATH", "", nil, "python3 isn't there"},
		{"EDGE_PYTHON", "", []string{"PATH=" + good, "EDGE_PYTHON=" + filepath.Join(plain, "python")}, "/plain"},
		{"EDGE_PYTHON isn't replaced by another", "", []string{"PATH=" + good, "EDGE_PYTHON=" + filepath.Join(old, "python3")}, "is 3.9.19"},
		{"EDGE_PYTHON that isn't there", "", []string{"PATH=" + good, "EDGE_PYTHON=/nowhere/python3"}, "/nowhere/python3 isn't there"},
		{"named in the configuration", filepath.Join(plain, "python"), []string{"EDGE_PYTHON=/nowhere"}, "/plain"},
		{"a bare name in the configuration", "python", []string{"PATH=" + good + ":" + plain}, "/plain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := findPython(c.named, c.environ, "")
			if strings.HasPrefix(c.want, "/") && !strings.Contains(c.want, " ") {
				if err != nil || got.Path != c.want {
					t.Errorf("got %+v, %v; want %s", got, err, c.want)
				}
				return
			}
			if code(err) != fault.CodePythonNotFound || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want %s with %q", got, err, fault.CodePythonNotFound, c.want)
			}
		})
	}
}

func TestPythonIsTheProgramItself(t *testing.T) {
	b := newBench(t)
	p := b.runner.Python()
	if !filepath.IsAbs(p.Path) || !strings.HasPrefix(p.Version, "3.") {
		t.Fatalf("got %+v", p)
	}
	// A script that leads to it isn't what is run, so the sandbox may forbid scripts.
	dir := program(t, "python3", `exec `+p.Path+` "$@"`)
	shim := newBench(t, func(c *Config) { c.Python = filepath.Join(dir, "python3") })
	if got := shim.runner.Python(); got != p {
		t.Errorf("got %+v through a script, want %+v", got, p)
	}
	shim.want("return 1", "{}", `{"result":1}`)
}
