package chattemplate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
)

// source reads a template of testdata.
func source(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "templates", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// model is a fake model whose file has the template.
func model(t *testing.T, options fake.Options) inference.Model {
	t.Helper()
	m, err := fake.New(options).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func renderer(t *testing.T, m inference.Model) *chattemplate.Renderer {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tokens(t *testing.T, r *chattemplate.Renderer, messages []chattemplate.Message, generate bool) []inference.Token {
	t.Helper()
	list, err := r.Tokens(messages, generate)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRenderingsAreThoseOfTheReferenceImplementation: testdata/make_goldens.py wrote goldens.json with Python's jinja2.
func TestRenderingsAreThoseOfTheReferenceImplementation(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var goldens []struct {
		Template     string
		Conversation string
		Messages     []struct{ Role, Content string }
		Generate     bool
		Text         string
	}
	if err := json.Unmarshal(raw, &goldens); err != nil {
		t.Fatal(err)
	}
	templates, err := filepath.Glob(filepath.Join("testdata", "templates", "*.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range goldens {
		seen[g.Template] = true
		t.Run(fmt.Sprintf("%s/%s/%t", g.Template, g.Conversation, g.Generate), func(t *testing.T) {
			r := renderer(t, model(t, fake.Options{ChatTemplate: source(t, g.Template)}))
			var messages []chattemplate.Message
			for _, m := range g.Messages {
				messages = append(messages, chattemplate.Message(m))
			}
			if diff := cmp.Diff(g.Text, fake.Text(tokens(t, r, messages, g.Generate))); diff != "" {
				t.Errorf("jinja2 (-), here (+):\n%s", diff)
			}
		})
	}
	for _, path := range templates {
		if name := strings.TrimSuffix(filepath.Base(path), ".jinja"); !seen[name] {
			t.Errorf("goldens.json has nothing for %s: run make_goldens.py", name)
		}
	}
}
