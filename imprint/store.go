package imprint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	fileSuffix = ".imprint"
	lockName   = ".lock"
)

// Store is a private folder of imprints, each in a thin file named by its id, <64 hex digits>.imprint, with its layers in
// LayerFolder. Any number of processes may use one at the same time, on a local disk: what changes the folder happens
// under a lock that the operating system takes back when its holder dies, and readers need none, because files appear
// whole and never change: a layer before the imprint that names it.
//
// A file's modification time is when it was last used (Touch). Nothing depends on it but the order of List and Prune.
type Store struct {
	dir string
}

// Entry is one imprint of a store.
type Entry struct {
	ID           ID        `json:"id"`
	Path         string    `json:"path"`
	Tokens       int       `json:"tokens"`
	PayloadBytes int64     `json:"payload_bytes"`
	Model        Model     `json:"model"`
	Tools        []string  `json:"tools"`
	LastUsed     time.Time `json:"last_used"`

	bytes  int64     // of the file itself
	layers []Section // in files of their own; none where the file is whole
}

// Damaged is a file of a store that isn't the imprint its name says. It stays where it is: it is evidence.
type Damaged struct {
	Path string
	Err  error
}

// Listing is what a store holds, most recently used first.
type Listing struct {
	Entries []Entry
	Damaged []Damaged
}

// NewStore gives the store in dir, making the folder (mode 0700) if it isn't there.
func NewStore(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(abs, 0o700)
	}
	if err == nil {
		err = makePrivate(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("imprint store: %w", err)
	}
	return &Store{dir: abs}, nil
}

// makePrivate closes a folder that others may look into: an imprint holds the user's own text.
func makePrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(id ID) string { return filepath.Join(s.dir, id.Hex()+fileSuffix) }

// Put publishes content under its id; if an intact imprint of that id is there, it stays. A damaged file in its place
// is renamed, never overwritten: evidence.
func (s *Store) Put(ctx context.Context, c Content) (Entry, error) {
	img, err := c.compose()
	if err != nil {
		return Entry{}, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if _, err := s.collect(false); err != nil {
		return Entry{}, err
	}
	switch present, err := s.makeRoom(ctx, img.id); {
	case err != nil:
		return Entry{}, err
	case present:
		return s.entry(img.id)
	}
	if err := s.putLayers(ctx, img.header, img.layer); err != nil {
		return Entry{}, err
	}
	if err := img.publish(ctx, s.path(img.id), s.dir); err != nil {
		return Entry{}, err
	}
	return s.entry(img.id)
}

func isRefusal(err error) bool {
	var r *Refusal
	return errors.As(err, &r)
}

// intact is nil if the file named by id is a whole imprint with that id.
func (s *Store) intact(ctx context.Context, id ID) error {
	u, err := s.openID(id)
	if err != nil {
		return err
	}
	defer u.Close()
	return u.CheckIntegrity(ctx)
}

// openID opens the file that is named by id and makes sure that it is that imprint.
func (s *Store) openID(id ID) (*Unverified, error) {
	u, err := s.openPath(s.path(id))
	if err != nil {
		return nil, err
	}
	if u.ID() != id {
		u.Close()
		return nil, refuse(u.path, u.trail, fault.New(fault.CodeImprintHeaderMalformed, "the file holds %s", u.ID()))
	}
	return u, nil
}

// openPath opens a file of the store or of elsewhere; the layers of a thin one may be beside it or here. A file that went
// together with its layers while it was opened isn't truncated but gone.
func (s *Store) openPath(path string) (*Unverified, error) {
	u, err := openFile(path, filepath.Dir(path), s.dir)
	if fault.Is(err, fault.CodeImprintTruncated) {
		if _, gone := openRegular(path); fault.Is(gone, fault.CodeImprintNotFound) {
			return nil, gone
		}
	}
	return u, err
}

func (s *Store) entry(id ID) (Entry, error) {
	u, err := s.openID(id)
	if err != nil {
		return Entry{}, err
	}
	defer u.Close()
	info, err := os.Stat(u.path)
	if err != nil {
		return Entry{}, fmt.Errorf("imprint store: %w", err)
	}
	h := u.header
	e := Entry{
		ID: id, Path: u.path, Tokens: h.Tokens, PayloadBytes: h.PayloadBytes(), Model: h.Identity.Model, Tools: h.Identity.toolNames(),
		LastUsed: info.ModTime(), bytes: info.Size(),
	}
	if e.bytes == u.body+h.headLength() {
		e.layers = h.LayerSections()
	}
	return e, nil
}

// setAside renames a damaged file so that its name is free and its bytes stay.
func setAside(path string) error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(path, aside); err != nil {
				return fmt.Errorf("imprint store: %w", err)
			}
			return atomicfile.SyncDir(filepath.Dir(path))
		}
	}
}

// List reads every header (steps 1 to 3), no payload. Errors are the folder's; a file that is no imprint is in Damaged.
func (s *Store) List() (Listing, error) {
	names, err := s.names()
	if err != nil {
		return Listing{}, err
	}
	list := Listing{Entries: []Entry{}, Damaged: []Damaged{}}
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		id, ok := idOfName(name)
		if !ok {
			list.Damaged = append(list.Damaged, Damaged{path, errors.New("set aside, or not named by an id")})
			continue
		}
		e, err := s.entry(id)
		switch {
		case err == nil:
			list.Entries = append(list.Entries, e)
		case fault.Is(err, fault.CodeImprintNotFound): // removed since the folder was read
		default:
			list.Damaged = append(list.Damaged, Damaged{path, err})
		}
	}
	slices.SortFunc(list.Entries, func(a, b Entry) int {
		if c := b.LastUsed.Compare(a.LastUsed); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list, nil
}

// names gives the folder's files but the hidden ones, which are the lock and files being written.
func (s *Store) names() ([]string, error) {
	dir, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("imprint store: %w", err)
	}
	var names []string
	for _, f := range dir {
		if !isHidden(f.Name()) && f.Name() != LayerFolder {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

func idOfName(name string) (ID, bool) {
	hex, ok := strings.CutSuffix(name, fileSuffix)
	if !ok {
		return ID{}, false
	}
	id, err := digest.ParseBLAKE3("blake3:" + hex)
	return id, err == nil
}

// Touch says that the imprint of that id was used at when. Where the store can't be written it changes nothing and
// says why; a chat goes on.
func (s *Store) Touch(id ID, when time.Time) error {
	if err := os.Chtimes(s.path(id), when, when); err != nil {
		return fmt.Errorf("imprint store: %w", err)
	}
	return nil
}

// Remove deletes the imprint that ref names, and the layers that no other one has. In the store that may be a damaged one
// too: whoever names it means it. A file elsewhere is deleted only if it is an imprint. A receipt that names it stays. It
// gives the path of what is gone. Errors as for Resolve and Open.
func (s *Store) Remove(ctx context.Context, ref string) (string, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := s.Resolve(ref)
	if err != nil {
		return "", err
	}
	if filepath.Dir(r.Path) != s.dir || isHidden(filepath.Base(r.Path)) {
		u, err := s.openPath(r.Path)
		if err != nil {
			return "", err
		}
		u.Close()
	}
	if err := os.Remove(r.Path); err != nil {
		return "", fmt.Errorf("imprint store: %w", err)
	}
	if err := atomicfile.SyncDir(filepath.Dir(r.Path)); err != nil {
		return r.Path, fmt.Errorf("imprint store: %w", err)
	}
	_, err = s.collect(false)
	return r.Path, err
}
