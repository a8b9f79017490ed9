package receipts_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/receipts"
)

// TestMain lets the test binary be another process that writes receipts, until it is killed if it must.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RECEIPTS_TEST_WRITE_INTO"); dir != "" {
		s := receipts.NewStore(receipts.Config{Dir: dir, Version: "child"})
		for range 50 {
			path, sum, err := s.Write("child", map[string]any{})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(filepath.Base(path), sum)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECEIPTS_TEST_WRITE_INTO="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// wantChain checks that dir has one unbroken chain of n receipts.
func wantChain(t *testing.T, dir string, n int) {
	t.Helper()
	report, err := receipts.VerifyChain(dir)
	if err != nil {
		t.Fatal(err)
	}
	if report.Receipts != n || report.Last != int64(n) {
		t.Errorf("got %d receipts up to sequence %d, want %d", report.Receipts, report.Last, n)
	}
}

func TestConcurrentWriters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "receipts")
	shared := receipts.NewStore(receipts.Config{Dir: dir})
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			s := shared
			if i%2 == 1 {
				s = receipts.NewStore(receipts.Config{Dir: dir})
			}
			for range 20 {
				if _, _, err := s.Write("chat", map[string]any{"writer": i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for done := false; !done; {
		if _, err := receipts.VerifyChain(dir); err != nil && !fault.Is(err, fault.CodeReceiptNotFound) {
			t.Errorf("while it was written: %v", err)
		}
		entries, _ := filepath.Glob(filepath.Join(dir, "2*.json"))
		done = len(entries) == 160 || t.Failed()
	}
	writers.Wait()
	wantChain(t, dir, 160)
}

func TestProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	writers := []*exec.Cmd{child(dir), child(dir)}
	for _, w := range writers {
		must(t, w.Start())
	}
	for _, w := range writers {
		must(t, w.Wait())
	}
	wantChain(t, dir, 100)
}

func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]string{}
	for round := range 10 {
		w := child(dir)
		out, err := w.StdoutPipe()
		must(t, err)
		must(t, w.Start())
		lines := bufio.NewScanner(out)
		for range round + 1 {
			if !lines.Scan() {
				break
			}
			name, sum, _ := strings.Cut(lines.Text(), " ")
			acknowledged[name] = sum
		}
		must(t, w.Process.Kill())
		if w.Wait() == nil {
			t.Log("it had finished before")
		}
		if _, err := receipts.VerifyChain(dir); err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		if _, _, err := receipts.NewStore(receipts.Config{Dir: dir}).Write("after", map[string]any{}); err != nil {
			t.Fatalf("the next write: %v", err)
		}
		report, err := receipts.VerifyChain(dir)
		must(t, err)
		if int(report.Last) != report.Receipts {
			t.Errorf("%d receipts up to sequence %d", report.Receipts, report.Last)
		}
	}
	for name, sum := range acknowledged {
		report, err := receipts.Verify(filepath.Join(dir, name), receipts.Options{})
		if err != nil || report.SHA256.String() != sum {
			t.Errorf("%s was acknowledged, and now: %v", name, err)
		}
	}
}

// The state that a kill between the receipt's rename and the head's leaves: the receipt is there, and head.json is that
// of before, or not there at all for the first one.
func TestKillBetweenReceiptAndHead(t *testing.T) {
	for n := 1; n <= 3; n++ {
		before, _ := newChain(t, n-1)
		dir, _ := newChain(t, n)
		head := filepath.Join(dir, "head.json")
		if n == 1 {
			must(t, os.Remove(head))
		} else {
			put(t, head, slurp(t, filepath.Join(before, "head.json")))
		}
		wantChain(t, dir, n)
		path, _, err := newStore(dir).Write("chat", map[string]any{"after": true})
		must(t, err)
		r, err := receipts.Read(path)
		must(t, err)
		if r.Sequence != int64(n+1) {
			t.Errorf("the next receipt has sequence %d, want %d", r.Sequence, n+1)
		}
		wantChain(t, dir, n+1)
	}
}

// A kill before the rename leaves a temporary file, which is nobody's receipt.
func TestKillBeforeTheRename(t *testing.T) {
	dir, paths := newChain(t, 2)
	put(t, filepath.Join(dir, "."+filepath.Base(paths[1])+".1.tmp"), slurp(t, paths[1])[:20])
	write(t, newStore(dir), map[string]any{})
	wantChain(t, dir, 3)
}

func TestWithoutAHead(t *testing.T) {
	dir, paths := newChain(t, 4)
	must(t, os.Remove(filepath.Join(dir, "head.json")))
	must(t, os.Remove(paths[0])) // removed ones stay removed: the chain goes on from its end
	path, _ := write(t, newStore(dir), map[string]any{})
	r, err := receipts.Read(path)
	must(t, err)
	if r.Sequence != 5 {
		t.Errorf("got sequence %d, want 5", r.Sequence)
	}
	_, err = receipts.VerifyChain(dir)
	if !fault.Is(err, fault.CodeReceiptMismatch) || !strings.Contains(err.Error(), "sequence 1 isn't there") {
		t.Errorf("got %v", err)
	}
}

// A removed newest receipt isn't forgotten by writing on: the next one continues what head.json says.
func TestWritingOnAfterARemoval(t *testing.T) {
	dir, paths := newChain(t, 3)
	must(t, os.Remove(paths[2]))
	write(t, newStore(dir), map[string]any{})
	_, err := receipts.VerifyChain(dir)
	if !fault.Is(err, fault.CodeReceiptMismatch) || !strings.Contains(err.Error(), "sequence 3 isn't there") {
		t.Errorf("got %v", err)
	}
}

func TestADamagedHeadStopsWriting(t *testing.T) {
	dir, _ := newChain(t, 2)
	head := filepath.Join(dir, "head.json")
	for _, content := range []string{"", "{}", "null", strings.ToUpper(string(slurp(t, head))), `{"receipt":"../x.json","receipt_sha256":"` + strings.Repeat("0", 64) + `","schema":"edge.receipt_head/v1","sequence":2}`} {
		put(t, head, []byte(content))
		_, _, err := newStore(dir).Write("chat", map[string]any{})
		if !fault.Is(err, fault.CodeReceiptMismatch) || !strings.Contains(err.Error(), "head.json") || !strings.Contains(fault.From(err).NextStep(), "another name") {
			t.Errorf("head %q: got %v", content, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "2*.json")); len(names) != 2 {
			t.Errorf("head %q: %d receipts", content, len(names))
		}
	}
	// What the hint says works.
	must(t, os.Rename(head, filepath.Join(dir, "head.was")))
	write(t, newStore(dir), map[string]any{})
	wantChain(t, dir, 3)
}

func TestAClockThatStandsStillOrGoesBack(t *testing.T) {
	dir := t.TempDir()
	clock := ticking()
	now := clock()
	s := receipts.NewStore(receipts.Config{Dir: dir, Clock: func() time.Time { return now }})
	for range 3 {
		write(t, s, map[string]any{})
	}
	now = now.AddDate(-1, 0, 0)
	for range 3 {
		write(t, s, map[string]any{})
	}
	wantChain(t, dir, 6)
}

func TestSomethingInTheWay(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "20260102T140406.678Z-chat-00000000.json")
	put(t, blocked, []byte("not a receipt"))
	_, _, err := newStore(dir).Write("chat", map[string]any{})
	if !fault.Is(err, fault.CodeReceiptMismatch) || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("got %v", err)
	}
	if string(slurp(t, blocked)) != "not a receipt" {
		t.Error("it was overwritten")
	}
}
