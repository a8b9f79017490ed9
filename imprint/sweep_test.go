//go:build sweep && linux

package imprint_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sweep"
)

// Whatever kills a process, or fails its disk, and wherever: a store holds what it held before or what it should hold
// afterwards, whole, and the next edge goes on and clears away what was left.
//
//	make sweep

func playing(name, dir string) sweep.Run {
	return func(wrap ...string) (int, string) {
		cmd := exec.Command(wrap[0], append(wrap[1:], os.Args[0])...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", childEnv+"="+name, "EDGE_IMPRINT_TEST_STORE="+dir)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
}

// stocked makes a store of the contents that are given, the last one most recently used.
func stocked(t *testing.T, contents ...int) *imprint.Store {
	t.Helper()
	s := newStore(t)
	day := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i, n := range contents {
		if err := s.Touch(put(t, s, chained(n)).ID, day.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func idOf(t *testing.T, n int) imprint.ID {
	t.Helper()
	id, err := imprint.ComputeID(chained(n))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// held gives the numbers of the contents that a store has, of those below limit; or a complaint: a file that isn't what its
// name says, an imprint that isn't whole, one that nobody put there.
func held(t *testing.T, s *imprint.Store, limit int) (numbers []int, wrong string) {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Damaged {
		if !strings.Contains(d.Path, ".damaged-") {
			wrong = fmt.Sprintf("%s is torn: %v", d.Path, d.Err)
		}
	}
	for _, e := range list.Entries {
		u, err := s.Open(e.ID.String())
		if err != nil {
			return nil, fmt.Sprintf("%s is listed: %v", e.ID, err)
		}
		if err := u.CheckIntegrity(context.Background()); err != nil {
			wrong = fmt.Sprintf("%s is listed: %v", e.ID, err)
		}
		u.Close()
		n := 0
		for n < limit && idOf(t, n) != e.ID {
			n++
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, wrong
}

// settled does what an undisturbed edge does next (the play again, another Put, a prune that removes nothing) and gives
// what is in the store then: where nothing was left behind, always the same.
func settled(t *testing.T, name string, s *imprint.Store) map[string]string {
	t.Helper()
	if err := act(name, s.Dir()); err != nil && !(name == playRemove && fault.Is(err, fault.CodeImprintNotFound)) {
		t.Errorf("the next %s: %v", name, err)
	}
	put(t, s, chained(7))
	if _, err := s.Prune(context.Background(), imprint.PruneOptions{}); err != nil {
		t.Error(err)
	}
	return tree(t, s.Dir())
}

// sweepStore sweeps a play. make gives a fresh store for it, and holds a complaint about the contents that are there
// after it; done says whether they are those of a play that went through.
func sweepStore(t *testing.T, name string, make func() *imprint.Store, may func(numbers []int) bool, done func(numbers []int) bool) {
	clean := make()
	if err := act(name, clean.Dir()); err != nil {
		t.Fatal(err)
	}
	want := settled(t, name, clean)
	sweep.All(t, func() sweep.Scene {
		s := make()
		return sweep.Scene{Dir: s.Dir(), Run: playing(name, s.Dir()), Holds: func(e sweep.Ending) string {
			numbers, wrong := held(t, s, 8)
			switch {
			case wrong != "":
				return wrong
			case !may(numbers):
				return fmt.Sprintf("the store holds %d", numbers)
			case e.Status == 0 && !done(numbers):
				return fmt.Sprintf("it succeeded, and the store holds %d", numbers)
			}
			if d := cmp.Diff(want, settled(t, name, s)); d != "" {
				return "after the next edge: " + d
			}
			return ""
		}}
	})
}

func exactly(wanted ...[]int) func([]int) bool {
	return func(numbers []int) bool {
		return slices.ContainsFunc(wanted, func(w []int) bool { return slices.Equal(w, numbers) })
	}
}

func TestSweepPut(t *testing.T) {
	sweepStore(t, playPut, func() *imprint.Store { return stocked(t, 0, 1) }, exactly([]int{0, 1}, []int{0, 1, stranger}), exactly([]int{0, 1, stranger}))
}

func TestSweepRemove(t *testing.T) {
	sweepStore(t, playRemove, func() *imprint.Store { return stocked(t, 0, 1, stranger) }, exactly([]int{0, 1}, []int{0, 1, stranger}), exactly([]int{0, 1}))
}

// Each of several is there or gone; the one that was used last stays.
func TestSweepPrune(t *testing.T) {
	keeps := func(numbers []int) bool { return slices.Contains(numbers, 3) }
	sweepStore(t, playPrune, func() *imprint.Store { return stocked(t, 0, 1, 2, 3) }, keeps, exactly([]int{3}))
}

// What is damaged is in the way of a Put, and stays as evidence whatever happens to that.
func TestSweepPutOverDamage(t *testing.T) {
	spoiled := map[string]string{} // by the file's name, the digest of what was done to it
	make := func() *imprint.Store {
		s := stocked(t, 0, 1)
		before := tree(t, s.Dir())
		put(t, s, chained(stranger))
		for name := range tree(t, s.Dir()) {
			if _, old := before[name]; old {
				continue
			}
			path := filepath.Join(s.Dir(), name)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw = flip(raw, 8*len(raw)-1)
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			spoiled[name] = digest.SHA256Of(raw).String()
		}
		return s
	}
	clean := make()
	if err := act(playPut, clean.Dir()); err != nil {
		t.Fatal(err)
	}
	// Which number evidence gets isn't promised: where the disk doesn't say whether one is taken, it is the next.
	settle := func(s *imprint.Store) map[string]string {
		unnumbered := map[string]string{}
		for name, sum := range settled(t, playPut, s) {
			if i := strings.LastIndex(name, ".damaged-"); i >= 0 {
				name = name[:i] + ".damaged"
			}
			unnumbered[name] = sum
		}
		return unnumbered
	}
	want := settle(clean)
	sweep.All(t, func() sweep.Scene {
		s := make()
		return sweep.Scene{Dir: s.Dir(), Run: playing(playPut, s.Dir()), Holds: func(e sweep.Ending) string {
			now := tree(t, s.Dir())
			for name, sum := range spoiled {
				if !slices.Contains(valuesOf(now), sum) {
					return "the evidence of " + name + " is gone"
				}
			}
			if d := cmp.Diff(want, settle(s)); d != "" {
				return "after the next edge: " + d
			}
			numbers, wrong := held(t, s, 8)
			if wrong == "" && !slices.Equal(numbers, []int{0, 1, stranger, 7}) {
				wrong = fmt.Sprintf("the store holds %d", numbers)
			}
			return wrong
		}}
	})
}

func valuesOf(m map[string]string) (values []string) {
	for _, v := range m {
		values = append(values, v)
	}
	return values
}

// A file of its own is the old one or the new one. What a killed process was about to write may lie beside it; there is no
// store whose next use would clear it away.
func TestSweepWrite(t *testing.T) {
	_, older := write(t, chained(0))
	_, newer := write(t, chained(stranger))
	sweep.All(t, func() sweep.Scene {
		dir := filepath.Join(t.TempDir(), "imprints")
		path := outFile(dir)
		if err := os.WriteFile(path, older, 0o600); err != nil {
			t.Fatal(err)
		}
		return sweep.Scene{Dir: filepath.Dir(path), Run: playing(playWrite, dir), Holds: func(e sweep.Ending) string {
			raw, err := os.ReadFile(path)
			switch {
			case err != nil:
				return err.Error()
			case string(raw) != string(newer) && (string(raw) != string(older) || e.Status == 0):
				return fmt.Sprintf("the file has %d bytes, and isn't the old one or the new one as it should be", len(raw))
			}
			for name := range tree(t, filepath.Dir(path)) {
				if name != filepath.Base(path) && !(strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") && (e.Status < 0 || e.Call == "unlinkat")) {
					return name + " was left"
				}
			}
			return ""
		}}
	})
}

// A power cut can't be swept. What outlives it is what was synced: a file before it gets its name, every folder that an
// imprint needs before the imprint has its name, and the folder of that name before the process says that it is done.
func TestSweepSyncs(t *testing.T) {
	s := stocked(t, 0, 1)
	sweep.Durable(t, sweep.Scene{Dir: s.Dir(), Run: playing(playPut, s.Dir())}, ".imprint")
	dir := filepath.Join(t.TempDir(), "imprints")
	sweep.Durable(t, sweep.Scene{Dir: filepath.Dir(dir), Run: playing(playWrite, dir)}, ".imprint")
}
