package llamacpp

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
)

// loadVariant has the engine open one backend: ggml_backend_load(const char * path), which gives null where the processor
// lacks what the code needs.
func loadVariant(dir, name string) bool {
	ggml, err := purego.Dlopen(filepath.Join(dir, "libggml.so"), purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return false
	}
	load, err := purego.Dlsym(ggml, "ggml_backend_load")
	if err != nil {
		return false
	}
	var backendLoad func(path string) uintptr
	purego.RegisterFunc(&backendLoad, load)
	return backendLoad(filepath.Join(dir, name)) != 0
}

// loadedVariant is the one that the engine has kept open, "" if that isn't plain.
func loadedVariant(dir string) string {
	dir, err := filepath.EvalSymlinks(dir) // as the kernel names it
	if err != nil {
		return ""
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer f.Close()
	found := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		_, path, _ := strings.Cut(lines.Text(), "/")
		name := filepath.Base(path)
		if !strings.HasPrefix(name, variantPrefix) || filepath.Dir("/"+path) != dir {
			continue
		}
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	return found
}
