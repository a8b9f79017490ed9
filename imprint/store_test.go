package imprint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

func newStore(t *testing.T) *imprint.Store {
	t.Helper()
	s, err := imprint.NewStore(filepath.Join(t.TempDir(), "imprints"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// variant is a content of its own for each n.
func variant(n int) imprint.Content {
	c := full()
	c.State = sealed.Fresh(pattern(n, 100+n), len(c.Tokens))
	return c
}

func put(t *testing.T, s *imprint.Store, c imprint.Content) imprint.Entry {
	t.Helper()
	e, err := s.Put(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ids(entries []imprint.Entry) []imprint.ID {
	list := []imprint.ID{}
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

func files(t *testing.T, s *imprint.Store) []string {
	t.Helper()
	dir, err := os.ReadDir(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range dir {
		names = append(names, f.Name())
	}
	return names
}

func TestPutPublishesOnce(t *testing.T) {
	s := newStore(t)
	first := put(t, s, full())
	want, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	wantEntry := imprint.Entry{
		ID: want, Path: filepath.Join(s.Dir(), want.Hex()+".imprint"), Tokens: 3, PayloadBytes: 100,
		Model: full().Identity.Model, Tools: []string{"calculate_fee", "order_status"}, LastUsed: info.ModTime(),
	}
	if d := cmp.Diff(wantEntry, first, cmpopts.IgnoreUnexported(imprint.Entry{})); d != "" {
		t.Error(d)
	}
	second := put(t, s, full())
	again, err := os.Stat(first.Path)
	if err != nil || !os.SameFile(info, again) || cmp.Diff(first, second, cmpopts.IgnoreUnexported(imprint.Entry{})) != "" {
		t.Errorf("the second Put wrote again: %v", err)
	}
	if info, err := os.Stat(s.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v, %v", info.Mode(), err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v", info.Mode())
	}
}

func TestAnOpenFolderIsClosed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := imprint.NewStore(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// imprint-v1 §1: a refused file is neither repaired nor deleted.
func TestPutKeepsDamageAsEvidence(t *testing.T) {
	s := newStore(t)
	e := put(t, s, full())
	raw, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		bad := flip(raw, 8*len(raw)-n)
		if err := os.WriteFile(e.Path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		put(t, s, full())
		if now, err := os.ReadFile(e.Path); err != nil || !bytes.Equal(now, raw) {
			t.Errorf("the imprint wasn't made again: %v", err)
		}
		if kept, err := os.ReadFile(fmt.Sprintf("%s.damaged-%d", e.Path, n)); err != nil || !bytes.Equal(kept, bad) {
			t.Errorf("the damaged file wasn't kept: %v", err)
		}
	}
	list, err := s.List()
	if err != nil || len(list.Entries) != 1 || len(list.Damaged) != 2 {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestPutClearsAwayOnlyItsOwnLeftovers(t *testing.T) {
	s := newStore(t)
	id, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	orphan := "." + id.Hex() + ".imprint.123.tmp"
	other := ".notes.imprint.123.tmp"
	for _, name := range []string{orphan, other} {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, full())
	if got := files(t, s); slices.Contains(got, orphan) || !slices.Contains(got, other) {
		t.Errorf("the folder holds %v", got)
	}
}

func TestListTellsDamageApart(t *testing.T) {
	s := newStore(t)
	day := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	var want []imprint.ID
	for n := range 3 {
		e := put(t, s, variant(n))
		if err := s.Touch(e.ID, day.Add(time.Duration(n)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		want = append([]imprint.ID{e.ID}, want...)
	}
	cut := put(t, s, variant(3))
	moved := put(t, s, variant(4))
	if err := os.Truncate(cut.Path, 500); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(s.Dir(), strings.Repeat("ab", 32)+".imprint")
	if err := os.Rename(moved.Path, elsewhere); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, ids(list.Entries)); d != "" {
		t.Errorf("most recently used first: %s", d)
	}
	if got := list.Entries[0].LastUsed; !got.Equal(day.Add(2 * time.Hour)) {
		t.Errorf("last used %s", got)
	}
	codes := map[string]fault.Code{}
	for _, d := range list.Damaged {
		codes[d.Path] = fault.From(d.Err).Code
	}
	if d := cmp.Diff(map[string]fault.Code{cut.Path: fault.CodeImprintTruncated, elsewhere: fault.CodeImprintHeaderMalformed}, codes); d != "" {
		t.Error(d)
	}
	if err := s.Touch(cut.ID, day); err != nil {
		t.Error(err)
	}
	if err := s.Touch(imprint.ID{}, day); err == nil {
		t.Error("touched what isn't there")
	}
}

func TestResolve(t *testing.T) {
	s := newStore(t)
	a := put(t, s, variant(0))
	outside, _ := write(t, variant(1))
	outsideID, err := imprint.ComputeID(variant(1))
	if err != nil {
		t.Fatal(err)
	}
	hex := a.ID.Hex()
	// Two files whose ids begin alike; what is in them doesn't matter for a name.
	twin := strings.Repeat("0", 60)
	for _, end := range []string{"000a", "000b"} {
		if err := os.WriteFile(filepath.Join(s.Dir(), twin+end+".imprint"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	file := func(name string, v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	relative, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	names := func(path string, id fmt.Stringer) object {
		return object{"artifact_path": path, "artifact_id": id.String(), "more": 1}
	}
	bare := filepath.Join(dir, "cafe")
	if err := os.WriteFile(bare, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)

	for name, c := range map[string]struct {
		ref  string
		want imprint.Ref
	}{
		"id":                             {a.ID.String(), imprint.Ref{Path: a.Path, ID: a.ID}},
		"hex":                            {hex, imprint.Ref{Path: a.Path, ID: a.ID}},
		"prefix":                         {hex[:4], imprint.Ref{Path: a.Path, ID: a.ID}},
		"tagged prefix":                  {"blake3:" + hex[:9], imprint.Ref{Path: a.Path, ID: a.ID}},
		"path":                           {outside, imprint.Ref{Path: outside}},
		"path in the store":              {a.Path, imprint.Ref{Path: a.Path, ID: a.ID}},
		"a bare word that no id matches": {"cafe", imprint.Ref{Path: bare}},
		"receipt":                        {file("r1", names(outside, outsideID)), imprint.Ref{Path: outside, ID: outsideID}},
		"receipt with a body":            {file("r2", object{"schema": "x", "body": names(outside, outsideID)}), imprint.Ref{Path: outside, ID: outsideID}},
		"receipt with a relative path":   {file("r3", names(relative, outsideID)), imprint.Ref{Path: outside, ID: outsideID}},
		"receipt whose path is gone":     {file("r4", names(filepath.Join(dir, "gone"), a.ID)), imprint.Ref{Path: a.Path, ID: a.ID}},
		"receipt without a path":         {file("r5", object{"artifact_id": a.ID.String()}), imprint.Ref{Path: a.Path, ID: a.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Resolve(c.ref)
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
	for name, c := range map[string]struct {
		ref  string
		code fault.Code
		text string
	}{
		"unknown id":              {"blake3:" + strings.Repeat("7", 64), fault.CodeImprintNotFound, "7777"},
		"unknown prefix":          {"7777", fault.CodeImprintNotFound, "7777"},
		"short prefix":            {"blake3:" + hex[:3], fault.CodeImprintNotFound, "4 to 64"},
		"upper case":              {"blake3:" + strings.ToUpper(hex), fault.CodeImprintNotFound, "lower-case"},
		"long id":                 {a.ID.String() + "0", fault.CodeImprintNotFound, "4 to 64"},
		"ambiguous":               {"0000", fault.CodeImprintNotFound, twin + "000b"},
		"no file":                 {filepath.Join(dir, "no"), fault.CodeImprintNotFound, "no"},
		"nothing":                 {"", fault.CodeImprintNotFound, "empty"},
		"receipt of another file": {file("x1", names(outside, a.ID)), fault.CodeReceiptMismatch, a.ID.String()},
		"receipt with a bad id":   {file("x2", object{"artifact_id": "sha256:00"}), fault.CodeReceiptMismatch, "artifact_id"},
		"receipt of nothing":      {file("x3", object{"schema": "edge.chat/v1"}), fault.CodeImprintNotFound, "artifact_id"},
		"receipt of what is gone": {file("x4", names(filepath.Join(dir, "gone"), outsideID)), fault.CodeImprintNotFound, outsideID.Hex()},
		"receipt of a text":       {file("x5", names(file("r6", "x"), a.ID)), fault.CodeImprintHeaderMalformed, "r6"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Resolve(c.ref)
			if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, %v, want %s about %s", got, err, c.code, c.text)
			}
		})
	}
}

// imprint-v1 §8: the id that names the file is that of its content.
func TestOpenHoldsTheFileToItsName(t *testing.T) {
	s := newStore(t)
	a, b := put(t, s, variant(0)), put(t, s, variant(1))
	u, err := s.Open(a.ID.Hex()[:8])
	if err != nil || u.ID() != a.ID || u.Path() != a.Path {
		t.Fatalf("open: %v", err)
	}
	u.Close()
	if err := os.Rename(b.Path, a.Path); err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(a.ID.String())
	wantRefusal(t, err, fault.CodeImprintHeaderMalformed, imprint.StepSize)
	if _, err := s.Open("./nothing"); !fault.Is(err, fault.CodeImprintNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestRemove(t *testing.T) {
	s := newStore(t)
	a, b := put(t, s, variant(0)), put(t, s, variant(1))
	outside, _ := write(t, variant(2))
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.Path, 10); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ref, path string }{
		{a.ID.String(), a.Path}, {b.ID.Hex()[:10], b.Path}, {outside, outside},
	} {
		got, err := s.Remove(context.Background(), c.ref)
		if err != nil || got != c.path {
			t.Errorf("%s: got %s, %v", c.ref, got, err)
		}
		if _, err := os.Stat(c.path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", c.path)
		}
	}
	if _, err := s.Remove(context.Background(), note); !fault.Is(err, fault.CodeImprintHeaderMalformed) {
		t.Errorf("removing a text: %v", err)
	}
	if _, err := s.Remove(context.Background(), filepath.Join(s.Dir(), ".lock")); err == nil {
		t.Error("removed the lock")
	}
	if _, err := s.Remove(context.Background(), a.ID.String()); !fault.Is(err, fault.CodeImprintNotFound) {
		t.Errorf("removing twice: %v", err)
	}
	if _, err := os.Stat(note); err != nil {
		t.Error(err)
	}
}

func TestPrune(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	size := func(n int) int64 { return imprint.DiskBytes([]imprint.Entry{put(t, newStore(t), variant(n))}) }
	all := size(0) + size(1) + size(2) + size(3)
	// Imprint n was used n days before now, and a damaged file lies beside them.
	for name, c := range map[string]struct {
		opt     imprint.PruneOptions
		removed []int
	}{
		"no bound":               {imprint.PruneOptions{}, nil},
		"enough room":            {imprint.PruneOptions{MaxBytes: all}, nil},
		"one byte short":         {imprint.PruneOptions{MaxBytes: all - 1}, []int{3}},
		"room for two":           {imprint.PruneOptions{MaxBytes: size(0) + size(1)}, []int{3, 2}},
		"room for none":          {imprint.PruneOptions{MaxBytes: 1}, []int{3, 2, 1}},
		"older than 36 hours":    {imprint.PruneOptions{OlderThan: 36 * time.Hour}, []int{3, 2}},
		"exactly that old stays": {imprint.PruneOptions{OlderThan: 72 * time.Hour}, nil},
		"all are old":            {imprint.PruneOptions{OlderThan: time.Nanosecond, Now: now.Add(time.Hour)}, []int{3, 2, 1}},
		"either bound":           {imprint.PruneOptions{OlderThan: 60 * time.Hour, MaxBytes: size(0) + size(1)}, []int{3, 2}},
		"dry run":                {imprint.PruneOptions{MaxBytes: 1, DryRun: true}, []int{3, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			var want, kept []imprint.ID
			var made []imprint.Entry
			for n := range 4 {
				e := put(t, s, variant(n))
				if err := s.Touch(e.ID, now.Add(-time.Duration(n)*24*time.Hour)); err != nil {
					t.Fatal(err)
				}
				made = append(made, e)
			}
			damaged := put(t, s, variant(9))
			if err := os.Truncate(damaged.Path, 4000); err != nil {
				t.Fatal(err)
			}
			var gone []imprint.Entry
			for _, n := range c.removed {
				want = append(want, made[n].ID)
				gone = append(gone, made[n])
			}
			freed := imprint.DiskBytes(gone)
			for _, e := range made {
				if !slices.Contains(want, e.ID) {
					kept = append(kept, e.ID)
				}
			}
			if c.opt.Now.IsZero() {
				c.opt.Now = now
			}
			report, err := s.Prune(context.Background(), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(append([]imprint.ID{}, want...), ids(report.Removed)); d != "" {
				t.Errorf("removed: %s", d)
			}
			if d := cmp.Diff(kept, ids(report.Kept)); d != "" {
				t.Errorf("kept: %s", d)
			}
			if report.FreedBytes != freed || report.KeptBytes != all-freed || len(report.Damaged) != 1 {
				t.Errorf("freed %d, kept %d, damaged %v", report.FreedBytes, report.KeptBytes, report.Damaged)
			}
			list, err := s.List()
			if err != nil {
				t.Fatal(err)
			}
			if c.opt.DryRun {
				kept = ids(made)
			}
			if d := cmp.Diff(kept, ids(list.Entries)); d != "" || len(list.Damaged) != 1 {
				t.Errorf("left: %s, damaged %v", d, list.Damaged)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	header := func(c imprint.Content) imprint.Header {
		_, raw := write(t, c)
		u, err := imprint.OpenBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u.Header()
	}
	a := header(full())
	if got := imprint.Diff(a, a); got == nil || len(got) != 0 {
		t.Errorf("an imprint differs from itself: %v", got)
	}
	c := full()
	c.Identity.Tools[1] = imprint.Tool{Name: "translate", SchemaSHA256: sha("translate")}
	c.Identity.Params.KVTypeK = "q8_0"
	c.Tokens = append(c.Tokens, 4)
	c.Identity.PrefixSHA256 = imprint.PrefixSHA256(c.Tokens)
	c.State = sealed.Fresh(pattern(0, 100), 4)
	c.BakedOn.CPU = "AVX2"
	b := header(c)
	want := []imprint.Difference{
		{"identity.tools.order_status", sha("status").String(), "absent"},
		{"identity.params.kv_type_k", "f16", "q8_0"},
		{"identity.prefix_sha256", a.Identity.PrefixSHA256.String(), b.Identity.PrefixSHA256.String()},
		{"tokens", "3", "4"},
		{"layers.prefix.tokens", "3", "4"},
		{"sections.tokens.length", "12", "16"},
		{"sections.tokens.blake3", a.Sections[0].BLAKE3.String(), b.Sections[0].BLAKE3.String()},
		{"baked_on.cpu", "AVX512", "AVX2"},
		{"identity.tools.translate", "absent", sha("translate").String()},
	}
	if d := cmp.Diff(want, imprint.Diff(a, b)); d != "" {
		t.Error(d)
	}
}
