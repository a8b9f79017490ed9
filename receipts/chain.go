package receipts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"edge/internal/digest"
	"edge/internal/fault"
)

// CutTail says what no chain can show.
const CutTail = "a chain can't show that its newest receipts were cut off, where head.json was removed or set back with " +
	"them: compare the newest receipt's digest with the one that was printed when it was written"

// ChainReport is what VerifyChain found.
type ChainReport struct {
	Dir      string `json:"dir"`
	Receipts int    `json:"receipts"` // valid ones
	// Last and LastSHA256 are the newest receipt's sequence and the digest of its bytes.
	Last       int64         `json:"last_sequence"`
	LastSHA256 digest.SHA256 `json:"last_receipt_sha256"`
	Findings   []Finding     `json:"findings"`
	Limit      string        `json:"limit"` // CutTail
	Paths      []string      `json:"-"`     // of the valid receipts, in the order of the chain
}

type link struct {
	name string
	sum  digest.SHA256
	*Receipt
}

// VerifyChain checks every receipt in dir and the chain that they form. Where one was changed, removed, renamed,
// reordered or inserted, the error is receipt_mismatch and the report comes with it. The one thing that can't be seen is
// in the report's words. A missing folder is receipt_not_found; an empty one is a chain of none.
func VerifyChain(dir string) (*ChainReport, error) {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fault.New(fault.CodeReceiptNotFound, "no folder of receipts at %s", dir)
	}
	unlock, err := readLock(dir)
	if err != nil {
		return nil, fmt.Errorf("receipts lock: %w", err)
	}
	defer unlock()
	names, others, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("read receipts: %w", err)
	}
	c := chain{report: ChainReport{Dir: dir, Limit: CutTail}, unreadable: map[string]string{}}
	c.load(names)
	for _, name := range others {
		if filepath.Ext(name) == ".json" {
			c.add("inserted", Failed, name, "no receipt has such a name")
		} else {
			c.add("inserted", Note, name, "this isn't a receipt")
		}
	}
	c.checkLinks()
	c.checkHead()
	if mode, ok := openToOthers(dir); ok {
		c.add("mode", Note, "", "the folder's mode is %v: others can look into it", mode)
	}
	if err := firstFailure("receipts in "+dir, c.report.Findings); err != nil {
		return &c.report, err
	}
	c.add("chain", Passed, "", "%d receipts, each continuing the one before it", c.report.Receipts)
	return &c.report, nil
}

// readLock keeps writers out, where there is a lock file: a folder that can't be written to has no writers.
func readLock(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, lockName)
	if _, err := os.Stat(path); err != nil {
		return func() error { return nil }, nil
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	return lock.Unlock, lock.RLock()
}

type chain struct {
	report     ChainReport
	links      []link            // valid receipts by sequence
	unreadable map[string]string // names of files that aren't valid receipts, with the tag of what each continued
}

func (c *chain) add(check string, status Status, receipt, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Check: check, Status: status, Receipt: receipt, Message: fmt.Sprintf(format, args...)})
}

func (c *chain) load(names []string) {
	for _, name := range names {
		content, r, err := read(filepath.Join(c.report.Dir, name))
		if err != nil {
			c.add("changed", Failed, name, "%v", err)
			c.unreadable[name] = namePattern.FindStringSubmatch(name)[1]
			continue
		}
		if r.name() != name {
			c.add("renamed", Failed, name, "it was written as %s", r.name())
		}
		c.links = append(c.links, link{name: name, sum: digest.SHA256Of(content), Receipt: r})
	}
	slices.SortFunc(c.links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.name, b.name))
	})
	c.report.Receipts = len(c.links)
	for _, l := range c.links {
		c.report.Paths = append(c.report.Paths, filepath.Join(c.report.Dir, l.name))
	}
	if n := len(c.links); n > 0 {
		c.report.Last, c.report.LastSHA256 = c.links[n-1].Sequence, c.links[n-1].sum
	}
}

func (c *chain) checkLinks() {
	var before []link // all with the last sequence seen: more than one only where something was inserted
	last := int64(0)
	for _, l := range c.links {
		switch {
		case l.Sequence == last:
			c.add("inserted", Failed, l.name, "its sequence is %d, as that of %s", l.Sequence, before[0].name)
		case l.Sequence > last+1:
			c.missing(last+1, l.Sequence-1, before)
			before = nil
		case last > 0 && !slices.ContainsFunc(before, func(b link) bool { return *l.PreviousSHA256 == b.sum }):
			c.add("changed", Failed, l.name, "it continues a receipt with digest %s, and %s has %s", *l.PreviousSHA256, before[0].name, before[0].sum)
		}
		if l.Sequence != last {
			before, last = nil, l.Sequence
		}
		before = append(before, l)
	}
}

// missing reports a gap, unless one receipt is missing and it is there, changed: its name says what it continued.
func (c *chain) missing(from, to int64, before []link) {
	tag := firstTag
	if len(before) > 0 {
		tag = tagAfter(&before[0].sum)
	}
	if from == to && slices.Contains(slices.Collect(maps.Values(c.unreadable)), tag) {
		return
	}
	if from == to {
		c.add("removed", Failed, "", "the receipt with sequence %d isn't there", from)
		return
	}
	c.add("removed", Failed, "", "the receipts with sequences %d to %d aren't there", from, to)
}

func (c *chain) checkHead() {
	h, err := readHead(c.report.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.report.Receipts == 0:
		return
	case errors.Is(err, fs.ErrNotExist):
		c.add("head", Note, headName, "it isn't there, so nothing says which receipt was the newest")
		return
	case err != nil:
		c.add("changed", Failed, headName, "%v", err)
		return
	}
	switch at := slices.IndexFunc(c.links, func(l link) bool { return l.sum == h.ReceiptSHA256 }); {
	case c.unreadable[h.Receipt] != "": // reported as changed
	case at < 0 && c.report.Last >= h.Sequence || at >= 0 && c.links[at].Sequence != h.Sequence:
		c.add("changed", Failed, h.Receipt, "head.json has the digest %s for sequence %d, and no such receipt is there", h.ReceiptSHA256, h.Sequence)
	case at < 0:
		c.add("removed", Failed, h.Receipt, "head.json names it as the newest, with sequence %d, and it isn't there", h.Sequence)
	case c.report.Last == h.Sequence+1:
		c.add("head", Note, headName, "it is one receipt behind: a writer was interrupted, and the next one goes on from the newest")
	case c.report.Last > h.Sequence:
		c.add("changed", Failed, headName, "it is %d receipts behind: it was set back", c.report.Last-h.Sequence)
	}
}
