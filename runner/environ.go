package runner

import (
	"runtime"
	"strings"
)

// environment is what a tool may know of edge's own environment: how to find programs and the user's folders, how to
// write text and time. Everything else, tokens and keys above all, stays outside. Temporary files go to dir.
func environment(full []string, dir string) []string {
	var env []string
	for _, entry := range full {
		name, _, ok := strings.Cut(entry, "=")
		if ok && passesThrough(name) {
			env = append(env, entry)
		}
	}
	return append(env, "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
}

func passesThrough(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ":
		return true
	case "OPENAI_AGENTS_DONT_LOG_TOOL_DATA": // a switch, and no secret: edgestudio.agents reads it
		return true
	case "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT", "USERPROFILE", "USERNAME", "LOCALAPPDATA", "APPDATA":
		return runtime.GOOS == "windows"
	}
	return strings.HasPrefix(name, "LC_")
}

// lookup gives the last value of name, as the operating system would.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		key, value, ok := strings.Cut(environ[i], "=")
		if ok && (key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name)) {
			return value
		}
	}
	return ""
}
