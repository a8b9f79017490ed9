package receipts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"edge/internal/fault"
	"edge/receipts"
)

// newChain writes n receipts into a new folder and gives their paths in order.
func newChain(t testing.TB, n int) (dir string, paths []string) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "chain")
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(dir)
	for i := range n {
		path, _, err := s.Write("chat", map[string]any{"n": i})
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return dir, paths
}

// copyOf gives a copy of the chain in dir, and the paths of its receipts in order.
func copyOf(t testing.TB, dir string) (string, []string) {
	t.Helper()
	target, err := os.MkdirTemp(t.TempDir(), "copy")
	must(t, err)
	must(t, os.CopyFS(target, os.DirFS(dir)))
	paths, err := filepath.Glob(filepath.Join(target, "2*.json"))
	must(t, err)
	return target, paths
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func slurp(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return content
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(path, content, 0o600))
}

func swap(t testing.TB, a, b string) {
	t.Helper()
	contentA, contentB := slurp(t, a), slurp(t, b)
	put(t, a, contentB)
	put(t, b, contentA)
}

// forge makes a chain of its own that has other contents, and gives the path of its receipt number n.
func forge(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	s := newStore(dir)
	var path string
	for range n {
		var err error
		path, _, err = s.Write("chat", map[string]any{"forged": true})
		must(t, err)
	}
	return path
}

func TestTamperedChains(t *testing.T) {
	tests := []struct {
		name   string
		tamper func(t *testing.T, dir string, paths []string)
		want   []string // the failures: check, and words of its message
	}{
		{"untouched", func(*testing.T, string, []string) {}, nil},
		{"one removed", func(t *testing.T, _ string, p []string) { must(t, os.Remove(p[2])) }, []string{"removed: the receipt with sequence 3 isn't there"}},
		{"the first removed", func(t *testing.T, _ string, p []string) { must(t, os.Remove(p[0])) }, []string{"removed: the receipt with sequence 1 isn't there"}},
		{"two removed", func(t *testing.T, _ string, p []string) { must(t, os.Remove(p[1])); must(t, os.Remove(p[2])) }, []string{"removed: the receipts with sequences 2 to 3 aren't there"}},
		{"the newest removed", func(t *testing.T, _ string, p []string) { must(t, os.Remove(p[4])) }, []string{"removed: head.json names it as the newest"}},
		{"all removed", func(t *testing.T, _ string, p []string) {
			for _, path := range p {
				must(t, os.Remove(path))
			}
		}, []string{"removed: head.json names it as the newest"}},
		{"a byte changed", func(t *testing.T, _ string, p []string) {
			put(t, p[2], []byte(strings.Replace(string(slurp(t, p[2])), `"n":2`, `"n":3`, 1)))
		}, []string{"changed: receipt"}},
		{"a byte of the newest changed", func(t *testing.T, _ string, p []string) {
			put(t, p[4], []byte(strings.Replace(string(slurp(t, p[4])), `"n":4`, `"n":3`, 1)))
		}, []string{"changed: receipt"}},
		{"one emptied", func(t *testing.T, _ string, p []string) { put(t, p[1], nil) }, []string{"changed: receipt"}},
		{"the first rewritten with right digests", func(t *testing.T, _ string, p []string) { put(t, p[0], slurp(t, forge(t, 1))) }, []string{"changed: it continues a receipt with digest"}},
		{"the newest rewritten with right digests", func(t *testing.T, _ string, p []string) {
			dir := t.TempDir()
			for _, path := range p[:4] {
				put(t, filepath.Join(dir, filepath.Base(path)), slurp(t, path))
			}
			clock := ticking()
			for range 4 {
				clock()
			}
			forged, _, err := receipts.NewStore(receipts.Config{Dir: dir, Clock: clock, Version: "0.0.0-test"}).Write("chat", map[string]any{"forged": true})
			must(t, err)
			if filepath.Base(forged) != filepath.Base(p[4]) {
				t.Fatalf("forged %s, want %s", forged, p[4])
			}
			put(t, p[4], slurp(t, forged))
		}, []string{"changed: head.json has the digest"}},
		{"two in each other's place", func(t *testing.T, _ string, p []string) { swap(t, p[1], p[3]) }, []string{"renamed: it was written as", "renamed: it was written as"}},
		{"one renamed", func(t *testing.T, dir string, p []string) {
			must(t, os.Rename(p[1], filepath.Join(dir, "20200101T000000.000Z-chat-00000000.json")))
		}, []string{"renamed: it was written as"}},
		{"one hidden under another name", func(t *testing.T, dir string, p []string) {
			must(t, os.Rename(p[1], filepath.Join(dir, "kept.json")))
		}, []string{"inserted: no receipt has such a name", "removed: the receipt with sequence 2 isn't there"}},
		{"a copy beside it", func(t *testing.T, dir string, p []string) {
			put(t, filepath.Join(dir, "20200101T000000.000Z-chat-00000000.json"), slurp(t, p[1]))
		}, []string{"renamed: it was written as", "inserted: its sequence is 2"}},
		{"one of another chain", func(t *testing.T, dir string, _ []string) {
			other := forge(t, 3)
			put(t, filepath.Join(dir, filepath.Base(other)), slurp(t, other))
		}, []string{"inserted: its sequence is 3"}},
		{"a later one of another chain", func(t *testing.T, dir string, _ []string) {
			other := forge(t, 6)
			put(t, filepath.Join(dir, filepath.Base(other)), slurp(t, other))
		}, []string{"changed: it continues a receipt with digest"}},
		{"a far later one", func(t *testing.T, dir string, _ []string) {
			other := forge(t, 9)
			put(t, filepath.Join(dir, filepath.Base(other)), slurp(t, other))
		}, []string{"removed: the receipts with sequences 6 to 8 aren't there", "changed: it is 4 receipts behind"}},
		{"a head of rubbish", func(t *testing.T, dir string, _ []string) { put(t, filepath.Join(dir, "head.json"), []byte("{}")) }, []string{"changed: "}},
		{"a head with a field more", func(t *testing.T, dir string, _ []string) {
			head := filepath.Join(dir, "head.json")
			put(t, head, []byte(strings.Replace(string(slurp(t, head)), "{", `{"a":1,`, 1)))
		}, []string{"changed: "}},
		{"a head with another digest", func(t *testing.T, dir string, _ []string) {
			head := filepath.Join(dir, "head.json")
			other := filepath.Join(filepath.Dir(forge(t, 5)), "head.json")
			put(t, head, slurp(t, other))
		}, []string{"changed: head.json has the digest"}},
	}
	original, _ := newChain(t, 5)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, paths := copyOf(t, original)
			test.tamper(t, dir, paths)
			report, err := receipts.VerifyChain(dir)
			if report == nil || len(test.want) > 0 != fault.Is(err, fault.CodeReceiptMismatch) || len(test.want) == 0 && err != nil {
				t.Fatalf("got %v, %v", report, err)
			}
			if report.Limit != receipts.CutTail {
				t.Errorf("the report doesn't say what it can't see: %q", report.Limit)
			}
			var got []string
			for _, f := range report.Findings {
				if f.Status == receipts.Failed {
					got = append(got, f.Check+": "+f.Message)
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("got failures %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("got %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}

// The limit that the report states: with head.json set back too, or gone, a cut tail leaves a chain like any other.
func TestACutTailIsTheOneThingUnseen(t *testing.T) {
	short, _ := newChain(t, 3)
	for name, tamper := range map[string]func(dir string){
		"set back": func(dir string) {
			put(t, filepath.Join(dir, "head.json"), slurp(t, filepath.Join(short, "head.json")))
		},
		"gone": func(dir string) { must(t, os.Remove(filepath.Join(dir, "head.json"))) },
	} {
		dir, paths := newChain(t, 5)
		newest, err := receipts.VerifyChain(dir)
		must(t, err)
		must(t, os.Remove(paths[4]))
		must(t, os.Remove(paths[3]))
		tamper(dir)
		report, err := receipts.VerifyChain(dir)
		if err != nil {
			t.Errorf("%s: a cut tail was seen after all: %v", name, err)
		}
		if !strings.Contains(report.Limit, "can't show that its newest receipts were cut off") {
			t.Errorf("%s: the report says %q", name, report.Limit)
		}
		if report.Last != 3 || newest.Last != 5 || report.LastSHA256 == newest.LastSHA256 {
			t.Errorf("%s: whoever kept the newest digest can't tell: %d %s, %d %s", name, report.Last, report.LastSHA256, newest.Last, newest.LastSHA256)
		}
	}
}

func TestNotesAreNoFailures(t *testing.T) {
	dir, _ := newChain(t, 2)
	put(t, filepath.Join(dir, "notes.txt"), nil)
	put(t, filepath.Join(dir, ".head.json.123.tmp"), nil)
	report, err := receipts.VerifyChain(dir)
	must(t, err)
	if len(report.Findings) != 2 || report.Findings[0].Receipt != "notes.txt" || report.Findings[1].Status != receipts.Passed {
		t.Errorf("got %+v", report.Findings)
	}
	empty, err := receipts.VerifyChain(t.TempDir())
	if err != nil || empty.Receipts != 0 || empty.Last != 0 {
		t.Errorf("an empty folder: %+v, %v", empty, err)
	}
}

// Whatever is done to any receipts but the newest, it is found.
func TestAnyTampering(t *testing.T) {
	const n = 6
	original, _ := newChain(t, n)
	rapid.Check(t, func(rt *rapid.T) {
		dir, paths := copyOf(t, original)
		defer os.RemoveAll(dir)
		i := rapid.IntRange(0, n-2).Draw(rt, "which")
		content := slurp(t, paths[i])
		switch rapid.IntRange(0, 3).Draw(rt, "how") {
		case 0:
			must(t, os.Remove(paths[i]))
		case 1:
			content[rapid.IntRange(0, len(content)-1).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
			put(t, paths[i], content)
		case 2:
			swap(t, paths[i], paths[rapid.IntRange(i+1, n-1).Draw(rt, "other")])
		case 3:
			put(t, paths[i], content[:rapid.IntRange(0, len(content)-1).Draw(rt, "length")])
		}
		if _, err := receipts.VerifyChain(dir); !fault.Is(err, fault.CodeReceiptMismatch) {
			rt.Fatalf("got %v", err)
		}
	})
}

// testdata/v1 was written by another program, from the format's page alone; every later edge reads it.
func TestVectors(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	report, err := receipts.VerifyChain(dir)
	must(t, err)
	if want := "0119cfee849414f5eda936af5c4fa913041b9f788e695555b0cb9ca4136c2f6f"; report.Receipts != 3 || report.Last != 3 || report.LastSHA256.String() != want {
		t.Errorf("got %d receipts, the newest %s, want 3 and %s", report.Receipts, report.LastSHA256, want)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "2*.json"))
	must(t, err)
	for _, path := range paths {
		if _, err := receipts.Verify(path, receipts.Options{}); err != nil {
			t.Error(err)
		}
	}
}
