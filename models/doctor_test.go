package models_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/internal/fault"
	"edge/models"
)

func TestDiagnose(t *testing.T) {
	empty, _, _ := engineWorld(t, models.Config{})
	d := empty.Diagnose(t.Context(), "")
	if d.Engine.OK || d.Engine.Code != fault.CodeRuntimeNotFound || !strings.Contains(d.Engine.Todo, "edge setup") || d.Engine.Package != "@test/test-x64@1.2.3" {
		t.Errorf("engine: %+v", d.Engine)
	}
	if d.Model.OK || d.Model.Code != fault.CodeModelNotFound || !strings.Contains(d.Model.Todo, "edge setup") {
		t.Errorf("model: %+v", d.Model)
	}
	if !d.Paths.OK || d.Paths.Home != empty.home.Path() || d.Paths.FreeBytes == 0 || d.Paths.Todo != "" {
		t.Errorf("paths: %+v", d.Paths)
	}
	if _, err := os.Stat(empty.home.Path()); err == nil {
		t.Error("looking created the folder")
	}

	w, dir := setUp(t)
	d = w.Diagnose(t.Context(), "")
	if !d.Engine.OK || d.Engine.Libraries != 4 || d.Engine.SHA256.IsZero() || d.Engine.Dir != dir || d.Engine.Todo != "" {
		t.Errorf("engine: %+v", d.Engine)
	}
	if !d.Model.OK || d.Model.Model == nil || !d.Model.Model.Pinned || d.Model.Todo != "" {
		t.Errorf("model: %+v", d.Model)
	}

	own := writeFile(t, filepath.Join(t.TempDir(), "own.gguf"), tinyModel(1))
	if m := w.Diagnose(t.Context(), own).Model; !m.OK || !strings.Contains(m.Found, "your own") {
		t.Errorf("own model: %+v", m)
	}
	writeFile(t, filepath.Join(dir, "libllama.v9.so"), []byte("evil!"))
	if e := w.Diagnose(t.Context(), "").Engine; e.OK || e.Code != fault.CodeRuntimeDigestMismatch || !strings.Contains(e.Todo, "--repair") {
		t.Errorf("damaged engine: %+v", e)
	}
	w.SetFree(func(string) (int64, error) { return 1 << 20, nil })
	if p := w.Diagnose(t.Context(), "").Paths; p.OK || p.FreeBytes != 1<<20 || p.Todo == "" {
		t.Errorf("full disk: %+v", p)
	}

	blocked, _, _ := engineWorld(t, models.Config{Home: "/dev/null/edge"})
	if p := blocked.Diagnose(t.Context(), "").Paths; p.OK || p.Writable || p.Todo == "" {
		t.Errorf("nothing can be written: %+v", p)
	}
}
