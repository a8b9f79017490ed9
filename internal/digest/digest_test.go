package digest_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"edge/internal/digest"
)

// The published vectors of both algorithms: FIPS 180-4 examples, and the BLAKE3 project's test vectors, whose input is
// the bytes 0, 1, … 250 repeated.
func TestKnownAnswers(t *testing.T) {
	counted := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i % 251)
		}
		return b
	}
	tests := []struct{ name, got, want string }{
		{"sha256 of nothing", digest.SHA256Of(nil).String(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"sha256 of abc", digest.SHA256Of([]byte("abc")).String(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"blake3 of nothing", digest.BLAKE3Of(nil).String(), "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
		{"blake3 of 1 byte", digest.BLAKE3Of(counted(1)).String(), "blake3:2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
		{"blake3 of 1024 bytes", digest.BLAKE3Of(counted(1024)).String(), "blake3:42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, test.got, test.want)
		}
	}
	if b := digest.BLAKE3Of(nil); b.Hex() != strings.TrimPrefix(b.String(), "blake3:") {
		t.Errorf("hex %s isn't the text without its tag", b.Hex())
	}
}

func TestParseAcceptsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		s, b := digest.SHA256Of(content), digest.BLAKE3Of(content)
		if got, err := digest.ParseSHA256(s.String()); err != nil || got != s {
			t.Fatalf("got %s (%v), want %s", got, err, s)
		}
		if got, err := digest.ParseBLAKE3(b.String()); err != nil || got != b {
			t.Fatalf("got %s (%v), want %s", got, err, b)
		}
		if s.IsZero() || b.IsZero() {
			t.Fatal("a digest of something is zero")
		}
	})
	if !(digest.SHA256{}).IsZero() || !(digest.BLAKE3{}).IsZero() {
		t.Error("the zero value isn't zero")
	}
}

func TestParseRefusesEverythingElse(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	for _, text := range []string{
		"", hex[1:], hex + "0", hex + "00", hex[2:], strings.ToUpper(hex), "sha256:" + hex, "blake3:" + hex, " " + hex,
		hex + "\n", "g" + hex[1:], "0x" + hex[2:], strings.Repeat("é", 32),
	} {
		if d, err := digest.ParseSHA256(text); err == nil || !d.IsZero() {
			t.Errorf("sha256 %q: got %s, want an error and no digest", text, d)
		}
	}
	for _, text := range []string{
		"", hex, "blake3:", "BLAKE3:" + hex, "blake3:" + strings.ToUpper(hex), "blake3:" + hex[1:], "blake3:" + hex + "0",
		"blake3: " + hex, "blake3:blake3:" + hex, "sha256:" + hex,
	} {
		if d, err := digest.ParseBLAKE3(text); err == nil || !d.IsZero() {
			t.Errorf("blake3 %q: got %s, want an error and no digest", text, d)
		}
	}
}

func TestInsideJSON(t *testing.T) {
	type record struct {
		S digest.SHA256 `json:"s"`
		B digest.BLAKE3 `json:"b"`
	}
	want := record{digest.SHA256Of([]byte("x")), digest.BLAKE3Of([]byte("x"))}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if expected := `{"s":"` + want.S.String() + `","b":"` + want.B.String() + `"}`; string(text) != expected {
		t.Errorf("got %s, want %s", text, expected)
	}
	var got record
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	for _, bad := range []string{`{"s":"00"}`, `{"b":"` + want.S.String() + `"}`, `{"s":1}`} {
		if err := json.Unmarshal([]byte(bad), &record{}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestReaderAndFile(t *testing.T) {
	content := strings.Repeat("some bytes ", 10_000)
	want := digest.SHA256Of([]byte(content))
	got, n, err := digest.SHA256Reader(iotest.OneByteReader(strings.NewReader(content)))
	if err != nil || got != want || n != int64(len(content)) {
		t.Errorf("got %s of %d bytes (%v), want %s of %d", got, n, err, want, len(content))
	}
	broken := io.MultiReader(strings.NewReader("some"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, _, err := digest.SHA256Reader(broken); !errors.Is(err, io.ErrUnexpectedEOF) || !got.IsZero() {
		t.Errorf("a broken reader gave %s, %v", got, err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if _, err := digest.SHA256File(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := digest.SHA256File(path); err != nil || got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	if _, err := digest.SHA256File(filepath.Dir(path)); err == nil {
		t.Error("a folder has a digest")
	}
}
