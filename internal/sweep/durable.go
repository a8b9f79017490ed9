package sweep

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Durable checks the order in which an undisturbed process writes, since a power cut can't be swept: what it wrote to a
// file is synced before the file is renamed; before a file gets a name that ends in suffix, every folder in which it
// renamed another is synced; and so is every such folder before the process ends. At least one file has to get such a name.
func Durable(t *testing.T, s Scene, suffix string) {
	t.Helper()
	var (
		descriptor = regexp.MustCompile(`\b(write|pwrite64|fsync|fdatasync)\(\d+<([^>]*)>`)
		rename     = regexp.MustCompile(`\brename(?:at2?)?\((?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]*)", (?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]*)"`)
		unsynced   = map[string]bool{}
		folders    = map[string]bool{}
		named      = 0
	)
	trace := Trace(t, s)
	for _, line := range trace {
		if m := descriptor.FindStringSubmatch(line); m != nil {
			if strings.HasSuffix(m[1], "sync") {
				delete(unsynced, m[2])
				delete(folders, m[2])
			} else {
				unsynced[m[2]] = true
			}
		}
		m := rename.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if unsynced[m[1]] {
			t.Errorf("%s was written, and not synced before it was renamed", m[1])
		}
		if strings.HasSuffix(m[2], suffix) {
			named++
			for dir := range folders {
				t.Errorf("%s has its name, and what was renamed in %s before isn't synced", m[2], dir)
			}
		}
		folders[filepath.Dir(m[2])] = true
	}
	for dir := range folders {
		t.Errorf("it ended without having synced %s", dir)
	}
	if named == 0 {
		t.Errorf("no file got a name that ends in %s:\n%s", suffix, strings.Join(trace, "\n"))
	}
}
