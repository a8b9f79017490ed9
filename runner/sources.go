package runner

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// bootSource is what the interpreter is started with; it reads the first frame.
//
//go:embed python/boot.py
var bootSource string

// packageSources is the Python package: it travels in the first frame, so that what runs is this edge's own, whatever is
// installed. The pattern names files because a folder's would leave out those that begin with an underscore.
//
//go:embed python/edgestudio/*.py python/edgestudio/agents/*.py
var packageSources embed.FS

const protocol = "edge.runner/v1"

// pythonArgs are the interpreter's arguments: no environment, no user's site, no site packages, no byte code on disk,
// text as UTF-8 whatever the locale.
func pythonArgs() []string { return []string{"-I", "-S", "-B", "-X", "utf8", "-c", bootSource} }

// preload is what a process that was started ahead imports while it waits: the modules that a file imported when it was
// inspected, unless the file's folder has some of that name.
type preload struct {
	Folder  string   `json:"folder"`
	Modules []string `json:"modules"`
	path    string
}

// firstFrame is the package as the interpreter gets it, the same for every process but for what it imports ahead.
func firstFrame(p *preload) ([]byte, error) {
	const root = "python/edgestudio"
	modules := map[string]string{}
	err := fs.WalkDir(packageSources, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := packageSources.ReadFile(name)
		if err != nil {
			return err
		}
		module := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "python/"), ".py"), "/", ".")
		if path.Base(name) == "__init__.py" {
			module = strings.TrimSuffix(module, ".__init__")
		}
		modules[module] = string(source)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("runner: embedded package: %w", err)
	}
	first := map[string]any{"protocol": protocol, "modules": modules}
	if p != nil {
		first["preload"] = p
	}
	frame, err := json.Marshal(first)
	if err != nil {
		return nil, fmt.Errorf("runner: embedded package: %w", err)
	}
	return frame, nil
}
