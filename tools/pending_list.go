package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"edge/internal/atomicfile"
)

// PendingState is what can still happen to an action.
type PendingState string

const (
	// Waiting actions can be confirmed.
	Waiting PendingState = "waiting"
	// Expired actions can't any more.
	Expired PendingState = "expired"
	// Claimed actions were confirmed and have recorded no end: they run now, or were cut off.
	Claimed PendingState = "claimed"
	// Finished actions ran.
	Finished PendingState = "finished"
	// Malformed files can't be read.
	Malformed PendingState = "malformed"
)

// PendingInfo is one line of a list. Nothing in it was checked by a token.
type PendingInfo struct {
	ID         string       `json:"id"`
	Path       string       `json:"path"`
	State      PendingState `json:"state"`
	ToolName   string       `json:"tool_name"`
	CreatedAt  time.Time    `json:"created_at,omitzero"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero"`
	ClaimedAt  time.Time    `json:"claimed_at,omitzero"`
	FinishedAt time.Time    `json:"finished_at,omitzero"`
}

// List tells about every action of the store, by id.
func (s *PendingStore) List() ([]PendingInfo, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("pending actions: %w", err)
	}
	var list []PendingInfo
	for _, entry := range entries {
		if id, ok := strings.CutSuffix(entry.Name(), ".json"); ok {
			info, err := s.info(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue // pruned meanwhile
			} else if err != nil {
				return nil, fmt.Errorf("pending actions: %w", err)
			}
			list = append(list, info)
		}
	}
	return list, nil
}

func (s *PendingStore) info(id string) (PendingInfo, error) {
	info := PendingInfo{ID: id, Path: s.file(id, ".json"), State: Waiting}
	text, err := os.ReadFile(info.Path)
	if err != nil {
		return info, err
	}
	var r record
	if r.read(text) != nil || r.ID != id {
		stat, err := os.Stat(info.Path)
		if err != nil {
			return info, err
		}
		info.State, info.CreatedAt, info.ExpiresAt = Malformed, stat.ModTime().UTC(), stat.ModTime().UTC().Add(PendingLifetime)
	} else {
		info.ToolName, info.CreatedAt, info.ExpiresAt = r.ToolName, r.CreatedAt, r.ExpiresAt
		if s.unexpired(r) != nil {
			info.State = Expired
		}
	}
	claim, err := os.Lstat(s.file(id, ".claim"))
	if errors.Is(err, fs.ErrNotExist) {
		return info, nil
	} else if err != nil {
		return info, err
	}
	info.State, info.ClaimedAt = Claimed, claim.ModTime().UTC()
	if end, err := s.ending(id); err == nil {
		info.State, info.FinishedAt = Finished, end.FinishedAt
	}
	return info, nil
}

// Pruned says what Prune did.
type Pruned struct {
	// Removed are the actions that are gone, with their arguments.
	Removed []PendingInfo
	// Cutoff are actions that were confirmed, have expired and never recorded an end. They stay, since they may be the
	// only trace of an effect, unless Prune was told to remove them too.
	Cutoff []PendingInfo
}

// Prune removes what can't be confirmed any more: expired, finished and unreadable actions, each once it is older than
// its expiry, and leftovers of processes that died. Actions cut off after their claim are reported, and removed only
// with cutoffToo. A file goes before its claim, so that no action can ever be claimed a second time.
func (s *PendingStore) Prune(cutoffToo bool) (Pruned, error) {
	var p Pruned
	list, err := s.List()
	if err != nil {
		return p, err
	}
	now := s.clock()
	for _, info := range list {
		if info.State == Waiting || now.Before(info.ExpiresAt) {
			continue
		}
		if info.State == Claimed && !cutoffToo {
			p.Cutoff = append(p.Cutoff, info)
			continue
		}
		if err := remove(info.Path); err != nil {
			return p, fmt.Errorf("prune: %w", err)
		}
		p.Removed = append(p.Removed, info)
	}
	if err := atomicfile.SyncDir(s.dir); err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	return p, s.pruneLeftovers(now)
}

// pruneLeftovers removes claims and endings whose action is gone, and temporary files, once nobody can be at work on
// them. An action that was removed just now keeps its claim until a later Prune finds it old enough.
func (s *PendingStore) pruneLeftovers(now time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		id, suffix, _ := strings.Cut(name, ".")
		switch {
		case suffix == "claim" || suffix == "done":
			if _, err := os.Lstat(s.file(id, ".json")); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
		case !strings.HasSuffix(name, ".tmp"):
			continue
		}
		stat, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && now.Before(stat.ModTime().Add(PendingLifetime)) {
			continue
		} else if err != nil {
			return fmt.Errorf("prune: %w", err)
		}
		if err := remove(s.file(name, "")); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
