package home_test

import (
	"os"
	"path/filepath"
	"testing"

	"edge/internal/home"
)

func TestResolve(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cwd, "u")
	for _, tt := range []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"EDGE_HOME wins", "linux", map[string]string{"EDGE_HOME": root, "XDG_DATA_HOME": "/x", "HOME": "/h"}, root},
		{"EDGE_HOME wins on windows", "windows", map[string]string{"EDGE_HOME": root, "LOCALAPPDATA": "/l"}, root},
		{"EDGE_HOME becomes absolute", "linux", map[string]string{"EDGE_HOME": "here"}, filepath.Join(cwd, "here")},
		{"xdg", "linux", map[string]string{"XDG_DATA_HOME": root, "HOME": "/h"}, filepath.Join(root, "edge")},
		{"xdg on macos", "darwin", map[string]string{"XDG_DATA_HOME": root, "HOME": "/h"}, filepath.Join(root, "edge")},
		{"relative xdg is ignored", "linux", map[string]string{"XDG_DATA_HOME": "data", "HOME": root}, filepath.Join(root, ".local", "share", "edge")},
		{"home", "linux", map[string]string{"HOME": root}, filepath.Join(root, ".local", "share", "edge")},
		{"windows", "windows", map[string]string{"LOCALAPPDATA": root, "HOME": "/h"}, filepath.Join(root, "edge")},
		{"nothing set", "linux", nil, ""},
		{"nothing set on windows", "windows", map[string]string{"HOME": "/h"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := home.Resolve(func(key string) string { return tt.env[key] }, tt.goos)
			if (err != nil) != (tt.want == "") || got.Path() != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	d := home.Dir(t.TempDir())
	want := map[string]string{"runtime": d.Runtime(), "models": d.Models(), "imprints": d.Imprints(), "receipts": d.Receipts(), "pending": d.Pending()}
	for name, got := range want {
		if got != filepath.Join(d.Path(), name) {
			t.Errorf("%s: got %s", name, got)
		}
		if _, err := os.Lstat(got); err == nil {
			t.Errorf("%s was created by asking for its path", name)
		}
	}
}
