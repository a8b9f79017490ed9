package imprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	// MinPrefix is how many hex digits of an id a prefix needs at least.
	MinPrefix = 4
	// maxReceipt bounds what is read of a file that may be a receipt.
	maxReceipt = 1 << 20
	idTag      = "blake3:"
)

// Ref is what a reference names: a file, and the id that it must have if the reference said so.
type Ref struct {
	Path string
	ID   ID // zero where the reference was a path
}

// Resolve finds what ref names: an id ("blake3:…"), a prefix of one (at least MinPrefix hex digits, with or without
// the tag), a path of an imprint, or a path of a learning receipt. A bare word of hex digits is looked up in the store
// before it is taken for a path; write ./cafe for a file of that name.
//
// A receipt is a JSON object with artifact_path and artifact_id, at the top or inside "body". The artifact is the file
// at that path (relative paths start at the receipt's folder), or, when that is gone, the store's.
//
// Errors: imprint_not_found, naming the candidates where a prefix has several; receipt_mismatch where a receipt's file
// has another id; or a *Refusal where it is no imprint.
func (s *Store) Resolve(ref string) (Ref, error) {
	hex, tagged := strings.CutPrefix(ref, idTag)
	if tagged || len(hex) >= MinPrefix && isHex(hex) {
		r, err := s.byPrefix(hex)
		if err == nil || tagged || !noCandidate(err) {
			return r, err
		}
	}
	path, err := filepath.Abs(ref)
	if err != nil {
		return Ref{}, fmt.Errorf("imprint: %w", err)
	}
	if ref == "" {
		return Ref{}, fault.New(fault.CodeImprintNotFound, "an empty reference names no imprint")
	}
	f, err := openRegular(path)
	if err != nil {
		return Ref{}, err
	}
	defer f.Close()
	switch receipt, ok, err := readReceipt(f); {
	case err != nil:
		return Ref{}, fmt.Errorf("imprint: %w", err)
	case ok:
		return s.byReceipt(path, receipt)
	}
	if id, ok := idOfName(filepath.Base(path)); ok && filepath.Dir(path) == s.dir {
		return Ref{path, id}, nil
	}
	return Ref{Path: path}, nil
}

// Open resolves ref and opens it, and makes sure that it has the id that ref named. Errors as for Resolve and Open.
func (s *Store) Open(ref string) (*Unverified, error) {
	r, err := s.Resolve(ref)
	if err != nil {
		return nil, err
	}
	u, err := s.openPath(r.Path)
	if err != nil {
		return nil, err
	}
	if !r.ID.IsZero() && u.ID() != r.ID {
		u.Close()
		return nil, refuse(u.path, u.trail, fault.New(fault.CodeImprintHeaderMalformed, "got %s, want %s", u.ID(), r.ID))
	}
	return u, nil
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// noCandidateError marks the one failure after which a bare word may still be a path.
type noCandidateError struct{ error }

func (e noCandidateError) Unwrap() error { return e.error }

func noCandidate(err error) bool {
	var none noCandidateError
	return errors.As(err, &none)
}

func (s *Store) byPrefix(prefix string) (Ref, error) {
	if len(prefix) < MinPrefix || len(prefix) > 2*len(ID{}) || !isHex(prefix) {
		return Ref{}, fault.New(fault.CodeImprintNotFound, "%q isn't an id or a prefix of one: %d to %d lower-case hex digits", prefix, MinPrefix, 2*len(ID{}))
	}
	names, err := s.names()
	if err != nil {
		return Ref{}, err
	}
	var found []ID
	for _, name := range names {
		if id, ok := idOfName(name); ok && strings.HasPrefix(name, prefix) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return Ref{}, noCandidateError{fault.New(fault.CodeImprintNotFound, "no imprint whose id begins with %s in %s", prefix, s.dir)}
	case 1:
		return Ref{s.path(found[0]), found[0]}, nil
	}
	return Ref{}, fault.New(fault.CodeImprintNotFound, "%s is the beginning of %d ids: %v", prefix, len(found), found).
		WithHint("give more digits of the id")
}

// receiptRef is what a receipt says about an artifact.
type receiptRef struct {
	Path string  `json:"artifact_path"`
	ID   *string `json:"artifact_id"`
}

// readReceipt reads f as a receipt; ok is false where it isn't JSON, and is then an imprint or nothing.
func readReceipt(f *os.File) (r receiptRef, ok bool, err error) {
	first := make([]byte, 1)
	if n, err := f.Read(first); n == 0 || first[0] != '{' {
		if err == io.EOF {
			err = nil
		}
		return receiptRef{}, false, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxReceipt))
	if err != nil {
		return receiptRef{}, false, err
	}
	var doc struct {
		receiptRef
		Body receiptRef `json:"body"`
	}
	if json.Unmarshal(append(first, raw...), &doc) != nil {
		return receiptRef{}, false, nil
	}
	for _, r := range []receiptRef{doc.receiptRef, doc.Body} {
		if r.ID != nil {
			return r, true, nil
		}
	}
	return receiptRef{}, false, fault.New(fault.CodeImprintNotFound, "%s is a JSON file that names no artifact_id", f.Name())
}

func (s *Store) byReceipt(receiptPath string, r receiptRef) (Ref, error) {
	id, err := digest.ParseBLAKE3(*r.ID)
	if err != nil {
		return Ref{}, fault.New(fault.CodeReceiptMismatch, "%s: artifact_id: %w", receiptPath, err)
	}
	path := r.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(receiptPath), path)
	}
	if info, err := os.Stat(path); r.Path == "" || errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		path = s.path(id)
	}
	u, err := s.openPath(path)
	if err != nil {
		return Ref{}, err
	}
	defer u.Close()
	if u.ID() != id {
		return Ref{}, fault.New(fault.CodeReceiptMismatch, "%s names %s, but %s is %s", receiptPath, id, path, u.ID())
	}
	return Ref{path, id}, nil
}
