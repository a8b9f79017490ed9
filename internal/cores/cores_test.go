package cores

import (
	"os"
	"runtime"
	"testing"
	"time"
)

const statText = "cpu  1000 20 300 90000 50 6 7 8 0 0\ncpu0 1 2 3\nprocs_running 3\n"

func TestParseUsage(t *testing.T) {
	u, ok := parseUsage(statText, "77 (a name) with) ) R 1 77 77 0 -1 4194304 100 0 0 0 250 50 70 30 20 0 9 0 100 1 1")
	if want := (usage{13.41, 4}); !ok || u.all < want.all-1e-9 || u.all > want.all+1e-9 || u.own != want.own {
		t.Errorf("got %+v, %v, want %+v", u, ok, want)
	}
	for _, bad := range [][2]string{{"", "1 (x) R 1"}, {"cpu 1 2 3", "1 (x) R 1 1 1 1 1 1 1 1 1 1 1 1 1 1"}, {statText, ""}, {statText, "1 (x) R 1 2 3"}, {statText, "1 (x) R 1 77 77 0 -1 4194304 100 0 0 0 x 50 0 0 0"}} {
		if u, ok := parseUsage(bad[0], bad[1]); ok {
			t.Errorf("%q: got %+v", bad, u)
		}
	}
	if n := othersRunning(statText); n != 2 {
		t.Errorf("others running: got %d, want 2", n)
	}
}

func TestFitting(t *testing.T) {
	for _, c := range []struct {
		cores  int
		others float64
		want   int
	}{{2, 0, 2}, {2, 0.2, 2}, {2, 0.5, 2}, {2, 0.6, 1}, {2, 1, 1}, {2, 2, 1}, {2, 9, 1}, {2, -0.1, 2}, {1, 0, 1}, {8, 3.1, 5}, {8, 0.25, 8}, {8, 7.9, 1}} {
		if got := fitting(c.cores, c.others); got != c.want {
			t.Errorf("%d cores, others use %.2f: got %d, want %d", c.cores, c.others, got, c.want)
		}
	}
}

// TestWatch: with one of four cores taken by others, whatever the process itself uses, three are free; and it asks again
// only after a while.
func TestWatch(t *testing.T) {
	at := time.Unix(1000, 0)
	u, reads := usage{100, 50}, 0
	w := &Watch{cores: 4, free: 4, now: func() time.Time { return at }, read: func() (usage, bool) { reads++; return u, true }}
	if got := w.Free(); got != 4 {
		t.Errorf("at first: got %d, want 4", got)
	}
	at, u = at.Add(time.Second), usage{103.9, 52.9}
	if got := w.Free(); got != 3 {
		t.Errorf("one core taken: got %d, want 3", got)
	}
	at, u = at.Add(window/2), usage{200, 53}
	if got := w.Free(); got != 3 || reads != 2 {
		t.Errorf("a moment later: got %d after %d readings, want 3 and 2", got, reads)
	}
	at, u = at.Add(time.Second), usage{104, 53}
	if got := w.Free(); got != 4 {
		t.Errorf("all are free again: got %d, want 4", got)
	}
	w.read = func() (usage, bool) { return usage{}, false }
	at = at.Add(time.Second)
	if got := w.Free(); got != 4 {
		t.Errorf("nothing can be read: got %d, want what it was", got)
	}
}

func TestHere(t *testing.T) {
	if n := Physical(); n < 1 || n > runtime.NumCPU() {
		t.Errorf("%d cores of %d", n, runtime.NumCPU())
	}
	if n := Idle(); n < 1 || n > Physical() {
		t.Errorf("%d idle cores", n)
	}
	if n := NewWatch().Free(); n < 1 || n > Physical() {
		t.Errorf("%d free cores", n)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		if u, ok := readUsage(); !ok || u.all <= u.own || u.own < 0 {
			t.Errorf("usage: %+v, %v", u, ok)
		}
	}
}
