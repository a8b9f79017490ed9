package learn

import (
	"slices"
	"testing"
)

// read lists what a reader finds in a request.
func read(r reader, request string) []string {
	var list []string
	for _, s := range stretches(r, request, split(request)) {
		list = append(list, string(s.value))
	}
	return list
}

// TestNoStretchCutsAQuotation, and an apostrophe isn't a mark.
func TestNoStretchCutsAQuotation(t *testing.T) {
	for request, never := range map[string][]string{
		`put 'Night shift' in`:    {`"Night shift' in"`, `"put 'Night"`},
		`say “a b” to «c d»`:      {`"a b” to"`, `"b” to «c"`},
		`a "b c" and "d e" f`:     {`"b c\" and"`, `"c\" and \"d"`},
		`the parents' evening on`: {`"parents"`},
		`the parents’ evening on`: {`"parents"`},
	} {
		all := read(readText, request)
		for _, text := range never {
			if slices.Contains(all, text) {
				t.Errorf("%s: %s is a stretch", request, text)
			}
		}
	}
	for request, some := range map[string][]string{
		`put 'Night shift' in`:    {`"Night shift"`, `"Night"`, `"put 'Night shift' in"`},
		`a "b c" and "d e" f`:     {`"b c"`, `"d e"`},
		`the parents' evening on`: {`"parents' evening"`, `"parents'"`},
	} {
		all := read(readText, request)
		for _, text := range some {
			if !slices.Contains(all, text) {
				t.Errorf("%s: %s is no stretch of %s", request, text, all)
			}
		}
	}
}

// TestATimeIsReadWhole: the number before "pm" alone would be another time.
func TestATimeIsReadWhole(t *testing.T) {
	p := &parameter{source: clock, reader: readClock}
	const request = "at 7:30 pm or 6:15"
	var list []string
	for _, s := range p.stretches(request, split(request)) {
		list = append(list, string(s.value))
	}
	if want := []string{`"19:30"`, `"06:15"`}; !slices.Equal(list, want) {
		t.Errorf("got %s, want %s", list, want)
	}
}

func TestStem(t *testing.T) {
	for _, group := range [][]string{
		{"live", "lives", "lived", "living"}, {"wrap", "wraps", "wrapped", "wrapping"}, {"error", "errors"}, {"warning", "warnings", "warn", "warned"}, {"box", "boxes"},
		{"notify", "notifying"}, {"cat", "cat's", "cat’s"}, {"call", "called", "calling"},
	} {
		for _, w := range group[1:] {
			if stem(w) != stem(group[0]) {
				t.Errorf("%s: %q, %s: %q", group[0], stem(group[0]), w, stem(w))
			}
		}
	}
	for _, pair := range [][2]string{{"on", "one"}, {"bed", "be"}, {"ring", "r"}} {
		if stem(pair[0]) == stem(pair[1]) {
			t.Errorf("%q and %q are one", pair[0], pair[1])
		}
	}
}
