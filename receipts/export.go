package receipts

import (
	"cmp"
	"io"
	"slices"

	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// Export writes the receipts at paths as in-toto statements, one to a line and in the order of the chain, and gives how
// many there are. With a key, each line is a DSSE envelope that is signed with it. One that is named twice is written
// once.
//
// Errors: receipt_not_found, receipt_mismatch; invalid_arguments where the receipts are of two chains; w's.
func Export(w io.Writer, paths []string, key *dsse.PrivateKey) (int, error) {
	type entry struct {
		content []byte
		*Receipt
	}
	var entries []entry
	for _, path := range paths {
		content, r, err := read(path)
		if err != nil {
			return 0, err
		}
		entries = append(entries, entry{content, r})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return string(a.content) == string(b.content) })
	for i, e := range entries {
		if i > 0 && e.Sequence == entries[i-1].Sequence {
			return 0, fault.New(fault.CodeInvalidArguments, "two receipts have the number %d: they are of two chains", e.Sequence).
				WithHint("export each folder's receipts on their own")
		}
		line, err := encodeStatement(e.Receipt, e.content)
		if err == nil && key != nil {
			line, err = dsse.Sign(*key, dsse.InToto, line)
		}
		if err != nil {
			return 0, err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// ExportCutTail says what no exported file can show.
const ExportCutTail = "a file can't show that receipts behind its last one were left out: compare the last receipt's digest " +
	"with the one that was printed when it was written"

// ExportOptions say how an exported file is checked.
type ExportOptions struct {
	// Trust, if not empty, wants a signature by one of these keys on every line.
	Trust []dsse.PublicKey
	// Part says that the file holds chosen receipts, so that others may be missing before and between them.
	Part bool
}

// ExportReport is what VerifyExport found.
type ExportReport struct {
	Path     string        `json:"path"`
	SHA256   digest.SHA256 `json:"sha256"`   // of the file
	Receipts int           `json:"receipts"` // valid ones
	First    int64         `json:"first_sequence"`
	Last     int64         `json:"last_sequence"`
	// LastSHA256 is the digest of the last receipt's own file.
	LastSHA256 digest.SHA256   `json:"last_receipt_sha256"`
	Signers    []digest.SHA256 `json:"signers_sha256"` // trusted keys that have signed
	Findings   []Finding       `json:"findings"`
	Limit      string          `json:"limit"` // ExportCutTail
}
