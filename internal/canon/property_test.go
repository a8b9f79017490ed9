package canon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"edge/internal/canon"
)

// Another program's canonical form is the oracle: jsontext implements RFC 8785 on its own.
func TestDocumentsAgainstTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t, 4)
		got, err := canon.Transform([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		checkCanonical(t, []byte(doc), got)
	})
}

// document writes one JSON value as a careless program would: white space, escapes where none are needed, members in
// any order, numbers in any spelling.
func document(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n", "\t\r "})
	pad := func(s string) string { return space.Draw(t, "before") + s + space.Draw(t, "after") }
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return pad(rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal"))
	case 1:
		return pad(fmt.Sprint(rapid.Int64Range(-canon.MaxInteger, canon.MaxInteger).Draw(t, "integer")))
	case 2:
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if a := math.Abs(f); math.IsNaN(f) || a > math.MaxFloat64 || a > canon.MaxInteger && a < 1e21 {
			f = 0.5
		}
		return pad(fmt.Sprintf(rapid.SampledFrom([]string{"%.17e", "%.17E", "%g"}).Draw(t, "format"), f))
	case 3:
		return pad(quoted(t, rapid.String().Draw(t, "string")))
	case 4:
		var parts []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			parts = append(parts, document(t, depth-1))
		}
		return pad("[" + strings.Join(parts, ",") + space.Draw(t, "inside") + "]")
	}
	var parts []string
	for _, key := range rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID).Draw(t, "keys") {
		parts = append(parts, pad(quoted(t, key))+":"+document(t, depth-1))
	}
	return pad("{" + strings.Join(parts, ",") + space.Draw(t, "inside") + "}")
}

func quoted(t *rapid.T, s string) string {
	plain, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !rapid.Bool().Draw(t, "escape everything") {
		return string(plain)
	}
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "case"), unit)
	}
	return `"` + b.String() + `"`
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkCanonical(t failer, in, got []byte) {
	t.Helper()
	again, err := canon.Transform(got)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("not idempotent: %q became %q, then %q (%v)", in, got, again, err)
	}
	oracle := jsontext.Value(bytes.Clone(in))
	if err := oracle.Canonicalize(); err != nil {
		t.Fatalf("%q: the oracle refuses: %v", in, err)
	}
	if !bytes.Equal(bytes.TrimSpace(oracle), got) {
		t.Fatalf("%q: got %q, the oracle says %q", in, got, oracle)
	}
	var into any
	if err := canon.Unmarshal(in, &into); err != nil {
		t.Fatalf("%q: Unmarshal refuses what Transform takes: %v", in, err)
	}
	marshalled, err := canon.Marshal(into)
	if err != nil || !bytes.Equal(marshalled, got) {
		t.Fatalf("%q: read and written again it is %q (%v), want %q", in, marshalled, err, got)
	}
}

// FuzzTransform: what is accepted is JSON for every other reader too, and its canonical form is stable.
func FuzzTransform(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,"\u20ac"],"a":null}`, `"\ud83d\ude00"`, `"\ud800"`, `9007199254740991`, `1e21`, `1e400`, `-0`,
		`{"a":1,"a":2}`, `[[[[]]]]`, `[1,]`, `{"a" 1}`, "\xff", `"\u12"`, `[1}`, ` {} `, `1 2`, "\"\u2028\"", `"\\ud800"`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := canon.Transform(in)
		if (err == nil) != (canon.Check(in) == nil) {
			t.Fatalf("%q: Transform says %v, Check says %v", in, err, canon.Check(in))
		}
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("%q isn't JSON, and became %q", in, got)
		}
		checkCanonical(t, in, got)
	})
}
