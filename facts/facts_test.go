package facts_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/facts"
	"edge/internal/fault"
)

// TestMain lets the test binary be a process that is killed in mid-import, and one that is killed in mid-transaction.
func TestMain(m *testing.M) {
	if path := os.Getenv("FACTS_TEST_IMPORT_INTO"); path != "" {
		if _, err := facts.Import(context.Background(), path, os.Stdin, facts.JSONLines); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	if path := os.Getenv("FACTS_TEST_SPILL_INTO"); path != "" {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			panic(err)
		}
		db.SetMaxOpenConns(1)
		// With a cache of one page the file itself is written to before the end of the transaction.
		for _, statement := range []string{"PRAGMA cache_size = 1", "BEGIN IMMEDIATE", "DELETE FROM facts", "UPDATE words SET text = '', tags = ''"} {
			if _, err := db.Exec(statement); err != nil {
				panic(err)
			}
		}
		fmt.Println("ready")
		select {}
	}
	os.Exit(m.Run())
}

func load(t testing.TB, path, content string) facts.Summary {
	t.Helper()
	sum, err := facts.Import(t.Context(), path, strings.NewReader(content), facts.JSONLines)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func open(t testing.TB, path string) *facts.Store {
	t.Helper()
	s, err := facts.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func all(t testing.TB, path string) []facts.Fact {
	t.Helper()
	s := open(t, path)
	found, err := s.List(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Count(t.Context())
	if err != nil || n != len(found) {
		t.Errorf("%d facts are listed, %d counted (%v)", len(found), n, err)
	}
	return found
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "my facts?#%.db") }

func TestJSONLines(t *testing.T) {
	path := newPath(t)
	sum := load(t, path, "\ufeff"+`{"text":"The shop is in Porto.","id":"place","source":"site","tags":["shop","place","shop"]}

{"tags":[],"text":"Basic fee is 0.3 %."}`+"\r\n")
	if diff := cmp.Diff(facts.Summary{Added: 2, Total: 2}, sum); diff != "" {
		t.Error(diff)
	}
	want := []facts.Fact{
		{ID: "place", Text: "The shop is in Porto.", Source: "site", Tags: []string{"place", "shop"}},
		{ID: "f442b8db175daf1e0", Text: "Basic fee is 0.3 %.", Tags: []string{}},
	}
	if diff := cmp.Diff(want, all(t, path)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("got mode %v (%v), want 0600", info.Mode(), err)
	}
}

func TestCSV(t *testing.T) {
	path := newPath(t)
	content := "\ufeffid,text,tags\r\n" + `a,"one, with a comma","x; y"` + "\n" + `,"two ""quoted""` + "\nlines\"," + "\n"
	sum, err := facts.Import(t.Context(), path, strings.NewReader(content), facts.CSV)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Added != 2 {
		t.Errorf("got %+v", sum)
	}
	got := all(t, path)
	want := []facts.Fact{{ID: "a", Text: "one, with a comma", Tags: []string{"x", "y"}}, {ID: got[1].ID, Text: "two \"quoted\"\nlines", Tags: []string{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestImportIsIdempotent(t *testing.T) {
	path := newPath(t)
	first := `{"text":"a"}` + "\n" + `{"text":"b","id":"b"}` + "\n" + `{"text":"a"}`
	if diff := cmp.Diff(facts.Summary{Added: 2, Total: 2}, load(t, path, first)); diff != "" {
		t.Error(diff)
	}
	before := all(t, path)
	if diff := cmp.Diff(facts.Summary{Unchanged: 2, Total: 2}, load(t, path, first)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, all(t, path)); diff != "" {
		t.Error(diff)
	}
	// The same id with another text replaces, and is found by its new words only.
	if diff := cmp.Diff(facts.Summary{Added: 1, Replaced: 1, Total: 3}, load(t, path, `{"text":"better","id":"b"}`+"\n"+`{"text":"c"}`)); diff != "" {
		t.Error(diff)
	}
	s := open(t, path)
	for query, want := range map[string]int{"b": 0, "better": 1} {
		found, err := s.Search(t.Context(), query, 5)
		if err != nil || len(found) != want {
			t.Errorf("%q finds %v (%v), want %d", query, found, err, want)
		}
	}
}

func TestABadLineLosesNothing(t *testing.T) {
	good := `{"text":"good"}` + "\n"
	tests := []struct {
		name    string
		format  facts.Format
		content string
		says    string
	}{
		{"not JSON", facts.JSONLines, good + "\n" + `{"text":`, "line 3: "},
		{"an array", facts.JSONLines, good + `["x"]`, "line 2: "},
		{"an unknown field", facts.JSONLines, good + `{"text":"x","note":"y"}`, "line 2: "},
		{"the wrong case", facts.JSONLines, good + `{"Text":"x"}`, "line 2: "},
		{"a duplicate field", facts.JSONLines, good + `{"text":"x","text":"y"}`, `line 2: json: duplicate key "text"`},
		{"no text", facts.JSONLines, good + `{"id":"x"}`, "line 2: text is empty"},
		{"white space for text", facts.JSONLines, good + `{"text":" \n"}`, "line 2: text is empty"},
		{"a number for text", facts.JSONLines, good + `{"text":1}`, "line 2: "},
		{"two on one line", facts.JSONLines, good + good[:15] + good, "line 2: "},
		{"a long text", facts.JSONLines, good + `{"text":"` + strings.Repeat("x", facts.MaxText+1) + `"}`, "line 2: text has 8193 bytes"},
		{"a long line", facts.JSONLines, good + `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "line 2: it is longer than"},
		{"a long id", facts.JSONLines, good + `{"text":"x","id":"` + strings.Repeat("x", facts.MaxID+1) + `"}`, "line 2: id has 129 bytes"},
		{"an empty tag", facts.JSONLines, good + `{"text":"x","tags":["a"," "]}`, "line 2: a tag is empty"},
		{"too many tags", facts.JSONLines, good + `{"text":"x","tags":["` + strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz0123456", ""), `","`) + `"]}`, "line 2: 33 tags"},
		{"a control character", facts.JSONLines, good + `{"text":"a\u001b[2K"}`, `line 2: text has the control character "\x1b"`},
		{"invalid UTF-8", facts.JSONLines, good + "{\"text\":\"\xff\"}", "line 2: json: invalid UTF-8"},
		{"the same id twice", facts.JSONLines, `{"text":"x","id":"a"}` + "\n" + good + `{"text":"y","id":"a"}`, `line 3: id "a" stands on line 1`},
		{"an empty CSV", facts.CSV, "", "line 1: there is no header"},
		{"a CSV without text", facts.CSV, "id,source\na,b\n", `line 1: there is no column "text"`},
		{"an unknown column", facts.CSV, "text,Note\na,b\n", `line 1: column "Note" isn't one of`},
		{"a column twice", facts.CSV, "text,text\na,b\n", `line 1: column "text" stands there twice`},
		{"a short record", facts.CSV, "text,id\na,1\nb\n", "line 3: wrong number of fields"},
		{"a bare quote", facts.CSV, "text\na\"b\n", `line 2: bare "`},
		{"an open quote", facts.CSV, "text\n\"a\n", "line "},
		{"an empty text in a CSV", facts.CSV, "text,id\n\"a\nb\",1\n ,2\n", "line 4: text is empty"},
		{"invalid UTF-8 in a CSV", facts.CSV, "text\na\xff\n", "line 2: text isn't valid UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := newPath(t)
			_, err := facts.Import(t.Context(), path, strings.NewReader(test.content), test.format)
			if !fault.Is(err, fault.CodeInvalidFactsFile) || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Error("a store was made")
			}
			load(t, path, `{"text":"there before"}`)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := facts.Import(t.Context(), path, strings.NewReader(test.content), test.format); err == nil {
				t.Error("accepted the second time")
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the store has changed (%v)", err)
			}
		})
	}
}

func TestAReaderThatFails(t *testing.T) {
	for _, format := range []facts.Format{facts.JSONLines, facts.CSV} {
		path := newPath(t)
		broken := io.MultiReader(strings.NewReader("text\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
		if format == facts.JSONLines {
			broken = io.MultiReader(strings.NewReader(`{"text":"x"}`+"\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		if _, err := facts.Import(t.Context(), path, broken, format); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v", format, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a store was made", format)
		}
	}
}

func TestCancelledImport(t *testing.T) {
	path := newPath(t)
	load(t, path, `{"text":"there before"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := facts.Import(ctx, path, strings.NewReader(`{"text":"new"}`), facts.JSONLines); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("got %v", err)
	}
	if got := all(t, path); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestFormats(t *testing.T) {
	for name, want := range map[string]facts.Format{"a.jsonl": facts.JSONLines, "b/A.NDJSON": facts.JSONLines, "c.d.CSV": facts.CSV} {
		if got, err := facts.FormatOf(name); err != nil || got != want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"a.json", "csv", "", "a.txt"} {
		if _, err := facts.FormatOf(name); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := facts.Import(t.Context(), newPath(t), strings.NewReader(""), "xml"); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("got %v", err)
	}
}

func TestAMissingStore(t *testing.T) {
	path := newPath(t)
	if _, err := facts.Open(t.Context(), path); !fault.Is(err, fault.CodeFactsNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("looking for it made it")
	}
	inside := filepath.Join(t.TempDir(), "no", "such", "folder.db")
	if _, err := facts.Import(t.Context(), inside, strings.NewReader(`{"text":"x"}`), facts.JSONLines); !fault.Is(err, fault.CodePathNotWritable) {
		t.Errorf("got %v", err)
	}
}

func TestForeignAndDamagedFiles(t *testing.T) {
	store := newPath(t)
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, `{"text":"fact number %d of many"}`+"\n", i)
	}
	load(t, store, lines.String())
	content, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	other := newPath(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(filepath.Dir(other), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE facts (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	foreign, err := os.ReadFile(filepath.Join(filepath.Dir(other), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(content)
	newer[63] = 2 // the user version, big-endian at offset 60
	damaged := bytes.Clone(content)
	for i := 100; i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	for _, test := range []struct {
		name    string
		content []byte
		says    string
	}{
		{"a text", []byte("just a text"), "not a database"},
		{"a long text", bytes.Repeat([]byte("just a text "), 1000), "not a database"},
		{"another SQLite file", foreign, "an SQLite file, and not a facts store"},
		{"a newer store", newer, "has version 2, and this edge reads version 1"},
		{"a damaged store", damaged, "malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := newPath(t)
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := facts.Open(t.Context(), path); !fault.Is(err, fault.CodeFactsStoreInvalid) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: got %v, want %q", err, test.says)
			}
			if _, err := facts.Import(t.Context(), path, strings.NewReader(`{"text":"x"}`), facts.JSONLines); !fault.Is(err, fault.CodeFactsStoreInvalid) {
				t.Errorf("Import: got %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, test.content) {
				t.Errorf("the file was written to (%v)", err)
			}
		})
	}
	t.Run("cut in the middle", func(t *testing.T) {
		path := newPath(t)
		if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := facts.Open(t.Context(), path)
		if err == nil {
			_, err = s.List(t.Context(), 0, 1000)
			s.Close()
		}
		if !fault.Is(err, fault.CodeFactsStoreInvalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		if _, err := facts.Open(t.Context(), t.TempDir()); !fault.Is(err, fault.CodeFactsStoreInvalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("empty", func(t *testing.T) {
		path := newPath(t)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := facts.Open(t.Context(), path); !fault.Is(err, fault.CodeFactsStoreInvalid) || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("Open: got %v", err)
		}
		load(t, path, `{"text":"x"}`)
		if len(all(t, path)) != 1 {
			t.Error("an empty file didn't become a store")
		}
	})
}

func TestOpenForReadingOnly(t *testing.T) {
	path := newPath(t)
	load(t, path, `{"text":"x"}`)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if _, err := s.Search(t.Context(), "x", 1); err != nil {
		t.Fatal(err)
	}
	// An import beside an open reader goes through, and the reader sees it.
	load(t, path, `{"text":"y"}`)
	if n, err := s.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("got %d facts (%v), want 2", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := s.Count(t.Context()); err == nil {
		t.Error("a closed store answers")
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files beside the store: %v (%v)", entries, err)
	}
}

func TestImportsAtOnce(t *testing.T) {
	path := newPath(t)
	var imports sync.WaitGroup
	for i := range 4 {
		imports.Go(func() {
			for j := range 5 {
				line := fmt.Sprintf(`{"text":"fact %d of %d"}`+"\n"+`{"text":"shared %d"}`, j, i, j)
				if _, err := facts.Import(context.Background(), path, strings.NewReader(line), facts.JSONLines); err != nil {
					t.Error(err)
				}
			}
		})
	}
	imports.Wait()
	if got := all(t, path); len(got) != 25 {
		t.Errorf("got %d facts, want 25", len(got))
	}
}

// An import that is killed at any moment leaves the facts of before, or all of the new ones too.
func TestKilledImports(t *testing.T) {
	var lines bytes.Buffer
	for i := range 999 {
		fmt.Fprintf(&lines, `{"text":"fact number %d, %s"}`+"\n", i, strings.Repeat("word ", 100))
	}
	for round := range 4 {
		path := newPath(t)
		load(t, path, `{"text":"there before"}`)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FACTS_TEST_IMPORT_INTO="+path)
		cmd.Stdin = bytes.NewReader(lines.Bytes())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round) * 60 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Log(err) // it was faster
		}
		cmd.Wait()
		if got := all(t, path); len(got) != 1 && len(got) != 1000 {
			t.Errorf("round %d: %d facts are left", round, len(got))
		}
		load(t, path, `{"text":"after"}`)
	}
}

// A transaction that had already written to the file when its process was killed is taken back by the next reader.
func TestKilledInMidTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts.db")
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, `{"text":"fact number %d, %s"}`+"\n", i, strings.Repeat("word ", 20))
	}
	load(t, path, lines.String())
	before := all(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FACTS_TEST_SPILL_INTO="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	cmd.Wait()
	if torn, err := os.ReadFile(path); err != nil || bytes.Equal(torn, content) {
		t.Fatalf("the transaction left no trace, so this test shows nothing (%v)", err)
	}
	if diff := cmp.Diff(before, all(t, path)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(path + "-journal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}
