package libffi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"

	"edge/inference/llamacpp/libffi"
)

// The test binary is a program as edge is: it holds the packages that panic where libffi is missing.
const playCommand = "__without_libffi"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == playCommand {
		_, open := purego.Dlopen("libm.so.6", purego.RTLD_LAZY)
		fmt.Printf("check: %v\nother library: %v\nengine: %v\n", libffi.Check(), open, llama.Load(os.Args[2]))
		return
	}
	os.Exit(m.Run())
}

func play(t *testing.T, environ ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, playCommand, t.TempDir())
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestWithout(t *testing.T) {
	// A file of that name that is no library, in the first folder that the linker looks into.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libffi.so.8"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := play(t, "LD_LIBRARY_PATH="+dir)
	if err != nil {
		t.Fatalf("the program didn't come to main: %v\n%s", err, out)
	}
	why := filepath.Join(dir, "libffi.so.8") + ": file too short"
	for _, what := range []string{"check: ", "other library: ", "engine: "} {
		if !strings.Contains(out, what) || strings.Count(out, why) != 3 {
			t.Errorf("got %q, want %s%s", out, what, why)
		}
	}
}

func TestWith(t *testing.T) {
	out, err := play(t)
	if err != nil || !strings.HasPrefix(out, "check: <nil>\nother library: <nil>\nengine: ") || strings.Contains(out, "libffi") {
		t.Errorf("got %q, %v", out, errors.Join(err, libffi.Check()))
	}
}
