package imprint_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"edge/internal/fault"
)

func specification(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../docs/format/imprint-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// imprint-v1 §9: the example shows exactly the file that it names.
func TestTheExampleIsTheVector(t *testing.T) {
	text := specification(t)
	want, err := os.ReadFile(filepath.Join(vectorDir, "minimal.imprint"))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want)) // what isn't shown is zero
	for _, line := range regexp.MustCompile(`(?m)^([0-9a-f]{8})  ((?:[0-9a-f]{2} ?)+)$`).FindAllStringSubmatch(text, -1) {
		at, err := strconv.ParseInt(line[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		row, err := hex.DecodeString(strings.ReplaceAll(line[2], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(got[at:], row)
	}
	_, rest, ok := strings.Cut(text, "```json\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page has no JSON block")
	}
	copy(got[preludeSize:], strings.ReplaceAll(block, "\n", ""))
	if !bytes.Equal(got, want) {
		t.Error("the example isn't the file")
	}
}

// The page names every member of a header and every code that the gate can give.
func TestThePageIsComplete(t *testing.T) {
	text := specification(t)
	_, raw := write(t, full())
	header, _ := split(raw)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case object:
			for name, inner := range v {
				if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`"`) {
					t.Errorf("the page doesn't name the member %s", name)
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	var h any
	if err := json.Unmarshal(header, &h); err != nil {
		t.Fatal(err)
	}
	walk(h)
	for _, row := range fault.Rows() {
		// Of the imprint's codes, only a missing file isn't the format's.
		if code := string(row.Code); strings.HasPrefix(code, "imprint_") && row.Code != fault.CodeImprintNotFound && !strings.Contains(text, "`"+code+"`") {
			t.Errorf("the page doesn't name the code %s", code)
		}
	}
}
