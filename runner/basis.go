package runner

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"time"

	"edge/internal/stamp"
)

// Basis names everything that a Runner with this environment depends on and finds outside itself: the variables that it
// reads or passes on, and the files that its choice of an interpreter rests on, as they are now. Runners of the same
// basis and configuration are interchangeable. ok is false where that can't be told.
func Basis(environ []string, now time.Time) (basis string, ok bool) {
	parts := environment(environ, "")
	slices.Sort(parts)
	named := lookup(environ, "EDGE_PYTHON")
	parts = append(parts, "EDGE_PYTHON="+named)
	for _, argv := range pythonCandidates(named) {
		path, there := lookPath(argv[0], environ)
		if !there {
			continue
		}
		at, known := stamp.OfPath(path)
		if !known {
			return "", false
		}
		raw, err := json.Marshal(at)
		if err != nil {
			return "", false
		}
		parts = append(parts, path, string(raw))
		key, shim := circumstances(path, argv[1:], environ, now)
		if !shim && mayBeShim(path) {
			return "", false
		}
		parts = append(parts, key)
	}
	return strings.Join(parts, "\x00"), true
}

// mayBeShim reports whether a program may lead to another by what stands elsewhere.
func mayBeShim(path string) bool {
	return strings.Contains(path, "shims") || runtime.GOOS == "windows"
}
