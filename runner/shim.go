package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edge/internal/atomicfile"
	"edge/internal/stamp"
)

// pyenv's python3 is a shell script that looks for the version to run: asking it who it is takes longer than any
// interpreter's start. Its answer is remembered together with all that it depends on; whatever else there is on a PATH is
// asked each time.

// remembered is the last answer of a shim.
type remembered struct {
	Key    string      `json:"key"`
	Python Python      `json:"python"`
	Stamp  stamp.Stamp `json:"stamp"` // of the interpreter
}

const maxRemembered = 64 << 10

// recall gives what the shim answered under the same circumstances, if the interpreter is still the same file.
func recall(file, key string) (Python, bool) {
	f, err := os.Open(file)
	if err != nil {
		return Python{}, false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRemembered))
	var r remembered
	if err != nil || json.Unmarshal(raw, &r) != nil || r.Key != key {
		return Python{}, false
	}
	now, ok := stamp.OfPath(r.Python.Path)
	return r.Python, ok && now == r.Stamp
}

// remember keeps an answer. A folder that can't be written to costs asking again.
func remember(file, key string, python Python, now time.Time) {
	at, ok := stamp.OfPath(python.Path)
	if !ok || !at.QuietSince(now) {
		return
	}
	if raw, err := json.Marshal(remembered{key, python, at}); err == nil {
		atomicfile.WriteBytes(file, 0o600, append(raw, '\n'))
	}
}

// circumstances name everything that pyenv's choice depends on: the shim, its arguments, the variables that pyenv reads,
// the search path (for "system"), and the files that name a version. ok is false for what isn't pyenv's, and where a file
// may still be changing.
func circumstances(path string, args, environ []string, now time.Time) (key string, ok bool) {
	root := filepath.Dir(filepath.Dir(path))
	if filepath.Base(filepath.Dir(path)) != "shims" {
		return "", false
	}
	if info, err := os.Stat(filepath.Join(root, "versions")); err != nil || !info.IsDir() {
		return "", false
	}
	dir := lookup(environ, "PYENV_DIR")
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", false
		}
	}
	files := []string{path, filepath.Join(root, "version")}
	for at := dir; ; at = filepath.Dir(at) {
		files = append(files, filepath.Join(at, ".python-version"))
		if at == filepath.Dir(at) {
			break
		}
	}
	parts := slices.Concat([]string{dir}, args)
	for _, pair := range environ {
		if strings.HasPrefix(pair, "PYENV_") || strings.HasPrefix(pair, "PATH=") {
			parts = append(parts, pair)
		}
	}
	for _, name := range files {
		s, there := stamp.OfPath(name)
		if !there {
			if _, err := os.Lstat(name); err == nil {
				return "", false
			}
		} else if !s.QuietSince(now) {
			return "", false
		}
		raw, err := json.Marshal(s)
		if err != nil {
			return "", false
		}
		parts = append(parts, name, string(raw))
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), true
}
