package imprint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// Content is what an imprint is made of.
type Content struct {
	// Identity is what all of it depends on. Its PrefixSHA256 is that of Tokens; zero is filled in.
	Identity Identity
	BakedOn  Platform
	Quality  Quality // zero for a state of type f16, and where nothing was measured
	// Tokens is the prefix, at least one token; State stands for exactly these.
	Tokens []uint32
	// Learned may be empty; Identity.LearnedVersion goes with it.
	Learned []byte
	// State has one layer for each name of Layers. No names are one layer, LayerPrefix.
	State  sealed.State
	Layers []string
}

// layers gives the header's list.
func (c Content) layers() ([]Layer, error) {
	names, parts := c.Layers, c.State.Layers()
	if len(names) == 0 {
		names = []string{LayerPrefix}
	}
	if len(names) != len(parts) {
		return nil, fmt.Errorf("imprint: a state of %d layers, and the names %q", len(parts), names)
	}
	list := make([]Layer, len(names))
	for i, name := range names {
		list[i] = Layer{name, parts[i].Tokens()}
	}
	return list, nil
}

// image is a file before it is written.
type image struct {
	id      ID
	header  Header
	raw     []byte // the header's bytes
	content [][]byte
}

// compose lays the file out. It digests everything once.
func (c Content) compose() (*image, error) {
	h := Header{
		Format:      Format,
		Identity:    c.Identity.clone(),
		BakedOn:     c.BakedOn,
		Quality:     c.Quality,
		Tokens:      len(c.Tokens),
		SegmentSize: sealed.SegmentSize,
	}
	switch {
	case len(c.Tokens) == 0:
		return nil, errors.New("imprint: no tokens")
	case c.State.Size() == 0:
		return nil, errors.New("imprint: no state")
	case c.State.Tokens() != len(c.Tokens):
		return nil, fmt.Errorf("imprint: the state stands for %d tokens, not %d", c.State.Tokens(), len(c.Tokens))
	}
	var err error
	if h.Layers, err = c.layers(); err != nil {
		return nil, err
	}
	if h.Identity.PrefixSHA256.IsZero() {
		h.Identity.PrefixSHA256 = PrefixSHA256(c.Tokens)
	}
	if got := PrefixSHA256(c.Tokens); got != h.Identity.PrefixSHA256 {
		return nil, fmt.Errorf("imprint: the tokens have the digest %s, the identity says %s", got, h.Identity.PrefixSHA256)
	}
	img := &image{}
	add := func(name string, content []byte) {
		seal := sealed.Of(content)
		offset := int64(0)
		if len(h.Sections) > 0 {
			offset = align(h.bodyLength())
		}
		h.Sections = append(h.Sections, Section{name, offset, seal.Length, seal.Digest(), seal.Segments})
		img.content = append(img.content, content)
	}
	add(SectionTokens, encodeTokens(c.Tokens))
	if len(c.Learned) > 0 {
		add(SectionLearned, c.Learned)
	}
	for i, part := range c.State.Layers() {
		add(SectionState+h.Layers[i].Name, part.Bytes())
	}

	raw, err := h.encode()
	if err != nil {
		return nil, fmt.Errorf("imprint: %w", err)
	}
	if len(raw) > MaxHeader {
		return nil, fmt.Errorf("imprint: a header of %d bytes, more than %d: %d bytes of state are too many", len(raw), MaxHeader, h.PayloadBytes())
	}
	// What no reader would take, or would take for something else, is refused here.
	switch read, err := parseHeader(raw); {
	case err != nil:
		return nil, fmt.Errorf("imprint: %w", err)
	case !slices.Equal(read.fields(), h.fields()):
		return nil, errors.New("imprint: a text of the identity or the platform isn't valid UTF-8")
	}
	img.header, img.raw, img.id = h, raw, digest.BLAKE3Of(raw)
	return img, nil
}

func (img *image) prelude() prelude {
	p := prelude{version: FormatVersion, headerLength: uint32(len(img.raw)), headerDigest: img.id}
	p.fileSize = uint64(p.bodyStart() + img.header.bodyLength())
	return p
}

// writeTo writes the file's bytes, of a thin one up to the layers. Padding stands before a section, so that nothing
// trails the last one.
func (img *image) writeTo(w io.Writer, thin bool) error {
	at := int64(0)
	put := func(part []byte) error {
		n, err := w.Write(part)
		at += int64(n)
		return err
	}
	if err := put(append(img.prelude().encode(), img.raw...)); err != nil {
		return err
	}
	content := img.content
	if thin {
		content = content[:len(content)-len(img.header.Layers)]
	}
	for _, part := range content {
		if err := put(make([]byte, align(at)-at)); err != nil {
			return err
		}
		if err := put(part); err != nil {
			return err
		}
	}
	return nil
}

// layer gives the content of a layer.
func (img *image) layer(i int) io.Reader {
	return bytes.NewReader(img.content[len(img.content)-len(img.header.Layers)+i])
}

// ComputeID says which ID Write would give, without writing.
func ComputeID(c Content) (ID, error) {
	img, err := c.compose()
	if err != nil {
		return ID{}, err
	}
	return img.id, nil
}

// Write makes the file at path, private to its owner, and gives its ID. The same content gives the same bytes. It is
// written under another name, read back through the gate's steps 1 to 3 and 5, and only then gets its name: a reader
// sees the old file or the whole new one, and an imprint that doesn't verify never exists.
//
// Errors: path_not_writable where the folder isn't there or path is one; the operating system's; ctx's. Content that
// makes no imprint is the caller's bug and has no code.
func Write(ctx context.Context, path string, c Content) (ID, error) {
	img, err := c.compose()
	if err != nil {
		return ID{}, err
	}
	return img.id, img.publish(ctx, path, "")
}

// publish writes the file: a whole one, or the thin one of the store in that folder.
func (img *image) publish(ctx context.Context, path, store string) error {
	if info, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fault.New(fault.CodePathNotWritable, "there is no folder %s", filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.CodePathNotWritable, "%s is a folder", path)
	}
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := img.writeTo(w, store != ""); err != nil {
			return err
		}
		return img.readBack(ctx, w, store)
	})
}

// readBack verifies what was just written, in the file itself.
func (img *image) readBack(ctx context.Context, w io.Writer, store string) error {
	start := img.prelude().bodyStart()
	if store != "" {
		return checkWritten(ctx, w, start+img.header.headLength(), img.id, store)
	}
	return checkWritten(ctx, w, start+img.header.bodyLength(), img.id)
}

// checkWritten wants w to be the imprint of that id; the layers of a thin one are in stores.
func checkWritten(ctx context.Context, w io.Writer, size int64, id ID, stores ...string) error {
	written, ok := w.(io.ReaderAt)
	if !ok {
		return errors.New("imprint: the new file can't be read back")
	}
	u, err := openReader(written, size, "the new file", stores...)
	if err != nil {
		return err
	}
	defer u.Close()
	if u.id != id {
		return fmt.Errorf("imprint: the new file has the id %s, want %s", u.id, id)
	}
	return u.CheckIntegrity(ctx)
}
