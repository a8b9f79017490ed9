package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"edge/internal/atomicfile"
	"edge/internal/digest"
)

// part is a download that isn't whole yet: FILE.part, and FILE.part.json that says where its bytes come from.
type part struct {
	path, note string
	url        string
	sha256     digest.SHA256 // of the whole file, or zero
	etag       string        // a strong validator, or ""
	file       *os.File
	size       int64
}

// noteContent is what FILE.part.json holds.
type noteContent struct {
	Schema string        `json:"schema"`
	URL    string        `json:"url"`
	ETag   string        `json:"etag"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// continues reports whether bytes that were noted so may begin the file that is asked for. Where its digest is known,
// that decides in the end, so the file may come from elsewhere; otherwise only the same address and its validator tell.
func (n noteContent) continues(req Request) bool {
	if n.Schema != noteSchema || n.SHA256 != req.SHA256 {
		return false
	}
	return !req.SHA256.IsZero() || n.URL == req.URL && n.ETag != ""
}

const (
	noteSchema = "edge.partial_download/v1"
	maxNote    = 64 << 10
)

// openPart opens what an earlier run left, or an empty part. Bytes of another source, of no known one, or ones that
// can't be continued safely are dropped.
func openPart(req Request) (*part, error) {
	p := &part{path: req.Path + ".part", note: req.Path + ".part.json", url: req.URL, sha256: req.SHA256}
	f, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	p.file = f
	if p.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	note, err := readNote(p.note)
	p.etag = note.ETag
	if err != nil || !note.continues(req) || req.Size > 0 && p.size > req.Size {
		if err := p.restart(""); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return p, nil
}

func readNote(path string) (n noteContent, err error) {
	f, err := os.Open(path)
	if err != nil {
		return n, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(raw, &n)
}

// restart drops all bytes and notes the validator of the version that comes next.
func (p *part) restart(etag string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.size, p.etag = 0, etag
	raw, err := json.Marshal(noteContent{Schema: noteSchema, URL: p.url, ETag: etag, SHA256: p.sha256})
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(p.note, 0o600, raw)
}

// digest reads the part back from the disk.
func (p *part) digest(ctx context.Context) (d digest.SHA256, err error) {
	h := sha256.New()
	content := io.NewSectionReader(p.file, 0, p.size)
	for {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		_, err := io.CopyN(h, content, 16<<20)
		if errors.Is(err, io.EOF) {
			h.Sum(d[:0])
			return d, nil
		}
		if err != nil {
			return d, fmt.Errorf("read %s back: %w", p.path, err)
		}
	}
}

func (p *part) remove() error {
	p.close()
	err := os.Remove(p.path)
	if noteErr := os.Remove(p.note); !errors.Is(noteErr, os.ErrNotExist) {
		err = errors.Join(err, noteErr)
	}
	return err
}

// close is for every way out; after promote it does nothing.
func (p *part) close() { p.file.Close() }
