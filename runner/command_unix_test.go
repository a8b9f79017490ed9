//go:build unix

package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/runner"
)

// TestCommandEndsWithItsGroup: at the limit, at the context's end and at its own, nothing of a command goes on running.
func TestCommandEndsWithItsGroup(t *testing.T) {
	for name, test := range map[string]struct {
		line     string
		limit    time.Duration
		timedOut bool
	}{
		"limit":      {"sleep 600 & echo $! >pid; echo begun; wait", 300 * time.Millisecond, true},
		"background": {"sleep 600 & echo $! >pid; echo begun", time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := runner.RunCommand(context.Background(), runner.Command{Line: test.line, Dir: dir, Limit: test.limit, Keep: 100})
			if err != nil || out.TimedOut != test.timedOut || string(out.Head) != "begun\n" {
				t.Errorf("got %+v, %v", out, err)
			}
			mustBeGone(t, dir)
		})
	}
	t.Run("context", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for ctx.Err() == nil {
				if text, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && strings.HasSuffix(string(text), "\n") {
					cancel()
				}
				time.Sleep(time.Millisecond)
			}
		}()
		_, err := runner.RunCommand(ctx, runner.Command{Line: "sleep 600 & echo $! >pid; wait", Dir: dir, Limit: time.Minute, Keep: 100})
		if fault.From(err).Code != fault.From(context.Canceled).Code {
			t.Errorf("got %v", err)
		}
		mustBeGone(t, dir)
		if _, err := runner.RunCommand(ctx, runner.Command{Line: "touch after", Dir: dir, Limit: time.Minute}); err == nil {
			t.Error("a command runs after the end")
		}
		if _, err := os.Stat(filepath.Join(dir, "after")); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
}

// mustBeGone waits for the process whose number stands in dir to end: init reaps it.
func mustBeGone(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d goes on running", pid)
}

func TestCommandOutputIsBounded(t *testing.T) {
	out, err := runner.RunCommand(context.Background(), runner.Command{Line: "printf 0123456789; printf abcdefghij >&2; exit 7", Dir: t.TempDir(), Limit: time.Minute, Keep: 10})
	if err != nil {
		t.Fatal(err)
	}
	if string(out.Head) != "01234" || string(out.Tail) != "fghij" || out.Omitted != 10 || out.Status != "exit status 7" {
		t.Errorf("got %q … %q, %d left out, %s", out.Head, out.Tail, out.Omitted, out.Status)
	}
	if _, err := runner.RunCommand(context.Background(), runner.Command{Line: "true", Dir: filepath.Join(t.TempDir(), "none"), Limit: time.Minute}); err == nil {
		t.Error("a command runs in a folder that isn't there")
	}
}
