package evolve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/fault"
	"edge/internal/home"
)

// maxRecordBytes bounds a record's file.
const maxRecordBytes = 1 << 20

// Library keeps tools as NAME.json in one folder. Several processes may use it at once: whatever writes holds its lock,
// and a file is whole or not there.
type Library struct {
	dir    string
	notify func(string) // hears of damaged records; may be nil
}

// NewLibrary opens the library in dir, which is made with mode 0700 where it is missing.
func NewLibrary(dir string, notify func(string)) (*Library, error) {
	if err := home.Ensure(dir); err != nil {
		return nil, err
	}
	return &Library{dir: dir, notify: notify}, nil
}

// Dir is the library's folder.
func (l *Library) Dir() string { return l.dir }

func (l *Library) path(name string) string { return filepath.Join(l.dir, name+".json") }

// List gives the tools sorted by name. A damaged record is set aside as NAME.json.damaged-N, named, and left out.
func (l *Library) List() ([]Record, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		r, err := l.read(name)
		if err != nil {
			l.setAside(entry.Name(), err)
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Record) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Get gives a tool by its exact name.
func (l *Library) Get(name string) (Record, bool) {
	if checkName(name) != nil {
		return Record{}, false
	}
	r, err := l.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.setAside(name+".json", err)
	}
	return r, err == nil
}

// Find is Get for a user, who is told what there is.
func (l *Library) Find(name string) (Record, error) {
	if r, ok := l.Get(name); ok {
		return r, nil
	}
	list, err := l.List()
	if err != nil {
		return Record{}, err
	}
	names := []string{}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return Record{}, fault.New(fault.CodeEvolvedToolNotFound, "the library has no tool %q; it has %d: %s", clip(name, 60), len(names), strings.Join(names, ", "))
}

func (l *Library) read(name string) (r Record, err error) {
	info, err := os.Stat(l.path(name)) // before it is opened: a pipe would wait for a writer
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecordBytes {
		return r, fmt.Errorf("it isn't a file of at most %d bytes", maxRecordBytes)
	}
	f, err := os.Open(l.path(name))
	if err != nil {
		return r, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRecordBytes+1))
	if err != nil {
		return r, err
	}
	return parseRecord(raw, name)
}

func parseRecord(raw []byte, name string) (r Record, err error) {
	if err := canon.Unmarshal(raw, &r); err != nil {
		return r, err
	}
	// Indented for people's sake, canonical for the digests' and for comparing.
	compact := []*json.RawMessage{&r.Parameters}
	for i := range r.Tests {
		compact = append(compact, &r.Tests[i].Arguments)
	}
	for i := range r.Examples {
		compact = append(compact, &r.Examples[i].Arguments)
	}
	for _, raw := range compact {
		if *raw, err = canon.Transform(*raw); err != nil {
			return r, err
		}
	}
	if r.Name != name {
		return r, fmt.Errorf("its name is %q, and its file's %q", clip(r.Name, 60), clip(name, 60))
	}
	return r, r.check()
}

// setAside keeps what can't be used as evidence, under a name that nothing reads.
func (l *Library) setAside(file string, why error) {
	for n := 1; n < 1000; n++ {
		to := filepath.Join(l.dir, fmt.Sprintf("%s.damaged-%d", file, n))
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Rename(filepath.Join(l.dir, file), to); err == nil && l.notify != nil {
			l.notify(fmt.Sprintf("the library's %s is damaged (%s); it was set aside as %s", file, why, filepath.Base(to)))
		}
		return
	}
}

// locked runs do while no other process writes to the library.
func (l *Library) locked(ctx context.Context, do func() error) error {
	lock := flock.New(filepath.Join(l.dir, ".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("library lock: %w", err)
	}
	return errors.Join(do(), lock.Unlock())
}

// write keeps a record. The lock is held.
func (l *Library) write(r Record) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("record %s: %w", r.Name, err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	return atomicfile.WriteBytes(l.path(r.Name), 0o600, b.Bytes())
}

// Remove takes a tool out of the library.
func (l *Library) Remove(ctx context.Context, name string) error {
	if _, err := l.Find(name); err != nil {
		return err
	}
	return l.locked(ctx, func() error { return errors.Join(os.Remove(l.path(name)), atomicfile.SyncDir(l.dir)) })
}

// Clear takes all tools out and gives their number. What was set aside stays.
func (l *Library) Clear(ctx context.Context) (n int, err error) {
	return n, l.locked(ctx, func() error {
		list, err := l.List()
		if err != nil {
			return err
		}
		for _, r := range list {
			if err := os.Remove(l.path(r.Name)); err != nil {
				return err
			}
			n++
		}
		return atomicfile.SyncDir(l.dir)
	})
}

// change reads a record, changes it and writes it, with the lock held. A tool that is gone or became another one
// (another source) is left alone.
func (l *Library) change(ctx context.Context, of Record, do func(*Record)) error {
	return l.locked(ctx, func() error {
		now, ok := l.Get(of.Name)
		if !ok || now.SourceSHA256 != of.SourceSHA256 {
			return nil
		}
		do(&now)
		return l.write(now)
	})
}
