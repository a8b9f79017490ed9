package receipts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	headSchema = "edge.receipt_head/v1"
	headName   = "head.json"
	lockName   = ".lock"
)

// Config says where receipts go and who writes them.
type Config struct {
	Dir     string           // created with mode 0700 by the first Write
	Clock   func() time.Time // nil: the system's
	Version string           // edge's own
}

// Store appends receipts to the chain of one folder.
type Store struct {
	dir     string
	clock   func() time.Time
	version string
}

// NewStore makes a store; it touches no file.
func NewStore(cfg Config) *Store {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Store{dir: cfg.Dir, clock: cfg.Clock, version: cfg.Version}
}

// head is what head.json says: which receipt is the newest.
type head struct {
	Schema        string        `json:"schema"`
	Sequence      int64         `json:"sequence"`
	Receipt       string        `json:"receipt"`
	ReceiptSHA256 digest.SHA256 `json:"receipt_sha256"`
}

func headOf(r *Receipt, content []byte) head {
	return head{Schema: headSchema, Sequence: r.Sequence, Receipt: r.name(), ReceiptSHA256: digest.SHA256Of(content)}
}

// Write appends a receipt and gives its path and the digest of its bytes. When it returns without an error, the receipt
// outlives a power cut. A body that CheckBody refuses is a bug of the caller. A head.json that can't be read is
// receipt_mismatch: nothing is written then.
func (s *Store) Write(kind string, body any) (path string, sum digest.SHA256, err error) {
	if !kindPattern.MatchString(kind) {
		return "", sum, fmt.Errorf("receipts: %q isn't a kind", kind)
	}
	canonical, err := checkedBody(body)
	if err != nil {
		return "", sum, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", sum, fmt.Errorf("receipts folder: %w", err)
	}
	lock := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", sum, fmt.Errorf("receipts lock: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	last, err := currentHead(s.dir)
	if err != nil {
		return "", sum, err
	}
	r := &Receipt{
		Schema:    Schema,
		Kind:      kind,
		CreatedAt: s.clock().UTC().Format(timeLayout),
		Edge:      Build{Version: s.version, Go: runtime.Version()},
		Sequence:  last.Sequence + 1,
		Body:      canonical,
	}
	if last.Sequence > 0 {
		r.PreviousSHA256 = &last.ReceiptSHA256
	}
	content, err := encode(r)
	if err != nil {
		return "", sum, fmt.Errorf("receipts: %w", err)
	}
	path = filepath.Join(s.dir, r.name())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", sum, fault.New(fault.CodeReceiptMismatch, "receipt %s is in the way of the next one, and doesn't continue the chain", path)
	}
	if err := atomicfile.WriteBytes(path, 0o600, content); err != nil {
		return "", sum, err
	}
	// A crash here leaves a receipt that head.json doesn't know; the next Write finds it by its name.
	now := headOf(r, content)
	if err := writeHead(s.dir, now); err != nil {
		return "", sum, err
	}
	return path, now.ReceiptSHA256, nil
}

func writeHead(dir string, h head) error {
	content, err := canon.Marshal(h)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, headName), 0o600, content)
}

// currentHead is the newest receipt of the chain in dir: what head.json says, and then what an interrupted Write left
// behind it. Without a head.json it is the valid receipt with the highest sequence.
func currentHead(dir string) (head, error) {
	names, _, err := list(dir)
	if err != nil {
		return head{}, err
	}
	h, err := readHead(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return highest(dir, names)
	}
	if err != nil {
		return head{}, err
	}
	for {
		next, found := continues(dir, names, h)
		if !found {
			return h, nil
		}
		h = next
	}
}

// readHead gives fs.ErrNotExist where there is none.
func readHead(dir string) (h head, err error) {
	path := filepath.Join(dir, headName)
	content, err := os.ReadFile(path)
	if err != nil {
		return head{}, err
	}
	if err := canon.Unmarshal(content, &h); err != nil || h.Schema != headSchema || h.Sequence < 1 || !namePattern.MatchString(h.Receipt) {
		return head{}, fault.New(fault.CodeReceiptMismatch, "%s isn't what edge wrote", path).
			WithHint("keep it as evidence under another name; the next receipt goes on from the newest one that is there")
	}
	return h, nil
}

// continues finds the receipt that comes after h. Only names with the right tag are opened.
func continues(dir string, names []string, h head) (head, bool) {
	tag := tagAfter(&h.ReceiptSHA256)
	for _, name := range names {
		if namePattern.FindStringSubmatch(name)[1] != tag {
			continue
		}
		content, r, err := read(filepath.Join(dir, name))
		if err == nil && r.Sequence == h.Sequence+1 && *r.PreviousSHA256 == h.ReceiptSHA256 && r.name() == name {
			return headOf(r, content), true
		}
	}
	return head{}, false
}

// highest is the end of the chain as the receipts alone show it; files that aren't valid are VerifyChain's to report.
func highest(dir string, names []string) (h head, err error) {
	for _, name := range slices.Backward(names) {
		content, r, err := read(filepath.Join(dir, name))
		if err == nil && r.name() == name && r.Sequence > h.Sequence {
			h = headOf(r, content)
		}
	}
	return h, nil
}
