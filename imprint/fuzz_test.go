package imprint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"edge/imprint"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
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
	for _, c := range []imprint.Content{full(), small(), layered()} {
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

// FuzzLayerIndex varies the two lists of a good header that say where the layers are, and how many tokens the prefix has.
// What is accepted is written in that form only, its sections follow each other without a hole, its layers have all tokens,
// and the file is as long as they say.
func FuzzLayerIndex(f *testing.F) {
	headers := map[bool]object{} // by whether something was learned
	for learned, c := range map[bool]imprint.Content{true: layered(), false: small()} {
		_, raw := write(f, c)
		header, _ := split(raw)
		headers[learned] = decodeObject(f, header)
	}
	for _, c := range []imprint.Content{full(), small(), layered()} {
		_, raw := write(f, c)
		text, _ := split(raw)
		h := decodeObject(f, text)
		layers, err := json.Marshal(h["layers"])
		if err != nil {
			f.Fatal(err)
		}
		sections, err := json.Marshal(h["sections"])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(layers, sections, len(c.Tokens), len(c.Learned) > 0)
		f.Add(layers, sections, len(c.Tokens)-1, len(c.Learned) == 0)
		f.Add(sections, layers, len(c.Tokens), true)
	}
	f.Fuzz(func(t *testing.T, layers, sections []byte, tokens int, learned bool) {
		h := maps.Clone(headers[learned])
		h["layers"], h["sections"], h["tokens"] = json.RawMessage(layers), json.RawMessage(sections), tokens
		raw, err := canon.Marshal(h)
		if err != nil {
			return
		}
		got, id, size, err := imprint.ParseHeader(raw)
		if err != nil {
			if !fault.Is(err, fault.CodeImprintHeaderMalformed) {
				t.Errorf("a refusal without a code: %v", err)
			}
			return
		}
		if again, err := imprint.ParseAndEncodeHeader(raw); err != nil || !bytes.Equal(raw, again) || id != digest.BLAKE3Of(raw) {
			t.Errorf("accepted\n%s\nwritten as\n%s (%v)", raw, again, err)
		}
		sum, end := 0, int64(0)
		for _, l := range got.Layers {
			sum += l.Tokens
		}
		for _, s := range got.Sections {
			if s.Offset != (end+alignment-1)/alignment*alignment || s.Length < 1 || sealed.SegmentCount(s.Length) != int64(len(s.Segments)) {
				t.Errorf("%q has %d bytes in %d segments at %d, and the one before it ends at %d", s.Name, s.Length, len(s.Segments), s.Offset, end)
			}
			end = s.Offset + s.Length
		}
		if start := int64(len(padded(make([]byte, preludeSize+len(raw))))); size != start+end || sum != tokens || got.Tokens != tokens {
			t.Errorf("a file of %d bytes that ends at %d, and %d tokens of %d in its layers", size, start+end, sum, tokens)
		}
	})
}

func decodeObject(f *testing.F, raw []byte) (h object) {
	f.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&h); err != nil {
		f.Fatal(err)
	}
	return h
}
