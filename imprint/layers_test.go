package imprint_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// sharing gives contents with the first layer in common; the others differ by n.
func sharing(n int) imprint.Content {
	c := layered()
	c.Tokens = []uint32{1, 2, 70000, uint32(10 + n), 5, 6}
	c.Identity.PrefixSHA256 = imprint.PrefixSHA256(c.Tokens)
	c.State = sealed.Fresh(pattern(0, 100_000), 3).Then(sealed.Fresh(pattern(n+1, 50), 1)).Then(sealed.Fresh(pattern(n+2, 70), 2))
	return c
}

func layerFiles(t *testing.T, s *imprint.Store) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Dir(), imprint.LayerFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestALayerLiesInAStoreOnce(t *testing.T) {
	s := newStore(t)
	a, b := put(t, s, sharing(0)), put(t, s, sharing(10))
	if got := layerFiles(t, s); len(got) != 5 {
		t.Errorf("%d layer files, want 5: %v", len(got), got)
	}
	total, shared := imprint.DiskBytes([]imprint.Entry{a, b}), int64(100_000)
	if alone := imprint.DiskBytes([]imprint.Entry{a}) + imprint.DiskBytes([]imprint.Entry{b}); total != alone-shared {
		t.Errorf("both take up %d, want %d less than %d", total, shared, alone)
	}
	for _, c := range []imprint.Content{sharing(0), sharing(10)} {
		_, raw := write(t, c)
		id, err := imprint.ComputeID(c)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole(t, s, id), raw) {
			t.Errorf("%s isn't in the store what it is in a file", id)
		}
	}
	if _, err := s.Remove(context.Background(), a.ID.String()); err != nil {
		t.Fatal(err)
	}
	if got := layerFiles(t, s); len(got) != 3 {
		t.Errorf("%d layer files are left, want 3: %v", len(got), got)
	}
	if _, err := s.Lookup(context.Background(), b.ID); err != nil {
		t.Error(err)
	}
}

// A thin file that was copied out of the store still finds its layers there, and elsewhere it is truncated.
func TestAThinFileElsewhere(t *testing.T) {
	s := newStore(t)
	e := put(t, s, sharing(0))
	raw, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "x.imprint")
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := s.Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := u.CheckIntegrity(context.Background()); err != nil {
		t.Error(err)
	}
	_, err = imprint.Open(copied)
	wantRefusal(t, err, fault.CodeImprintTruncated, imprint.StepSize)
}

func TestADamagedLayerIsEvidence(t *testing.T) {
	s := newStore(t)
	put(t, s, sharing(0))
	for _, path := range layerFiles(t, s) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, flip(raw, 8*len(raw)-3), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := put(t, s, sharing(0))
	if _, err := s.Lookup(context.Background(), e.ID); err != nil {
		t.Errorf("after another Put: %v", err)
	}
	aside, err := filepath.Glob(filepath.Join(s.Dir(), imprint.LayerFolder, "*.damaged-1"))
	if err != nil || len(aside) != 3 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	if _, err := s.Collect(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	for _, path := range aside {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("evidence is gone: %v", err)
		}
	}
}

func TestCollect(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	a, b := put(t, s, sharing(0)), put(t, s, sharing(10))
	if err := os.Remove(a.Path); err != nil { // as a kill between the two removals leaves it
		t.Fatal(err)
	}
	half := filepath.Join(s.Dir(), imprint.LayerFolder, "."+filepath.Base(layerFiles(t, s)[0])+".123.tmp")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	dry, err := s.Collect(ctx, true)
	if err != nil || len(dry.Removed) != 3 || dry.FreedBytes != 50+70+4 || len(dry.Undecided) > 0 {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	if got := layerFiles(t, s); len(got) != 6 {
		t.Errorf("a dry run left %d files of 6", len(got))
	}

	// While a file can't be read, a layer may be its.
	raw, err := os.ReadFile(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	unreadable := filepath.Join(s.Dir(), "evidence.damaged")
	if err := os.WriteFile(unreadable, flip(raw, 8*100), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := s.Collect(ctx, false)
	if err != nil || len(report.Removed) != 1 || report.Removed[0] != half || len(report.Undecided) != 2 {
		t.Errorf("beside an unreadable file: %+v, %v", report, err)
	}
	if err := os.Remove(unreadable); err != nil {
		t.Fatal(err)
	}
	report, err = s.Collect(ctx, false)
	if err != nil || len(report.Removed) != 2 || report.FreedBytes != 50+70 || len(report.Undecided) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := s.Lookup(ctx, b.ID); err != nil {
		t.Error(err)
	}
	again, err := s.Collect(ctx, false)
	if err != nil || len(again.Removed) > 0 {
		t.Errorf("twice: %+v, %v", again, err)
	}
}

func TestPruneCountsASharedLayerOnce(t *testing.T) {
	s := newStore(t)
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	a, b := put(t, s, sharing(0)), put(t, s, sharing(10))
	for i, e := range []imprint.Entry{a, b} {
		if err := s.Touch(e.ID, now.Add(-time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	both := imprint.DiskBytes([]imprint.Entry{a, b})
	r, err := s.Prune(context.Background(), imprint.PruneOptions{MaxBytes: both, Now: now})
	if err != nil || len(r.Removed) > 0 {
		t.Errorf("room for both: %+v, %v", r, err)
	}
	r, err = s.Prune(context.Background(), imprint.PruneOptions{MaxBytes: both - 1, Now: now})
	if err != nil || len(r.Removed) != 1 || r.Removed[0].ID != b.ID || r.FreedBytes >= 100_000 || r.KeptBytes != imprint.DiskBytes([]imprint.Entry{a}) {
		t.Errorf("a byte too little: %+v, %v", r, err)
	}
	if got := layerFiles(t, s); len(got) != 3 {
		t.Errorf("%d layers are left, want 3", len(got))
	}
}
