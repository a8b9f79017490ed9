package receipts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"edge/internal/digest"
	"edge/internal/fault"
)

// Status is the outcome of one check.
type Status string

// A Note is worth knowing and proves nothing: a check that can't be made here, or a file mode.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	Note   Status = "note"
)

// Finding is one check and its outcome.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Receipt string `json:"receipt,omitempty"` // a file's name, in findings about a chain
	Message string `json:"message"`
}

// Options are what a caller knows beyond the receipt itself; the zero value knows nothing.
type Options struct {
	// Want is the digest that was given when the receipt was written.
	Want digest.SHA256
	// Check looks at what the body names: artifacts, tools files, models. It is called for a receipt whose own bytes are
	// right.
	Check func(*Receipt) []Finding
}

// Report is what Verify found.
type Report struct {
	Path     string        `json:"path"`
	SHA256   digest.SHA256 `json:"receipt_sha256"`
	Receipt  *Receipt      `json:"receipt"`
	Findings []Finding     `json:"findings"`
}

// Verify checks the receipt at path on its own: its bytes, its digests, what head.json says of it, and what the options
// add. Where a check fails, the error is receipt_mismatch and the report comes with it; a missing file is
// receipt_not_found, without a report. Whether other receipts of its folder were removed is VerifyChain's question.
func Verify(path string, opts Options) (*Report, error) {
	content, r, err := read(path)
	if fault.Is(err, fault.CodeReceiptMismatch) {
		return &Report{Path: path, Findings: []Finding{{Check: "bytes", Status: Failed, Message: err.Error()}}}, err
	}
	if err != nil {
		return nil, err
	}
	report := &Report{Path: path, SHA256: digest.SHA256Of(content), Receipt: r}
	add := func(check string, status Status, format string, args ...any) {
		report.Findings = append(report.Findings, Finding{Check: check, Status: status, Message: fmt.Sprintf(format, args...)})
	}
	add("bytes", Passed, "the bytes are canonical, and every digest in the receipt is right")
	if !opts.Want.IsZero() {
		if opts.Want == report.SHA256 {
			add("digest", Passed, "the receipt is the one that was printed")
		} else {
			add("digest", Failed, "got %s, want %s", report.SHA256, opts.Want)
		}
	}
	if filepath.Base(path) != r.name() {
		add("name", Note, "the file was written as %s", r.name())
	}
	if h, err := readHead(filepath.Dir(path)); err == nil && h.Receipt == filepath.Base(path) {
		if h.ReceiptSHA256 == report.SHA256 {
			add("head", Passed, "it is the newest receipt of its folder")
		} else {
			add("head", Failed, "head.json has another digest for it: got %s, want %s", report.SHA256, h.ReceiptSHA256)
		}
	}
	if mode, ok := openToOthers(path); ok {
		add("mode", Note, "its mode is %v: others can read it", mode)
	}
	if opts.Check != nil {
		report.Findings = append(report.Findings, opts.Check(r)...)
	}
	return report, firstFailure("receipt "+path, report.Findings)
}

// openToOthers reports whether somebody but the owner has rights on path. Windows keeps rights elsewhere.
func openToOthers(path string) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o077 != 0
}

// firstFailure is nil where every finding passed or is a note.
func firstFailure(subject string, findings []Finding) error {
	var first *Finding
	failures := 0
	for i := range findings {
		if findings[i].Status == Failed {
			if first == nil {
				first = &findings[i]
			}
			failures++
		}
	}
	if first == nil {
		return nil
	}
	about := first.Check
	if first.Receipt != "" {
		about = first.Receipt + ": " + about
	}
	more := ""
	if failures > 1 {
		more = fmt.Sprintf(" (and %d more)", failures-1)
	}
	return fault.New(fault.CodeReceiptMismatch, "%s: %s: %s%s", subject, about, first.Message, more)
}
