package inference_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/inference"
)

var update = flag.Bool("update", false, "write the table into the page")

const (
	page  = "backends.md"
	begin = "<!-- capabilities -->\n"
	end   = "<!-- end -->"
)

func TestBackendsPage(t *testing.T) {
	path := filepath.Join("..", "docs", page)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := inference.BackendTable()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s has another table than the code; go test ./inference -update writes it:\n%s", page, want)
	}
}

func TestBackendsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range inference.Backends() {
		if b.Name == "" || b.Title == "" || seen[b.Name] || b.Can != inference.Can(b.Name) {
			t.Errorf("%+v", b)
		}
		seen[b.Name] = true
	}
	if inference.Can("nobody") != (inference.Capabilities{}) {
		t.Error("an unknown backend can do something")
	}
}

func TestExchangesAddUp(t *testing.T) {
	n, ms := 5, 1.5
	one := inference.Exchange{Backend: "x", Requests: 1, PromptTokens: 10, GeneratedTokens: 2, CachedTokens: &n, PromptMS: &ms, ModelProven: true}
	sum := one.Add(one)
	if sum.Requests != 2 || sum.PromptTokens != 20 || *sum.CachedTokens != 10 || *sum.PromptMS != 3 || sum.LoadMS != nil || !sum.ModelProven || n != 5 {
		t.Errorf("%+v", sum)
	}
	silent := one
	silent.CachedTokens = nil
	if one.Add(silent).CachedTokens != nil || silent.Add(one).CachedTokens != nil {
		t.Error("what one request doesn't say isn't known of both")
	}
	if got := (inference.Exchange{}).Add(one); got != one {
		t.Errorf("no requests and one: %+v", got)
	}
}
