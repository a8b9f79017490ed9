package imprint

import (
	"context"
	"fmt"
	"os"
	"time"

	"edge/internal/atomicfile"
)

// PruneOptions say what has to go. A bound that is zero doesn't bound.
type PruneOptions struct {
	// MaxBytes is how much the intact imprints may take up on the disk together; a layer that several have counts once.
	MaxBytes int64
	// OlderThan removes what wasn't used for that long before Now.
	OlderThan time.Duration
	Now       time.Time
	// DryRun says what would go, and removes nothing.
	DryRun bool
}

// PruneReport says what went (or would go), least recently used first, and what is left.
type PruneReport struct {
	Removed    []Entry   `json:"removed"`
	Kept       []Entry   `json:"kept"`
	FreedBytes int64     `json:"freed_bytes"`
	KeptBytes  int64     `json:"kept_bytes"`
	Damaged    []Damaged `json:"-"`
}

// Prune removes the least recently used imprints until the bounds hold. It never removes the most recently used one,
// so never everything, and no damaged file: those are reported, don't count, and are the user's to remove by name.
func (s *Store) Prune(ctx context.Context, opt PruneOptions) (PruneReport, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return PruneReport{}, err
	}
	defer unlock()
	list, err := s.List()
	if err != nil {
		return PruneReport{}, err
	}
	report := PruneReport{Removed: []Entry{}, Kept: list.Entries, Damaged: list.Damaged}
	before := diskBytes(list.Entries)
	report.KeptBytes = before
	for len(report.Kept) > 1 {
		oldest := report.Kept[len(report.Kept)-1]
		tooMuch := opt.MaxBytes > 0 && report.KeptBytes > opt.MaxBytes
		tooOld := opt.OlderThan > 0 && oldest.LastUsed.Before(opt.Now.Add(-opt.OlderThan))
		if !tooMuch && !tooOld {
			break
		}
		if !opt.DryRun {
			if err := os.Remove(oldest.Path); err != nil {
				return report, fmt.Errorf("imprint store: %w", err)
			}
		}
		report.Kept = report.Kept[:len(report.Kept)-1]
		report.KeptBytes = diskBytes(report.Kept)
		report.FreedBytes = before - report.KeptBytes
		report.Removed = append(report.Removed, oldest)
	}
	if opt.DryRun {
		return report, nil
	}
	if err := atomicfile.SyncDir(s.dir); err != nil {
		return report, fmt.Errorf("imprint store: %w", err)
	}
	_, err = s.collect(false)
	return report, err
}

// diskBytes is what the entries take up together.
func diskBytes(entries []Entry) int64 {
	total, seen := int64(0), map[string]bool{}
	for _, e := range entries {
		total += e.bytes
		for _, l := range e.layers {
			if name := l.BLAKE3.Hex(); !seen[name] {
				seen[name] = true
				total += l.Length
			}
		}
	}
	return total
}
