package imprint

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"edge/internal/atomicfile"
	"edge/internal/ctxio"
	"edge/internal/digest"
	"edge/internal/fault"
)

// partialName is the store's folder for files that aren't whole yet. Its name is hidden, so nothing in it is listed.
const partialName = ".partial"

// ParseHeader reads a header that came without its file, as the gate's step 2 does, and says which artifact it is the
// header of and how long that artifact's file is. Errors: imprint_header_malformed.
func ParseHeader(raw []byte) (h Header, id ID, fileSize int64, err error) {
	if len(raw) < 1 || len(raw) > MaxHeader {
		return Header{}, ID{}, 0, fault.New(fault.CodeImprintHeaderMalformed, "header length: got %d, want 1 to %d", len(raw), MaxHeader)
	}
	if h, err = parseHeader(raw); err != nil {
		return Header{}, ID{}, 0, fault.New(fault.CodeImprintHeaderMalformed, "header: %w", err)
	}
	return h, digest.BLAKE3Of(raw), align(int64(preludeSize)+int64(len(raw))) + h.bodyLength(), nil
}

// Partial gives the folder where files of the store gather that aren't whole yet, making it if it isn't there. It lies
// on the store's own disk, so that Adopt can rename out of it.
func (s *Store) Partial() (string, error) {
	dir := filepath.Join(s.dir, partialName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("imprint store: %w", err)
	}
	return dir, nil
}

// Lookup gives the store's imprint of that id, after every digest of it was checked. Errors: imprint_not_found; a
// *Refusal where the file isn't intact; ctx's.
func (s *Store) Lookup(ctx context.Context, id ID) (Entry, error) {
	if err := s.intact(ctx, id); err != nil {
		return Entry{}, err
	}
	return s.entry(id)
}

// Adopt makes the file at path, which came from elsewhere, the store's imprint of that id: it takes its layers out into
// files of their own, and the file goes. It must be a whole imprint with that id, which is checked as by Open and
// CheckIntegrity; if an intact imprint of that id is in the store, that one stays. name stands for the file in messages.
//
// Errors: a *Refusal, after which the file is still at path; the operating system's; ctx's.
func (s *Store) Adopt(ctx context.Context, path, name string, id ID) (Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return Entry{}, fmt.Errorf("imprint store: %w", err)
	}
	defer f.Close()
	u, err := examineFile(ctx, f, name, id)
	if err != nil {
		return Entry{}, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	present, err := s.makeRoom(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	if !present {
		if err := s.takeOver(ctx, u); err != nil {
			return Entry{}, err
		}
	}
	f.Close()
	if err := os.Remove(path); err != nil {
		return Entry{}, fmt.Errorf("imprint store: %w", err)
	}
	return s.entry(id)
}

// takeOver copies layers and head out of a whole file; both are verified as they are written. The caller holds the lock.
func (s *Store) takeOver(ctx context.Context, u *Unverified) error {
	sections := u.header.states()
	err := s.putLayers(ctx, u.header, func(i int) io.Reader {
		return io.NewSectionReader(u.src, u.body+sections[i].Offset, sections[i].Length)
	})
	if err != nil {
		return err
	}
	size := u.body + u.header.headLength()
	return atomicfile.Write(s.path(u.id), 0o600, func(w io.Writer) error {
		if _, err := io.Copy(w, ctxio.Reader(ctx, io.NewSectionReader(u.src, 0, size))); err != nil {
			return err
		}
		return checkWritten(ctx, w, size, u.id, s.dir)
	})
}

// examineFile makes sure that the file is the whole imprint of that id.
func examineFile(ctx context.Context, f *os.File, name string, id ID) (*Unverified, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("imprint store: %w", err)
	}
	u, err := openReader(f, info.Size(), name)
	if err != nil {
		return nil, err
	}
	if u.id != id {
		return nil, refuse(name, u.trail, fault.New(fault.CodeImprintHeaderMalformed, "got %s, want %s", u.id, id))
	}
	return u, u.CheckIntegrity(ctx)
}

// makeRoom reports whether an intact imprint of that id is there. A damaged file in its place is renamed: evidence. The
// caller holds the lock.
func (s *Store) makeRoom(ctx context.Context, id ID) (present bool, err error) {
	switch err := s.intact(ctx, id); {
	case err == nil:
		return true, nil
	case fault.Is(err, fault.CodeImprintNotFound):
		return false, nil
	case !isRefusal(err):
		return false, err
	}
	return false, setAside(s.path(id))
}
