// Package cores says how many cores this process can compute on without waiting for other programs. Engine threads spin
// while they wait for each other, so one thread too many on a busy machine makes decoding many times slower, where one
// too few costs less than half.
//
// It knows that on Linux only, from /proc and /sys; elsewhere every core counts as free.
package cores

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Physical is how many cores there are to compute on: threads of one core count once.
func Physical() int {
	lists, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list")
	if err != nil {
		return runtime.NumCPU()
	}
	seen := map[string]bool{}
	for _, path := range lists {
		if list, err := os.ReadFile(path); err == nil {
			seen[string(list)] = true
		}
	}
	if len(seen) == 0 {
		return runtime.NumCPU()
	}
	return min(len(seen), runtime.NumCPU()) // of a container's limit NumCPU knows more
}

// Idle is how many cores nothing runs on right now, at least one.
func Idle() int {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Physical()
	}
	return max(1, Physical()-othersRunning(string(stat)))
}

// othersRunning reads procs_running, the number of threads that run or wait for a core, this one among them.
func othersRunning(stat string) int {
	for line := range strings.Lines(stat) {
		if text, ok := strings.CutPrefix(line, "procs_running "); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
				return max(0, n-1)
			}
		}
	}
	return 0
}

// window is the shortest time that is averaged over: /proc counts in hundredths of a second.
const window = 100 * time.Millisecond

// Watch follows how much of the machine other programs use, while this one computes too. It may be used from several
// goroutines.
type Watch struct {
	cores int
	now   func() time.Time
	read  func() (usage, bool)

	mu   sync.Mutex
	at   time.Time
	last usage
	free int
}

// usage is processor time used since the machine and the process started, in seconds.
type usage struct{ all, own float64 }

// NewWatch begins with what is idle now.
func NewWatch() *Watch {
	w := &Watch{cores: Physical(), now: time.Now, read: readUsage, free: Idle()}
	w.Free()
	return w
}

// Free is how many threads can compute at once, at least one: the cores, less what others used of them since it was last
// asked. It changes its mind every 100 ms at most. What this
// process's own children used isn't others' once they have ended.
func (w *Watch) Free() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if !w.at.IsZero() && now.Sub(w.at) < window {
		return w.free
	}
	u, ok := w.read()
	if !ok {
		return w.free
	}
	if !w.at.IsZero() {
		w.free = fitting(w.cores, (u.all-w.last.all-(u.own-w.last.own))/now.Sub(w.at).Seconds())
	}
	w.at, w.last = now, u
	return w.free
}

// slack is how much of a core others may use without costing a thread.
const slack = 0.5

func fitting(cores int, others float64) int {
	return min(cores, max(1, int(float64(cores)-max(0, others)+slack)))
}

func readUsage() (usage, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{}, false
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return usage{}, false
	}
	return parseUsage(string(stat), string(own))
}

// ticks of /proc are a hundredth of a second on every Linux (USER_HZ).
const ticks = 100

// parseUsage reads proc(5): of all processors user, nice, system, irq, softirq and steal; of this process utime, stime,
// and the same of its children that it has waited for.
func parseUsage(stat, own string) (u usage, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	all := strings.Fields(line)
	if len(all) < 9 || all[0] != "cpu" {
		return u, false
	}
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // 4 and 5 are idle and waiting for disks
		n, err := strconv.ParseFloat(all[i], 64)
		if err != nil {
			return u, false
		}
		u.all += n / ticks
	}
	_, rest, found := strings.Cut(own[strings.LastIndexByte(own, ')')+1:], " ") // a name may hold anything, ')' too
	mine := strings.Fields(rest)
	if !found || len(mine) < 15 {
		return u, false
	}
	for _, i := range []int{11, 12, 13, 14} { // counted from the state, the third field
		n, err := strconv.ParseFloat(mine[i], 64)
		if err != nil {
			return u, false
		}
		u.own += n / ticks
	}
	return u, true
}
