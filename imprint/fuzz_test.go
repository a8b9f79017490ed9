package imprint_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"edge/imprint"
)

// FuzzOpen: whatever Open accepts has one form only. What this package writes for the header that it read is what
// stood there, and between the sections there is nothing.
func FuzzOpen(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join(vectorDir, "*.imprint"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range seeds {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := imprint.OpenBytes(raw)
		if err != nil {
			var r *imprint.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("a refusal without a code: %v", err)
			}
			return
		}
		again, err := u.Reencode()
		if err != nil {
			t.Fatal(err)
		}
		start := len(padded(bytes.Clone(again)))
		for _, s := range u.Header().Sections {
			again = padded(again)
			again = append(again, raw[start+int(s.Offset):][:s.Length]...)
		}
		if !bytes.Equal(again, raw) {
			t.Errorf("accepted %d bytes that are written as %d others", len(raw), len(again))
		}
	})
}

// FuzzHeader goes past the header's digest, which a fuzzer would never find: what is accepted as a header is exactly
// what this package writes for it (imprint-v1 §4).
func FuzzHeader(f *testing.F) {
	for _, c := range []imprint.Content{full(), small()} {
		_, raw := write(f, c)
		header, _ := split(raw)
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > imprint.MaxHeader {
			return
		}
		again, err := imprint.ParseAndEncodeHeader(raw)
		if err == nil && !bytes.Equal(raw, again) {
			t.Errorf("accepted\n%s\nwritten as\n%s", raw, again)
		}
	})
}
