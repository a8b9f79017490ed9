package imprint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edge/internal/atomicfile"
)

// GarbageReport says what a collection took away (or would take), and what it didn't dare to.
type GarbageReport struct {
	// Removed are files that were half written when their writer died, and layers that no imprint has.
	Removed    []string `json:"removed"`
	FreedBytes int64    `json:"freed_bytes"`
	// Undecided are layers that no readable imprint has, while there are files that can't be read: they may be theirs.
	Undecided []string `json:"undecided"`
}

// Collect removes what no imprint needs. It never removes an imprint, or a file for being damaged.
func (s *Store) Collect(ctx context.Context, dryRun bool) (GarbageReport, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return GarbageReport{}, err
	}
	defer unlock()
	return s.collect(dryRun)
}

// collect is Collect for a caller that holds the lock: nobody else is writing here.
func (s *Store) collect(dryRun bool) (GarbageReport, error) {
	report := GarbageReport{Removed: []string{}, Undecided: []string{}}
	files, err := s.orphans()
	if err != nil {
		return report, err
	}
	needed, all, err := s.neededLayers()
	if err != nil {
		return report, err
	}
	layers, err := filepath.Glob(filepath.Join(s.dir, LayerFolder, "*"+layerSuffix))
	if err != nil {
		return report, err
	}
	for _, path := range layers {
		switch {
		case needed[filepath.Base(path)]:
		case all:
			files = append(files, path)
		default:
			report.Undecided = append(report.Undecided, path)
		}
	}
	for _, path := range files {
		info, err := os.Lstat(path)
		if err == nil && !dryRun {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return report, fmt.Errorf("imprint store: %w", err)
		}
		report.Removed = append(report.Removed, path)
		report.FreedBytes += info.Size()
	}
	if dryRun || len(report.Removed) == 0 {
		return report, nil
	}
	return report, errors.Join(atomicfile.SyncDir(s.dir), syncIfThere(filepath.Join(s.dir, LayerFolder)))
}

func syncIfThere(dir string) error {
	err := atomicfile.SyncDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// neededLayers gives the names of the layers that the store's files name, damaged ones too; all is false where a file
// can't be read that far.
func (s *Store) neededLayers() (needed map[string]bool, all bool, err error) {
	names, err := s.names()
	if err != nil {
		return nil, false, err
	}
	needed, all = map[string]bool{}, true
	for _, name := range names {
		h, err := readHeader(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			all = false
			continue
		}
		for _, section := range h.states() {
			needed[filepath.Base(layerPath(s.dir, section))] = true
		}
	}
	return needed, all, nil
}

// readHeader reads no more of a file than its header.
func readHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	u := &Unverified{src: f, path: path}
	_, _, err = u.parseHead(info.Size())
	return u.header, err
}

// orphans are files that a killed Put left half written.
func (s *Store) orphans() ([]string, error) {
	var found []string
	for dir, suffix := range map[string]string{s.dir: fileSuffix, filepath.Join(s.dir, LayerFolder): layerSuffix} {
		left, err := filepath.Glob(filepath.Join(dir, ".*"+suffix+".*.tmp"))
		if err != nil {
			return nil, err
		}
		for _, path := range left {
			hex, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), "."), suffix)
			if _, ok := idOfName(hex + fileSuffix); ok {
				found = append(found, path)
			}
		}
	}
	return found, nil
}
