package models

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/stamp"
	"edge/models/fetch"
	"edge/models/gguf"
)

// Identity is what one model file is: the digest of all its bytes, and what its metadata says.
type Identity struct {
	Size            int64         `json:"size"`
	SHA256          digest.SHA256 `json:"sha256"`
	TokenizerSHA256 digest.SHA256 `json:"tokenizer_sha256"`
	TemplateSHA256  digest.SHA256 `json:"template_sha256"` // zero for a model without a chat template
	Architecture    string        `json:"architecture"`
	Title           string        `json:"title,omitempty"`     // the maker's name for it
	FileType        string        `json:"file_type,omitempty"` // the quantisation
	ContextLength   uint64        `json:"context_length,omitempty"`
	Vocabulary      uint64        `json:"vocabulary,omitempty"`
	Parameters      uint64        `json:"parameters"`
	Tensors         int           `json:"tensors"`
}

// Identify gives the identity of the file at path: from the cache if the file's stamp is the one under which it was
// hashed, or else by reading all of it. fresh reads it in any case.
func (s *Store) identify(ctx context.Context, path string, fresh bool) (Identity, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Identity{}, err
	}
	// A file that is being written to moves its stamp; it may have come to rest on the second look.
	for range 3 {
		id, err := s.identifyOnce(ctx, path, fresh)
		if !errors.Is(err, errMoved) {
			return id, err
		}
	}
	return Identity{}, fault.New(fault.CodeModelFileInvalid, "%s changes while it is read", path).
		WithHint("wait until it is complete, and run the command again")
}

var errMoved = errors.New("the file changed while it was read")

func (s *Store) identifyOnce(ctx context.Context, path string, fresh bool) (Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return Identity{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Identity{}, err
	}
	if !info.Mode().IsRegular() {
		return Identity{}, fault.New(fault.CodeModelFileInvalid, "%s isn't a file", path)
	}
	before, stamped := stamp.Of(f, info)
	if stamped && !fresh {
		if id, ok := s.cache().lookup(path, before); ok {
			return id, nil
		}
	}
	began := s.cfg.Now()
	id, err := s.read(ctx, path, f, info.Size())
	if err != nil {
		return Identity{}, err
	}
	if info, err = f.Stat(); err != nil {
		return Identity{}, err
	}
	after, _ := stamp.Of(f, info)
	named, err := os.Stat(path)
	if err != nil {
		return Identity{}, err
	}
	if info.Size() != id.Size || after != before || !os.SameFile(info, named) {
		return Identity{}, errMoved
	}
	if stamped && before.QuietSince(began) {
		s.cache().remember(path, before, id)
	}
	return id, nil
}

func (s *Store) read(ctx context.Context, path string, f *os.File, size int64) (Identity, error) {
	m, err := gguf.ReadFrom(path, f, size)
	if err != nil {
		return Identity{}, err
	}
	if parts := m.Parts(); parts > 1 {
		return Identity{}, fault.New(fault.CodeModelFileInvalid, "%s is one of %d parts of a model", path, parts).
			WithHint("join the parts with llama-gguf-split --merge, and name the whole file")
	}
	id := Identity{
		TokenizerSHA256: m.TokenizerSHA256(),
		TemplateSHA256:  m.TemplateSHA256(),
		Architecture:    strings.ToValidUTF8(m.Architecture(), "\uFFFD"),
		Title:           strings.ToValidUTF8(m.Name(), "\uFFFD"),
		FileType:        m.FileType(),
		ContextLength:   m.ContextLength(),
		Vocabulary:      m.Vocabulary(),
		Parameters:      m.Parameters(),
		Tensors:         m.Tensors(),
	}
	progress := s.cfg.Progress("checking " + filepath.Base(path))
	defer progress.Done()
	id.SHA256, id.Size, err = hash(ctx, io.NewSectionReader(f, 0, size+1), size, progress)
	return id, err
}

// hash digests r to its end in steps that a cancelled context ends.
func hash(ctx context.Context, r io.Reader, total int64, progress fetch.Progress) (d digest.SHA256, n int64, err error) {
	progress.Start(total)
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return d, n, err
		}
		m, err := r.Read(buf)
		h.Write(buf[:m])
		n += int64(m)
		progress.Add(int64(m))
		if errors.Is(err, io.EOF) {
			h.Sum(d[:0])
			return d, n, nil
		}
		if err != nil {
			return d, n, fmt.Errorf("hash: %w", err)
		}
	}
}
