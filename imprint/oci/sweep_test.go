//go:build sweep && linux

package oci_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"edge/imprint"
	"edge/imprint/oci"
	"edge/internal/digest"
	"edge/internal/sealed"
	"edge/internal/sweep"
)

const (
	pullEnv      = "EDGE_OCI_TEST_PULL" // a store's folder: pull into it
	pullFromEnv  = "EDGE_OCI_TEST_PULL_FROM"
	smallPayload = 10_000
)

func smallContent(seed byte) imprint.Content {
	c := content(seed)
	c.State = sealed.Fresh(bytes.Repeat([]byte{seed}, smallPayload), len(c.Tokens))
	return c
}

// TestSweepPull: whatever kills a pull from a folder, or fails its disk, and wherever: the store is as it was or has the
// imprint, whole; the next pull succeeds, and nothing of this one is left.
//
//	make sweep
func TestSweepPull(t *testing.T) {
	if dir := os.Getenv(pullEnv); dir != "" { // this is the process that is interfered with
		runtime.LockOSThread()
		os.Exit(pullInto(dir, os.Getenv(pullFromEnv)))
	}
	m := made{path: filepath.Join(t.TempDir(), "x.imprint")}
	var err error
	if m.id, err = imprint.Write(t.Context(), m.path, smallContent(1)); err != nil {
		t.Fatal(err)
	}
	from := "oci:" + filepath.Join(t.TempDir(), "layout") + ":v1"
	push(t, m, from, oci.PushOptions{})
	older, err := imprint.ComputeID(smallContent(2))
	if err != nil {
		t.Fatal(err)
	}
	sweep.All(t, func() sweep.Scene {
		s := newStore(t)
		if _, err := s.Put(t.Context(), smallContent(2)); err != nil {
			t.Fatal(err)
		}
		run := func(wrap ...string) (int, string) {
			cmd := exec.Command(wrap[0], append(wrap[1:], os.Args[0], "-test.run=^TestSweepPull$")...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", pullEnv+"="+s.Dir(), pullFromEnv+"="+from)
			out, _ := cmd.CombinedOutput()
			return cmd.ProcessState.ExitCode(), string(out)
		}
		return sweep.Scene{Dir: s.Dir(), Run: run, Holds: func(e sweep.Ending) string {
			has, wrong := wholeStore(t, s, older, m.id)
			if wrong == "" && e.Status == 0 && !has {
				wrong = "it succeeded, and the imprint isn't there"
			}
			if wrong != "" {
				return wrong
			}
			if status := pullInto(s.Dir(), from); status != 0 {
				return "the next pull fails"
			}
			if has, wrong = wholeStore(t, s, older, m.id); wrong == "" && !has {
				wrong = "after the next pull the imprint isn't there"
			}
			if left := partials(t, s); wrong == "" && len(left) > 0 {
				wrong = fmt.Sprintf("left over: %v", left)
			}
			return wrong
		}}
	})
}

func pullInto(dir, from string) int {
	s, err := imprint.NewStore(dir)
	if err == nil {
		var t oci.Target
		if t, err = oci.ParseTarget(from); err == nil {
			_, err = quick().Pull(context.Background(), s, t, oci.PullOptions{})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// wholeStore says whether the newer imprint is there; the older one has to be, and nothing else, and all of it whole.
func wholeStore(t *testing.T, s *imprint.Store, older, newer digest.BLAKE3) (has bool, wrong string) {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Damaged) > 0 {
		return false, fmt.Sprintf("torn: %v", list.Damaged)
	}
	found := map[imprint.ID]bool{}
	for _, e := range list.Entries {
		if _, err := s.Lookup(t.Context(), e.ID); err != nil {
			return false, fmt.Sprintf("%s is listed: %v", e.ID, err)
		}
		found[e.ID] = true
	}
	if !found[older] || len(found) > 2 || len(found) == 2 && !found[newer] {
		return false, fmt.Sprintf("the store holds %v", found)
	}
	return found[newer], ""
}
