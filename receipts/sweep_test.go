//go:build sweep && linux

package receipts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/internal/sweep"
	"edge/receipts"
)

const appendEnv = "RECEIPTS_TEST_APPEND_TO" // a folder: write one receipt more

// TestSweepWrite: whatever kills a process that writes a receipt, or fails its disk, and wherever: the chain is what it
// was or has that receipt at its end, and the next receipt continues it.
//
//	make sweep
func TestSweepWrite(t *testing.T) {
	if dir := os.Getenv(appendEnv); dir != "" { // this is the process that is interfered with
		runtime.LockOSThread()
		os.Exit(appendTo(dir))
	}
	for _, before := range []int{0, 3} {
		t.Run(fmt.Sprintf("after %d", before), func(t *testing.T) {
			sweep.All(t, func() sweep.Scene {
				dir, paths := newChain(t, before)
				return sweep.Scene{Dir: dir, Run: appending(dir), Holds: func(e sweep.Ending) string { return holds(t, dir, paths, e) }}
			})
		})
	}
}

func appending(dir string) sweep.Run {
	return func(wrap ...string) (int, string) {
		cmd := exec.Command(wrap[0], append(wrap[1:], os.Args[0], "-test.run=^TestSweepWrite$")...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", appendEnv+"="+dir)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
}

func appendTo(dir string) int {
	if _, _, err := newStore(dir).Write("swept", map[string]any{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// holds gives a complaint about a chain of which paths were there before.
func holds(t *testing.T, dir string, paths []string, e sweep.Ending) string {
	t.Helper()
	report, err := receipts.VerifyChain(dir)
	if err != nil {
		return err.Error()
	}
	grown := report.Receipts - len(paths)
	if grown < 0 || grown > 1 || int(report.Last) != report.Receipts || e.Status == 0 && grown != 1 {
		return fmt.Sprintf("%d receipts up to sequence %d", report.Receipts, report.Last)
	}
	for _, path := range paths {
		if _, err := receipts.Read(path); err != nil {
			return err.Error()
		}
	}
	if status := appendTo(dir); status != 0 {
		return "the next write fails"
	}
	if after, err := receipts.VerifyChain(dir); err != nil || after.Receipts != report.Receipts+1 || int(after.Last) != after.Receipts {
		return fmt.Sprintf("after the next write: %+v, %v", after, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(left) > 0 && e.Status >= 0 && !strings.HasPrefix(e.Call, "unlink") {
		return fmt.Sprintf("left over: %q, %v", left, err)
	}
	return ""
}

func TestSweepSyncs(t *testing.T) {
	dir, _ := newChain(t, 3)
	sweep.Durable(t, sweep.Scene{Dir: dir, Run: appending(dir)}, ".json")
}
