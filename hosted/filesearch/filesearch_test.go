package filesearch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/hosted"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/tools"
)

// bench is a folder to search, and what was said about it.
type bench struct {
	t      *testing.T
	folder string
	env    hosted.Environment
	mu     sync.Mutex
	said   []string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, folder: t.TempDir()}
	b.env = hosted.Environment{Home: home.Dir(t.TempDir()), Base: b.folder, Notify: func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.said = append(b.said, text)
	}}
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) open(options string) hosted.Tool {
	b.t.Helper()
	tool, err := Open(json.RawMessage(options), b.env)
	if err != nil {
		b.t.Fatal(err)
	}
	return tool
}

func (b *bench) search(tool hosted.Tool, query string) answer {
	b.t.Helper()
	arguments, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		b.t.Fatal(err)
	}
	raw, err := tool.Call(context.Background(), arguments)
	if err != nil {
		b.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// places are the results as "file:line-end".
func (b *bench) places(tool hosted.Tool, query string) (all []string) {
	b.t.Helper()
	for _, r := range b.search(tool, query).Results {
		all = append(all, fmt.Sprintf("%s:%d-%d", r.File, r.Line, r.EndLine))
	}
	return all
}

const here = `{"folders":["."]}`

func TestPassagesAreFoundWithFileAndLine(t *testing.T) {
	b := newBench(t)
	b.write("guide/refunds.md", "# Shop\n\nHello.\n\n# Refunds\n\nYou get your money back\nwithin thirty days.\n")
	b.write("code/fee.py", "def fee(amount):\n    return amount * 0.02\n")
	b.write("data.csv", "city,country\nKöln,Germany\n")
	b.write("page.html", "<html><style>p { color: zebra }</style>\n<p>An <b>exten</b>ded&nbsp;warranty\n<script>zebra()</script>\n</html>")
	b.write("zh.txt", "第一行\n退款須在三十天內提出申請。\n")
	b.write("ja.md", "返金は三十日以内に申請してください。カード払いも可。\n")
	b.write("wide.txt", "\xff\xfeg\x00n\x00u\x00\n\x00")
	b.write("LICENSE", "Permission is hereby granted\r\nto walrus owners\r\n")
	b.write("config.json", "{\"timeout_seconds\": 30}\n")
	tool := b.open(here)
	for query, want := range map[string][]string{
		"money back":         {"guide/refunds.md:5-8"},
		"refund":             {"guide/refunds.md:5-8", "guide/refunds.md:1-3"}, // by the name of its file
		"fees amount":        {"code/fee.py:1-2"},
		"fee.py":             {"code/fee.py:1-2"},
		"koln":               {"data.csv:1-2"},
		"extended warranty":  {"page.html:2-2"},
		"zebra":              nil,
		"退款":                 {"zh.txt:1-2"},
		"三十天內":               {"zh.txt:1-2", "ja.md:1-1"},
		"カード":                {"ja.md:1-1"},
		"gnu":                {"wide.txt:1-1"},
		"walrus":             {"LICENSE:1-2"},
		"timeout":            {"config.json:1-1"},
		"":                   nil,
		"?!":                 nil,
		"money back walrus":  {"LICENSE:1-2", "guide/refunds.md:5-8"},
		"nothing like this~": nil,
	} {
		got := b.places(tool, query)
		if query == "money back walrus" {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	want := answer{Results: []Result{{File: "guide/refunds.md", Line: 5, EndLine: 8, Text: "# Refunds\n\nYou get your money back\nwithin thirty days."}}}
	if d := cmp.Diff(want, b.search(tool, "money back")); d != "" {
		t.Error(d)
	}
	if got := b.search(tool, "xyzzy").Note; got != "nothing found in 9 files" {
		t.Errorf("note: %q", got)
	}
}

func TestNoCharacterOfAQueryIsAnOperator(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "apples AND pears, NEAR the \"text: place\" column\n")
	tool := b.open(here)
	for _, query := range []string{`"`, `"apples`, `apples"`, "apples*", "apples AND", "OR", "NOT apples", "text:apples", "NEAR(apples pears)", "^apples", "(", "a^b", "{text}:apples", "apples + pears", `\`, "'; DROP TABLE files; --", "apples\x00pears"} {
		b.search(tool, query) // fails the test where it fails
	}
	if got := b.places(tool, "apples NEAR place"); !slices.Equal(got, []string{"a.txt:1-1"}) {
		t.Errorf("got %v", got)
	}
	if got := b.places(tool, "bananas OR apples"); !slices.Equal(got, []string{"a.txt:1-1"}) {
		t.Errorf("got %v", got)
	}
}

// age makes files look as if they had been left alone, so that their stamps are believed.
func (b *bench) age() {
	b.t.Helper()
	time.Sleep(2100 * time.Millisecond)
}

func (b *bench) rows() (n int) {
	b.t.Helper()
	x := b.open(here).(*tool).index
	db, err := x.open(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT coalesce(max(n), 0) FROM passages").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestTheIndexFollowsTheFiles(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "walrus\n")
	b.write("b.txt", "penguin\n")
	tool := b.open(here)
	check := func(query string, want ...string) {
		t.Helper()
		if got := b.places(tool, query); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	check("walrus", "a.txt:1-1")
	b.write("c.txt", "\n\nwalrus\n")
	check("walrus", "a.txt:1-1", "c.txt:3-3")
	b.write("a.txt", "ostrich\n") // the same size, in the same moment
	check("walrus", "c.txt:3-3")
	check("ostrich", "a.txt:1-1")
	if err := os.Remove(filepath.Join(b.folder, "c.txt")); err != nil {
		t.Fatal(err)
	}
	check("walrus")
	if err := os.Rename(filepath.Join(b.folder, "b.txt"), filepath.Join(b.folder, "d.txt")); err != nil {
		t.Fatal(err)
	}
	check("penguin", "d.txt:1-1")
	b.write("d.txt", "\x00penguin") // no text any more
	check("penguin")

	// What didn't change isn't written again: a new row would have a higher number.
	b.age()
	check("ostrich", "a.txt:1-1")
	before := b.rows()
	check("ostrich", "a.txt:1-1")
	b.write("a.txt", "ostrich\n")
	check("ostrich", "a.txt:1-1")
	if after := b.rows(); after != before {
		t.Errorf("files with the same content were indexed again: row %d became %d", before, after)
	}
}

func TestAStampIsBelievedOnlyIfTheFileWasLeftAlone(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "walrus\n")
	b.age()
	tool := b.open(here)
	if got := b.places(tool, "walrus"); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	path := filepath.Join(b.folder, "a.txt")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.write("a.txt", "ostric\n")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := b.places(tool, "ostric"); len(got) != 1 {
		t.Errorf("a file with its old time back: got %v", got)
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "walrus\n")
	b.write("binary.bin", "walrus\x00\x01")
	b.write("latin1.txt", "walrus caf\xe9\n")
	b.write("huge.txt", "walrus "+strings.Repeat("x", maxFileBytes))
	b.write(".hidden", "walrus\n")
	b.write(".git/config", "walrus\n")
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("walrus\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.txt": outside, "folder": filepath.Dir(outside), "loop": b.folder, "inside.txt": "a.txt"} {
		if err := os.Symlink(target, filepath.Join(b.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	tool := b.open(here)
	if got := b.places(tool, "walrus"); !slices.Equal(got, []string{"a.txt:1-1"}) {
		t.Errorf("got %v", got)
	}
	b.search(tool, "walrus")
	want := []string{"file search: 1 file; left out: 2 not text, 1 larger than 4 MiB"}
	if !slices.Equal(b.said, want) {
		t.Errorf("said %q, want %q once", b.said, want)
	}
	if got := b.search(tool, "xyzzy").Note; got != "nothing found in 1 file; left out: 2 not text, 1 larger than 4 MiB" {
		t.Errorf("note: %q", got)
	}
}

func TestEdgesOwnStateIsNotSearched(t *testing.T) {
	b := newBench(t)
	b.env.Home = home.Dir(filepath.Join(b.folder, "state"))
	b.write("state/receipts/a.json", "walrus\n")
	if got := b.places(b.open(here), "walrus"); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestResultsAreBounded(t *testing.T) {
	b := newBench(t)
	for i := range 80 {
		b.write(fmt.Sprintf("%02d.txt", i), strings.Repeat("walrus \x01 ", 100)+"\n")
	}
	if got := b.search(b.open(here), "walrus"); len(got.Results) != DefaultResults {
		t.Errorf("by default: %d results", len(got.Results))
	}
	if got := b.search(b.open(`{"folders":["."],"max_num_results":2}`), "walrus"); len(got.Results) != 2 {
		t.Errorf("two wanted: %d results", len(got.Results))
	}
	raw, err := b.open(`{"folders":["."],"max_num_results":50}`).Call(context.Background(), json.RawMessage(`{"query":"walrus"}`))
	if err != nil || len(raw) > tools.MaxResultBytes || len(raw) < tools.MaxResultBytes/2 {
		t.Errorf("fifty wanted: %d bytes, %v", len(raw), err)
	}
}

func TestScoresAndFolders(t *testing.T) {
	b := newBench(t)
	b.write("one/a.txt", "walrus walrus\n")
	b.write("two/a.txt", "walrus and other animals of the sea\n")
	b.write("three/a.txt", "walrus\n")
	absolute := filepath.ToSlash(filepath.Join(b.folder, "two"))
	options, err := json.Marshal(map[string]any{"folders": []string{"one", absolute}, "include_search_results": true})
	if err != nil {
		t.Fatal(err)
	}
	got := b.search(b.open(string(options)), "walrus").Results
	if len(got) != 2 || got[0].File != "one/a.txt" || got[1].File != absolute+"/a.txt" {
		t.Fatalf("got %+v", got)
	}
	if got[0].Score == nil || got[1].Score == nil || *got[0].Score < *got[1].Score || *got[1].Score <= 0 {
		t.Errorf("scores: %v, %v", *got[0].Score, *got[1].Score)
	}
	if got := b.search(b.open(`{"folders":["one"]}`), "walrus").Results; got[0].Score != nil {
		t.Error("a score that nobody asked for")
	}
}

func TestADamagedIndexIsMadeAnewAndSaid(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"not a database": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"torn": func(path string) error { return os.Truncate(path, 5000) },
		"overwritten": func(path string) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size())-4096)), 4096)
			return err
		},
		"another version's": func(path string) error {
			x := index{path: path}
			db, err := x.open(context.Background())
			if err != nil {
				return err
			}
			defer db.Close()
			_, err = db.Exec("PRAGMA user_version = 99")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("a.txt", "walrus\n")
			tool := b.open(here).(*tool)
			b.search(tool, "walrus")
			if err := harm(tool.index.path); err != nil {
				t.Fatal(err)
			}
			if got := b.places(tool, "walrus"); !slices.Equal(got, []string{"a.txt:1-1"}) {
				t.Errorf("got %v", got)
			}
			if len(b.said) != 1 || !strings.Contains(b.said[0], "is made anew") {
				t.Errorf("said %q", b.said)
			}
			if b.search(tool, "walrus"); len(b.said) != 1 {
				t.Errorf("said again: %q", b.said)
			}
		})
	}
}

func TestTheIndexIsPrivate(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "walrus\n")
	tool := b.open(here).(*tool)
	b.search(tool, "walrus")
	info, err := os.Stat(tool.index.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSearchesAtTheSameTime(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		b.write(fmt.Sprintf("%02d.txt", i), "walrus\n")
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			tool := b.open(here) // each its own, as other processes have
			raw, err := tool.Call(context.Background(), json.RawMessage(`{"query":"walrus"}`))
			if err != nil || strings.Count(string(raw), `"file"`) != DefaultResults {
				t.Errorf("search %d: %s, %v", i, raw, err)
			}
		})
	}
	wait.Wait()
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "walrus\n")
	for _, options := range []string{
		`{"folders":[]}`, `{}`, `{"folders":["nowhere"]}`, `{"folders":["a.txt"]}`, `{"folders":["."],"max_num_results":51}`,
		`{"folders":["."],"max_num_results":-1}`, `{"folders":["."],"filters":{"type":"eq"}}`,
	} {
		if _, err := Open(json.RawMessage(options), b.env); !fault.Is(err, fault.CodeInvalidToolMetadata) {
			t.Errorf("%s: %v", options, err)
		}
	}
	b.write("soon/a.txt", "walrus\n")
	gone := b.open(`{"folders":["soon"]}`)
	if err := os.RemoveAll(filepath.Join(b.folder, "soon")); err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Call(context.Background(), json.RawMessage(`{"query":"walrus"}`)); !fault.Is(err, fault.CodeInvalidToolMetadata) {
		t.Errorf("a folder that is gone: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.open(here).Call(cancelled, json.RawMessage(`{"query":"walrus"}`)); err == nil {
		t.Error("a search ran after its context ended")
	}
}
