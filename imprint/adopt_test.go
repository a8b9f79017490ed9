package imprint_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"edge/imprint"
	"edge/internal/fault"
)

func TestParseHeaderSaysHowLongTheFileIs(t *testing.T) {
	for name, c := range map[string]imprint.Content{"full": full(), "small": small()} {
		path, raw := write(t, c)
		u, err := imprint.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		header, _ := split(raw)
		h, id, size, err := imprint.ParseHeader(header)
		if err != nil || id != u.ID() || size != int64(len(raw)) || len(imprint.Diff(h, u.Header())) > 0 {
			t.Errorf("%s: %s of %d bytes (%v), want %s of %d", name, id, size, err, u.ID(), len(raw))
		}
		for what, bad := range map[string][]byte{
			"empty": nil, "cut": header[:len(header)-1], "longer": append(bytes.Clone(header), ' '), "too long": make([]byte, imprint.MaxHeader+1),
			"changed": bytes.Replace(header, []byte(`"tokens":`), []byte(`"tokenz":`), 1),
		} {
			if _, _, _, err := imprint.ParseHeader(bad); !fault.Is(err, fault.CodeImprintHeaderMalformed) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// arrived puts a file where files of the store gather.
func arrived(t *testing.T, s *imprint.Store, raw []byte) string {
	t.Helper()
	dir, err := s.Partial()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "arrived")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// whole gives the store's imprint of that id as one file.
func whole(t *testing.T, s *imprint.Store, id imprint.ID) []byte {
	t.Helper()
	u, err := s.Open(id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	r, size := u.Whole()
	raw, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAdopt(t *testing.T) {
	_, raw := write(t, full())
	id, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	_, other := write(t, small())
	for _, test := range []struct {
		name  string
		raw   []byte
		there []byte // under the imprint's name
		code  fault.Code
		step  imprint.Step
	}{
		{"whole", raw, nil, "", 0},
		{"it is there", raw, raw, "", 0},
		{"a damaged one is there", raw, flip(raw, 8*len(raw)-1), "", 0},
		{"another imprint", other, nil, fault.CodeImprintHeaderMalformed, imprint.StepSize},
		{"no imprint", []byte("{}"), nil, fault.CodeImprintHeaderMalformed, imprint.StepPrelude},
		{"cut", raw[:len(raw)-1], nil, fault.CodeImprintTruncated, imprint.StepSize},
		{"longer", append(bytes.Clone(raw), 0), nil, fault.CodeImprintTrailingData, imprint.StepSize},
		{"damaged", flip(raw, 8*len(raw)-1), nil, fault.CodeImprintPayloadMismatch, imprint.StepPayload},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t)
			path, final := arrived(t, s, test.raw), filepath.Join(s.Dir(), id.Hex()+".imprint")
			if test.there != nil {
				if err := os.WriteFile(final, test.there, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e, err := s.Adopt(context.Background(), path, "what came", id)
			if test.code != "" {
				wantRefusal(t, err, test.code, test.step)
				if _, err := os.Stat(path); err != nil {
					t.Errorf("the file: %v", err)
				}
				if l, err := s.List(); err != nil || len(l.Entries)+len(l.Damaged) > 0 {
					t.Errorf("the store holds %v (%v)", l, err)
				}
				return
			}
			if err != nil || e.ID != id || e.Path != final {
				t.Fatalf("got %+v, %v", e, err)
			}
			if got := whole(t, s, id); !bytes.Equal(got, raw) {
				t.Error("the store's imprint is another one")
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
			aside, err := os.ReadFile(final + ".damaged-1")
			if damaged := test.there != nil && !bytes.Equal(test.there, raw); damaged != (err == nil) || damaged && !bytes.Equal(aside, test.there) {
				t.Errorf("evidence: %d bytes, %v", len(aside), err)
			}
			if again, err := s.Lookup(context.Background(), id); err != nil || again.Path != final {
				t.Errorf("lookup: %+v, %v", again, err)
			}
		})
	}
}

func TestAnAdoptedFileIsPrivate(t *testing.T) {
	_, raw := write(t, full())
	id, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	path := arrived(t, s, raw)
	if l, err := s.List(); err != nil || len(l.Entries)+len(l.Damaged) > 0 {
		t.Errorf("what gathers is listed: %v, %v", l, err)
	}
	e, err := s.Adopt(context.Background(), path, path, id)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(filepath.Join(s.Dir(), ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Stat(e.Path); err != nil || got.Mode() != want.Mode() {
		t.Errorf("its mode is %v (%v), want %v", got.Mode(), err, want.Mode())
	}
}

func TestLookup(t *testing.T) {
	s := newStore(t)
	id, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(context.Background(), id); !fault.Is(err, fault.CodeImprintNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	e := put(t, s, full())
	raw, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.Path, flip(raw, 8*len(raw)-1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Lookup(context.Background(), id)
	wantRefusal(t, err, fault.CodeImprintPayloadMismatch, imprint.StepPayload)
}
