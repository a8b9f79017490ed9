package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	// Schema names the format of a receipt.
	Schema = "edge.receipt/v1"
	// MaxSize is the largest receipt that is written or read, in bytes.
	MaxSize = 4 << 20

	timeLayout = "2006-01-02T15:04:05.000Z"
	nameLayout = "20060102T150405.000Z"
	// firstTag stands in a file's name where the first receipt of a chain has no previous digest.
	firstTag = "00000000"
)

// Receipt is one record. RecordSHA256 covers every other member, BodySHA256 the canonical form of Body, and the next
// receipt's PreviousSHA256 the bytes of this one's file.
type Receipt struct {
	Schema         string          `json:"schema"`
	Kind           string          `json:"kind"`
	CreatedAt      string          `json:"created_at"`
	Edge           Build           `json:"edge"`
	Sequence       int64           `json:"sequence"`
	PreviousSHA256 *digest.SHA256  `json:"previous_sha256"`
	Body           json.RawMessage `json:"body"`
	BodySHA256     digest.SHA256   `json:"body_sha256"`
	RecordSHA256   digest.SHA256   `json:"record_sha256"`
}

// Build says which program wrote a receipt.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Read gives the receipt at path if its bytes are exactly what was written, as far as one file can show that. A missing
// file is receipt_not_found, anything else that isn't such a receipt is receipt_mismatch.
func Read(path string) (*Receipt, error) {
	_, r, err := read(path)
	return r, err
}

func read(path string) ([]byte, *Receipt, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.New(fault.CodeReceiptNotFound, "no receipt at %s", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read receipt: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, nil, fault.New(fault.CodeReceiptNotFound, "%s is a folder, not a receipt", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read receipt: %w", err)
	}
	r, err := parse(content)
	if err != nil {
		return nil, nil, fault.New(fault.CodeReceiptMismatch, "receipt %s: %w", path, err)
	}
	return content, r, nil
}

// parse accepts exactly the bytes that encode gives, and nothing else.
func parse(content []byte) (*Receipt, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxSize)
	}
	var version struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(content, &version) == nil && version.Schema != Schema && strings.HasPrefix(version.Schema, "edge.receipt/") {
		return nil, fmt.Errorf("its schema is %q, and this edge reads %q", version.Schema, Schema)
	}
	r := &Receipt{}
	if err := canon.Unmarshal(content, r); err != nil {
		return nil, err
	}
	created, err := time.Parse(timeLayout, r.CreatedAt)
	switch {
	case r.Schema != Schema:
		return nil, fmt.Errorf("its schema is %q, want %q", r.Schema, Schema)
	case !kindPattern.MatchString(r.Kind):
		return nil, fmt.Errorf("its kind is %q", r.Kind)
	case err != nil || created.Format(timeLayout) != r.CreatedAt:
		return nil, fmt.Errorf("its time is %q, want UTC with milliseconds", r.CreatedAt)
	case r.Sequence < 1 || r.Sequence > canon.MaxInteger:
		return nil, fmt.Errorf("its sequence is %d", r.Sequence)
	case (r.Sequence == 1) != (r.PreviousSHA256 == nil):
		return nil, fmt.Errorf("its sequence is %d, and only the first has no previous_sha256", r.Sequence)
	case !bytes.HasPrefix(r.Body, []byte("{")):
		return nil, errors.New("its body isn't an object")
	case digest.SHA256Of(r.Body) != r.BodySHA256:
		return nil, fmt.Errorf("its body's digest: got %s, want %s", digest.SHA256Of(r.Body), r.BodySHA256)
	}
	want, err := r.record()
	if err != nil {
		return nil, err
	}
	if want != r.RecordSHA256 {
		return nil, fmt.Errorf("its record's digest: got %s, want %s", want, r.RecordSHA256)
	}
	again, err := canon.Marshal(r)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, content) {
		return nil, errors.New("its bytes aren't canonical JSON with every member")
	}
	return r, nil
}

// encode fills in the digests of r, whose Body must be canonical, and gives the file's bytes.
func encode(r *Receipt) (content []byte, err error) {
	r.BodySHA256 = digest.SHA256Of(r.Body)
	if r.RecordSHA256, err = r.record(); err != nil {
		return nil, err
	}
	if content, err = canon.Marshal(r); err != nil {
		return nil, err
	}
	// What can't be read back isn't written.
	if _, err := parse(content); err != nil {
		return nil, err
	}
	return content, nil
}

// record digests every member but record_sha256 itself.
func (r *Receipt) record() (digest.SHA256, error) {
	all, err := canon.Marshal(r)
	if err != nil {
		return digest.SHA256{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(all, &members); err != nil {
		return digest.SHA256{}, err
	}
	delete(members, "record_sha256")
	covered, err := canon.Marshal(members)
	return digest.SHA256Of(covered), err
}

// name is the only name that a receipt's file may have: its time, its kind, and the digest that it continues.
func (r *Receipt) name() string {
	created, err := time.Parse(timeLayout, r.CreatedAt)
	if err != nil {
		return "" // parse has refused such a receipt
	}
	return fmt.Sprintf("%s-%s-%s.json", created.Format(nameLayout), r.Kind, tagAfter(r.PreviousSHA256))
}

// tagAfter is the part of its name by which a receipt that continues previous is found without opening others.
func tagAfter(previous *digest.SHA256) string {
	if previous == nil {
		return firstTag
	}
	return previous.String()[:8]
}

var (
	kindPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	namePattern = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-[a-z][a-z0-9_]{0,31}-([0-9a-f]{8})\.json$`)
)

// list gives the names of the receipts in dir, in the order of their times, and the names of what else is there.
func list(dir string) (receipts, others []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case namePattern.MatchString(name):
			receipts = append(receipts, name)
		case name != headName && name != lockName && !(strings.HasPrefix(name, ".") && filepath.Ext(name) == ".tmp"):
			others = append(others, name)
		}
	}
	return receipts, others, nil
}
