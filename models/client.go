package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"edge/models/fetch"
)

// maxClientOutput bounds what is kept of a package client's output.
const maxClientOutput = 1 << 20

// runClient runs a package client in dir, with the user's environment, so with the user's registries and proxies, plus
// extra. Its whole process group ends with it, or with ctx. The error holds the last lines of what it said.
func (s *Store) runClient(ctx context.Context, dir string, extra []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append([]string(nil), s.cfg.Environ...), extra...)
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s %s: %w%s", filepath.Base(name), args[0], err, said.lines(6))
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(b []byte) (int, error) {
	if t.buf = append(t.buf, b...); len(t.buf) > maxClientOutput {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-maxClientOutput/2:]...)
	}
	return len(b), nil
}

// lines are the last n non-empty ones, for a message.
func (t *tail) lines(n int) string {
	var lines []string
	for line := range bytes.Lines(t.buf) {
		if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")); text != "" {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// watchFolder shows how a folder fills while a package client, which doesn't say how far it is, works in it. total is
// what the folder will hold in the end. The function it returns ends the watch, and is told whether that came true.
func watchFolder(dir string, total int64, progress fetch.Progress) (stop func(complete bool)) {
	progress.Start(total)
	quit, done := make(chan struct{}), make(chan struct{})
	var shown int64
	go func() {
		defer close(done)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				// The client may hold a second copy for a moment, so the end is never announced from here.
				if now := min(folderSize(dir), total*99/100); now > shown {
					progress.Add(now - shown)
					shown = now
				}
			}
		}
	}()
	return func(complete bool) {
		close(quit)
		<-done
		if complete {
			progress.Add(total - shown)
		}
		progress.Done()
	}
}

// folderSize adds up the files under dir; ones that vanish meanwhile don't count.
func folderSize(dir string) (total int64) {
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0
	}
	return total
}

// lookPath finds the first of several programs.
func lookPath(names ...string) (path string, err error) {
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", err
}
