package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

func TestPendingListAndPrune(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := store(t, dir, c)
	finished, cutoff, expired := create(t, s), create(t, s), create(t, s)
	done, err := claim(s, finished.Path, finished.Token)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(done, digest.SHA256{}); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(s, cutoff.Path, cutoff.Token); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.json")
	for _, path := range []string{broken, filepath.Join(dir, ".torn.json.123.tmp"), filepath.Join(dir, "notes.txt")} {
		if err := os.WriteFile(path, []byte(`{"arguments":`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	states := func() map[string]tools.PendingState {
		t.Helper()
		list, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]tools.PendingState{}
		for _, info := range list {
			got[info.ID] = info.State
			if info.State != tools.Malformed && info.ToolName != "pay" {
				t.Errorf("got tool name %q", info.ToolName)
			}
			if claimed := info.State == tools.Claimed || info.State == tools.Finished; claimed == info.ClaimedAt.IsZero() {
				t.Errorf("%s: claimed at %v", info.State, info.ClaimedAt)
			}
		}
		return got
	}
	want := map[string]tools.PendingState{finished.ID: tools.Finished, cutoff.ID: tools.Claimed, expired.ID: tools.Waiting, "broken": tools.Malformed}
	if diff := cmp.Diff(want, states()); diff != "" {
		t.Error(diff)
	}
	if p, err := s.Prune(true); err != nil || len(p.Removed)+len(p.Cutoff) != 0 {
		t.Errorf("in time: got %+v, %v, want nothing", p, err)
	}

	c.Add(tools.PendingLifetime + time.Second)
	waiting := create(t, s)
	want[expired.ID], want[waiting.ID] = tools.Expired, tools.Waiting
	if diff := cmp.Diff(want, states()); diff != "" {
		t.Error(diff)
	}
	p, err := s.Prune(false)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Removed) != 3 || len(p.Cutoff) != 1 || p.Cutoff[0].ID != cutoff.ID {
		t.Errorf("got %+v", p)
	}
	if diff := cmp.Diff(map[string]tools.PendingState{cutoff.ID: tools.Claimed, waiting.ID: tools.Waiting}, states()); diff != "" {
		t.Error(diff)
	}
	_, err = open(s, expired.Path, expired.Token)
	wantCode(t, err, fault.CodePendingNotFound)
	_, err = open(s, cutoff.Path, cutoff.Token)
	wantCode(t, err, fault.CodeConfirmationAlreadyClaimed)

	if p, err = s.Prune(true); err != nil || len(p.Removed) != 1 || p.Removed[0].ID != cutoff.ID {
		t.Errorf("with those cut off: got %+v, %v", p, err)
	}
	if _, err := s.Prune(false); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if diff := cmp.Diff([]string{filepath.Base(waiting.Path), "notes.txt"}, left, cmp.Transformer("set", func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, name := range list {
			set[name] = true
		}
		return set
	})); diff != "" {
		t.Error(diff)
	}
	if _, err := open(s, waiting.Path, waiting.Token); err != nil {
		t.Errorf("the waiting action: %v", err)
	}
}

// A claim outlives its action's file until nobody can be at work on it.
func TestPruneKeepsYoungClaims(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := store(t, dir, c)
	o := create(t, s)
	c.Add(9 * time.Minute)
	done, err := claim(s, o.Path, o.Token)
	if err == nil {
		err = s.Finish(done, digest.SHA256{})
	}
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, o.ID+".claim"), filepath.Join(dir, o.ID+".done")}
	for _, path := range files {
		if err := os.Chtimes(path, c.Now(), c.Now()); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(want bool) {
		t.Helper()
		if _, err := s.Prune(false); err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: got %v, want it there: %v", path, err, want)
			}
		}
	}
	c.Add(2 * time.Minute)
	prune(true)
	_, err = open(s, o.Path, o.Token)
	if e := wantCode(t, err, fault.CodeConfirmationAlreadyClaimed); !strings.Contains(e.Message, "pruned") {
		t.Errorf("got message %q", e.Message)
	}
	c.Add(8 * time.Minute)
	prune(false)
	_, err = open(s, o.Path, o.Token)
	wantCode(t, err, fault.CodePendingNotFound)
}

// An action that was loaded, and whose claim and file were pruned since, can't be claimed afresh.
func TestClaimAfterPrune(t *testing.T) {
	c := newClock()
	s := store(t, t.TempDir(), c)
	o := create(t, s)
	slow, err := open(s, o.Path, o.Token)
	if err != nil {
		t.Fatal(err)
	}
	done, err := claim(s, o.Path, o.Token)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(done, digest.SHA256{}); err != nil {
		t.Fatal(err)
	}
	c.Add(time.Hour)
	for range 2 {
		if _, err := s.Prune(true); err != nil {
			t.Fatal(err)
		}
	}
	c.Add(-time.Hour) // the worst clock
	if got, err := s.Claim(slow); err == nil {
		t.Errorf("claimed twice: %+v", got)
	}
}
