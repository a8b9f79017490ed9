// Package digest has one type per digest algorithm, so that two kinds can't be compared by mistake.
//
// SHA256 is written as 64 lower-case hex digits: every field that holds one is called …_sha256. BLAKE3 carries its
// algorithm in the text ("blake3:" and 64 hex digits), because it names artifacts.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zeebo/blake3"
)

// SHA256 is a SHA-256 digest (FIPS 180-4).
type SHA256 [sha256.Size]byte

// BLAKE3 is a 256-bit BLAKE3 digest.
type BLAKE3 [32]byte

const blake3Tag = "blake3:"

// SHA256Of digests b.
func SHA256Of(b []byte) SHA256 { return sha256.Sum256(b) }

// BLAKE3Of digests b.
func BLAKE3Of(b []byte) BLAKE3 { return blake3.Sum256(b) }

func (d SHA256) String() string { return hex.EncodeToString(d[:]) }
func (d BLAKE3) String() string { return blake3Tag + d.Hex() }

// Hex is the digest without its tag, for file names.
func (d BLAKE3) Hex() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether d was never set.
func (d SHA256) IsZero() bool { return d == SHA256{} }

// IsZero reports whether d was never set.
func (d BLAKE3) IsZero() bool { return d == BLAKE3{} }

// ParseSHA256 reads 64 lower-case hex digits, and nothing else.
func ParseSHA256(text string) (d SHA256, err error) { return d, parseHex(d[:], text) }

// ParseBLAKE3 reads "blake3:" and 64 lower-case hex digits, and nothing else.
func ParseBLAKE3(text string) (d BLAKE3, err error) {
	rest, ok := strings.CutPrefix(text, blake3Tag)
	if !ok {
		return d, fmt.Errorf("digest: %q doesn't start with %q", text, blake3Tag)
	}
	return d, parseHex(d[:], rest)
}

func parseHex(into []byte, text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(into) || hex.EncodeToString(raw) != text {
		return fmt.Errorf("digest: %q isn't %d lower-case hex digits", text, 2*len(into))
	}
	copy(into, raw)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d SHA256) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalText implements encoding.TextMarshaler.
func (d BLAKE3) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; it accepts what MarshalText writes and nothing else.
func (d *SHA256) UnmarshalText(text []byte) (err error) {
	*d, err = ParseSHA256(string(text))
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler; it accepts what MarshalText writes and nothing else.
func (d *BLAKE3) UnmarshalText(text []byte) (err error) {
	*d, err = ParseBLAKE3(string(text))
	return err
}

// SHA256Reader digests r to its end and says how many bytes that were.
func SHA256Reader(r io.Reader) (d SHA256, n int64, err error) {
	h := sha256.New()
	if n, err = io.Copy(h, r); err != nil {
		return SHA256{}, n, err
	}
	copy(d[:], h.Sum(nil))
	return d, n, nil
}

// SHA256File digests the file's content.
func SHA256File(path string) (SHA256, error) {
	f, err := os.Open(path)
	if err != nil {
		return SHA256{}, err
	}
	defer f.Close()
	d, _, err := SHA256Reader(f)
	return d, err
}
