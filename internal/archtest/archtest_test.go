package archtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/internal/archtest"
)

var root = filepath.Join("..", "..")

func TestTheHouseFollowsItsRules(t *testing.T) {
	files, err := archtest.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range archtest.Check(files, archtest.Exceptions()) {
		t.Error(violation)
	}
}

func TestTheHouseReachesOnlyWhatItMay(t *testing.T) {
	// Whole chains, and with them the proof that Load saw every package that the go command builds.
	type listed struct {
		archtest.Package
		Dir      string
		GoFiles  []string
		Standard bool
	}
	list := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports,Dir,GoFiles,Standard", "./...")
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := archtest.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		seen[f.Path] = true
	}
	var packages []archtest.Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p.Package)
		if dir, own := strings.CutPrefix(p.ImportPath, archtest.Module+"/"); own && !p.Standard {
			for _, name := range p.GoFiles {
				if !seen[dir+"/"+name] {
					t.Errorf("go builds %s/%s, and no rule saw it", dir, name)
				}
			}
		}
	}
	if len(packages) < 50 {
		t.Fatalf("go list named %d packages", len(packages))
	}
	for _, chain := range archtest.CheckReach(packages) {
		t.Error(chain)
	}
}

// NOTICE names every module whose code is in the program.
func TestNoticeNamesEveryModule(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/edge")
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	notice, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	named := strings.FieldsFunc(string(notice), func(r rune) bool { return r == ' ' || r == '\n' || r == ',' })
	modules := strings.Fields(string(out))
	if len(modules) == 0 {
		t.Fatal("go list named no module")
	}
	slices.Sort(modules)
	for _, module := range slices.Compact(modules) {
		if !slices.Contains(named, module) {
			t.Errorf("NOTICE doesn't name %s", module)
		}
	}
}
