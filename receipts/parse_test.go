package receipts

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"edge/internal/canon"
	"edge/internal/digest"
)

func sample(t testing.TB) []byte {
	t.Helper()
	previous := digest.SHA256Of([]byte("the one before"))
	content, err := encode(&Receipt{
		Schema: Schema, Kind: "tool_call", CreatedAt: "2026-01-02T03:04:05.006Z", Edge: Build{"1", "go1"}, Sequence: 2,
		PreviousSHA256: &previous, Body: json.RawMessage(`{"a":[1,0.5,null,true],"é":"\u000f"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestEveryFlippedBitAndEveryCut(t *testing.T) {
	original := sample(t)
	if _, err := parse(original); err != nil {
		t.Fatal(err)
	}
	for i := range original {
		for bit := range 8 {
			content := bytes.Clone(original)
			content[i] ^= 1 << bit
			if _, err := parse(content); err == nil {
				t.Errorf("bit %d of byte %d was flipped, and nobody saw it", bit, i)
			}
		}
		if _, err := parse(original[:i]); err == nil {
			t.Errorf("cut to %d bytes, and nobody saw it", i)
		}
		if _, err := parse(append(bytes.Clone(original[:i]), original[i+1:]...)); err == nil {
			t.Errorf("byte %d was left out, and nobody saw it", i)
		}
	}
}

// A receipt whose digests are right can still be one that no edge would write.
func TestConsistentButWrong(t *testing.T) {
	good := Receipt{Schema: Schema, Kind: "chat", CreatedAt: "2026-01-02T03:04:05.006Z", Sequence: 1, Body: json.RawMessage("{}")}
	if _, err := encode(&good); err != nil {
		t.Fatal(err)
	}
	previous := digest.SHA256Of(nil)
	for name, spoil := range map[string]func(*Receipt){
		"schema":                  func(r *Receipt) { r.Schema = "edge.receipt/v0" },
		"another schema":          func(r *Receipt) { r.Schema = "edge.chat/v1" },
		"kind":                    func(r *Receipt) { r.Kind = "a/b" },
		"no time":                 func(r *Receipt) { r.CreatedAt = "" },
		"a time without ms":       func(r *Receipt) { r.CreatedAt = "2026-01-02T03:04:05Z" },
		"a time with µs":          func(r *Receipt) { r.CreatedAt = "2026-01-02T03:04:05.006001Z" },
		"a time elsewhere":        func(r *Receipt) { r.CreatedAt = "2026-01-02T03:04:05.006+01:00" },
		"no such day":             func(r *Receipt) { r.CreatedAt = "2026-02-30T03:04:05.006Z" },
		"sequence 0":              func(r *Receipt) { r.Sequence = 0 },
		"a negative sequence":     func(r *Receipt) { r.Sequence = -1 },
		"a first with a previous": func(r *Receipt) { r.PreviousSHA256 = &previous },
		"a second without one":    func(r *Receipt) { r.Sequence = 2 },
		"a list for a body":       func(r *Receipt) { r.Body = json.RawMessage("[]") },
		"null for a body":         func(r *Receipt) { r.Body = json.RawMessage("null") },
		"no body":                 func(r *Receipt) { r.Body = nil },
	} {
		r := good
		spoil(&r)
		if content, err := encode(&r); err == nil {
			t.Errorf("%s: %s was written", name, content)
		}
	}
}

// FuzzParse: what is accepted is exactly what would be written.
func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte(`{"schema":"edge.receipt/v1"}`))
	f.Add([]byte(`{"schema":"edge.receipt/v9"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := parse(content)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil || !bytes.Equal(again, content) {
			t.Fatalf("read %q, wrote %q (%v)", content, again, err)
		}
		if !namePattern.MatchString(r.name()) {
			t.Fatalf("its name would be %q", r.name())
		}
	})
}

// FuzzParseBehindDigests goes past the two digests, which a fuzzer would never find: they are made to fit whatever the
// other members are. What is accepted is still exactly what would be written.
func FuzzParseBehindDigests(f *testing.F) {
	f.Add(sample(f))
	first := Receipt{Schema: Schema, Kind: "chat", CreatedAt: "2026-01-02T03:04:05.006Z", Sequence: 1, Body: json.RawMessage("{}")}
	content, err := encode(&first)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(bytes.Replace(content, []byte(`"sequence":1`), []byte(`"sequence":1.0`), 1))
	f.Add(bytes.Replace(content, []byte(`"kind":"chat"`), []byte(`"kind":"\u0063hat"`), 1))
	f.Fuzz(func(t *testing.T, content []byte) {
		fitted, ok := fitDigests(content)
		if !ok {
			return
		}
		r, err := parse(fitted)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil || !bytes.Equal(again, fitted) {
			t.Fatalf("read %q, wrote %q (%v)", fitted, again, err)
		}
		if !namePattern.MatchString(r.name()) {
			t.Fatalf("its name would be %q", r.name())
		}
	})
}

// fitDigests makes the digests of a JSON object those of its other members, and leaves each of these as it is written.
func fitDigests(content []byte) (fitted []byte, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil || members == nil {
		return nil, false
	}
	quoted := func(d digest.SHA256) json.RawMessage { return json.RawMessage(`"` + d.String() + `"`) }
	delete(members, "record_sha256")
	members["body_sha256"] = quoted(digest.SHA256Of(members["body"]))
	covered, err := canon.Marshal(members)
	if err != nil {
		return nil, false
	}
	members["record_sha256"] = quoted(digest.SHA256Of(covered))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, false
		}
		fitted = append(append(append(append(fitted, ','), key...), ':'), members[name]...)
	}
	fitted[0] = '{'
	return append(fitted, '}'), true
}

// The fuzzer's way past the digests is one: a receipt stays what it was, and one with other members is refused for them.
func TestFitDigests(t *testing.T) {
	original := sample(t)
	if fitted, ok := fitDigests(original); !ok || !bytes.Equal(fitted, original) {
		t.Errorf("got %s, want %s", fitted, original)
	}
	fitted, _ := fitDigests(bytes.Replace(original, []byte(`"kind":"tool_call"`), []byte(`"kind":"Tool"`), 1))
	if _, err := parse(fitted); err == nil || !strings.Contains(err.Error(), "its kind is") {
		t.Errorf("got %v, want a word about its kind", err)
	}
}
