package receipts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// maxLine is the longest line of an exported file: the largest receipt, as many subjects, and base64 around both.
const maxLine = 4 * MaxSize

// IsExport reports whether the file at path begins as an exported one does. A receipt begins otherwise.
func IsExport(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head) // a shorter file is no export
	return bytes.HasPrefix(head[:n], []byte(`{"_type":`)) || bytes.HasPrefix(head[:n], []byte(`{"payload":`))
}

// VerifyExport checks a file that Export wrote: every statement against the receipt in it, the chain that the receipts
// form, and with keys to trust every signature. Where a receipt was changed, removed, reordered or inserted, or a
// signature is missing or wrong, the error is receipt_mismatch and the report comes with it. What can't be seen is in
// the report's words. A missing file is receipt_not_found.
func VerifyExport(path string, opts ExportOptions) (*ExportReport, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.CodeReceiptNotFound, "no exported receipts at %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read exported receipts: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fault.New(fault.CodeReceiptNotFound, "%s is a folder, not a file of exported receipts", path)
	}
	v := exportCheck{opts: opts, report: ExportReport{Path: path, Signers: []digest.SHA256{}, Limit: ExportCutTail}}
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(f, sum))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		v.number++
		v.line(lines.Bytes())
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		v.number++
		v.add("changed", Failed, "it is longer than any statement about a receipt")
	case err != nil:
		return nil, fmt.Errorf("read exported receipts: %w", err)
	case v.number == 0:
		v.add("changed", Failed, "the file is empty")
	}
	sum.Sum(v.report.SHA256[:0])
	v.number = 0
	if err := firstFailure("exported receipts in "+path, v.report.Findings); err != nil {
		return &v.report, err
	}
	v.conclude()
	return &v.report, nil
}

// exportCheck is the state of one check.
type exportCheck struct {
	opts     ExportOptions
	report   ExportReport
	number   int   // of the line, or 0 for the whole file
	position int64 // of the receipt that the last line stands for, known or not
	last     *link // that receipt, unless it couldn't be read
	unsigned int
}

func (v *exportCheck) add(check string, status Status, format string, args ...any) {
	where := ""
	if v.number > 0 {
		where = fmt.Sprintf("line %d", v.number)
	}
	v.report.Findings = append(v.report.Findings, Finding{Check: check, Status: status, Receipt: where, Message: fmt.Sprintf(format, args...)})
}

func (v *exportCheck) line(raw []byte) {
	payload, err := v.open(raw)
	if err != nil {
		v.add("signature", Failed, "%v", err)
		v.position, v.last = v.position+1, nil
		return
	}
	content, r, err := parseStatement(payload)
	if err != nil {
		v.add("changed", Failed, "%v", err)
		v.position, v.last = v.position+1, nil
		return
	}
	v.follow(link{sum: digest.SHA256Of(content), Receipt: r})
}

// open gives the statement in a line, which may be in an envelope.
func (v *exportCheck) open(raw []byte) ([]byte, error) {
	enveloped := bytes.HasPrefix(raw, []byte(`{"payload`))
	switch {
	case !enveloped && len(v.opts.Trust) > 0:
		return nil, errors.New("it isn't signed")
	case !enveloped:
		v.unsigned++
		return raw, nil
	}
	e, err := dsse.Parse(raw)
	if err != nil {
		return nil, err
	}
	if e.PayloadType != dsse.InToto {
		return nil, fmt.Errorf("its payload is of type %.80q, want %q", e.PayloadType, dsse.InToto)
	}
	if len(v.opts.Trust) == 0 {
		return e.Unchecked()
	}
	payload, key, err := e.Open(dsse.InToto, v.opts.Trust)
	if err == nil && !slices.Contains(v.report.Signers, key.ID()) {
		v.report.Signers = append(v.report.Signers, key.ID())
	}
	return payload, err
}

// follow holds a receipt against the one of the line before.
func (v *exportCheck) follow(l link) {
	switch before := v.last; {
	case l.Sequence <= v.position:
		v.add("reordered", Failed, "its receipt has the number %d, and stands where %d or a later one belongs", l.Sequence, v.position+1)
	case l.Sequence > v.position+1:
		if !v.opts.Part {
			v.add("removed", Failed, "its receipt has the number %d, and %s before it", l.Sequence, absent(v.position+1, l.Sequence-1))
		}
	case before != nil && *l.PreviousSHA256 != before.sum:
		v.add("changed", Failed, "its receipt continues one with digest %s, and the one before it has %s", l.PreviousSHA256, before.sum)
	}
	if v.report.Receipts == 0 {
		v.report.First = l.Sequence
	}
	v.report.Receipts++
	v.report.Last, v.report.LastSHA256 = l.Sequence, l.sum
	v.position, v.last = l.Sequence, &l
}

func absent(from, to int64) string {
	if from == to {
		return fmt.Sprintf("number %d isn't there", from)
	}
	return fmt.Sprintf("numbers %d to %d aren't there", from, to)
}

// conclude says what a file without a failure was found to be.
func (v *exportCheck) conclude() {
	n := v.report.Receipts
	v.add("statements", Passed, "%d statements, each with the digests of its receipt", n)
	switch missing := v.report.Last - int64(n); {
	case missing > 0:
		v.add("chain", Note, "%d receipts up to number %d aren't in the file: it is a part", missing, v.report.Last)
	default:
		v.add("chain", Passed, "%d receipts from the first on, each continuing the one before it", n)
	}
	switch {
	case len(v.opts.Trust) > 0:
		v.add("signature", Passed, "every statement is signed by a trusted key")
	case v.unsigned < n:
		v.add("signature", Note, "signatures weren't looked at: no key is trusted")
	default:
		v.add("signature", Note, "nothing is signed")
	}
}
