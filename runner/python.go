package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"edge/internal/fault"
)

// Python is the interpreter that runs the tools.
type Python struct {
	// Path is the interpreter's own program, not a launcher or a shim that leads to it.
	Path string `json:"path"`
	// Version is as in "3.11.7".
	Version string `json:"version"`
}

const (
	minimumMinor  = 10
	pythonTimeout = 20 * time.Second
	// pythonQuery asks an interpreter what it is. On Windows the program of a virtual environment is a launcher that
	// starts a second process, which a job of one process can't hold; the one it launches is asked for instead.
	pythonQuery = `import sys, json
base = getattr(sys, "_base_executable", None) if sys.platform == "win32" else None
print(json.dumps({"version": list(sys.version_info[:3]), "executable": base or sys.executable}))`
)

// findPython takes the interpreter that the user named, in the configuration or by EDGE_PYTHON, or else the first on
// PATH that answers and is new enough. A named one is never replaced by another.
func findPython(named string, environ []string, memory string) (Python, error) {
	if named == "" {
		named = lookup(environ, "EDGE_PYTHON")
	}
	var tried []string
	for _, argv := range pythonCandidates(named) {
		path, ok := lookPath(argv[0], environ)
		if !ok {
			tried = append(tried, argv[0]+" isn't there")
			continue
		}
		python, err := askOnce(path, argv[1:], environ, memory)
		if err == nil {
			return python, nil
		}
		tried = append(tried, fmt.Sprintf("%s %v", path, err))
	}
	return Python{}, fault.New(fault.CodePythonNotFound, "no Python 3.%d or newer: %s", minimumMinor, strings.Join(tried, "; "))
}

func pythonCandidates(named string) [][]string {
	switch {
	case named != "":
		return [][]string{{named}}
	case runtime.GOOS == "windows":
		return [][]string{{"python3"}, {"python"}, {"py", "-3"}}
	}
	return [][]string{{"python3"}, {"python"}}
}

// askOnce asks a shim only if it hasn't answered before under the same circumstances.
func askOnce(path string, args, environ []string, memory string) (Python, error) {
	now := time.Now()
	key, shim := circumstances(path, args, environ, now)
	if shim = shim && memory != ""; shim {
		if python, ok := recall(memory, key); ok {
			return python, nil
		}
	}
	python, err := askPython(path, args, environ)
	if err == nil && shim {
		remember(memory, key, python, now)
	}
	return python, err
}

// askPython runs the program once. What merely has the right name, such as the stub of a shop, fails here.
func askPython(path string, args, environ []string) (Python, error) {
	ctx, cancel := context.WithTimeout(context.Background(), pythonTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(args, "-I", "-S", "-c", pythonQuery)...)
	cmd.Env = environment(environ, os.TempDir())
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limitedBuffer{buf: &out, left: 64 << 10}
	cmd.Stderr = io.Discard
	if err := cmd.Run(); err != nil {
		return Python{}, fmt.Errorf("doesn't run (%v)", err)
	}
	var answer struct {
		Version    []int  `json:"version"`
		Executable string `json:"executable"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Version) != 3 {
		return Python{}, fmt.Errorf("isn't a Python 3")
	}
	v := answer.Version
	version := fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
	if v[0] != 3 || v[1] < minimumMinor {
		return Python{}, fmt.Errorf("is %s", version)
	}
	if filepath.IsAbs(answer.Executable) {
		path = answer.Executable
	}
	return Python{Path: path, Version: version}, nil
}

// lookPath finds name on the PATH of environ. Relative entries of PATH are passed over: what runs must not depend on the
// folder that edge was started in.
func lookPath(name string, environ []string) (string, bool) {
	suffixes := []string{""}
	if runtime.GOOS == "windows" && filepath.Ext(name) == "" {
		suffixes = []string{".exe"}
	}
	folders := filepath.SplitList(lookup(environ, "PATH"))
	if name != filepath.Base(name) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", false
		}
		name, folders = filepath.Base(abs), []string{filepath.Dir(abs)}
	}
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		for _, suffix := range suffixes {
			path := filepath.Join(folder, name+suffix)
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
				return path, true
			}
		}
	}
	return "", false
}

// limitedBuffer keeps the first bytes and takes the rest without complaint.
type limitedBuffer struct {
	buf  *bytes.Buffer
	left int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	take := min(len(p), l.left)
	l.buf.Write(p[:take])
	l.left -= take
	return len(p), nil
}
