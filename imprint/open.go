package imprint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// ID names an artifact: the BLAKE3 digest of its header, written "blake3:" and 64 hex digits.
type ID = digest.BLAKE3

// Unverified is an imprint whose header holds together. Nothing in it has been compared with the live world, and its
// state can't be restored. It keeps the file open: Close it.
type Unverified struct {
	src    io.ReaderAt // the whole imprint, wherever its layers lie
	files  []*os.File
	path   string
	id     ID
	header Header
	body   int64
	trail  Trail
	early  *early // nil: nothing was begun ahead
}

// Open runs the gate's steps 1 to 3 on the file. It reads no more than the header and the padding, and allocates
// nothing by a length that the file declares before that length was compared with the file's. Of a thin file the layers
// are looked up in the folder LayerFolder beside it.
//
// Errors: imprint_not_found; or a *Refusal with imprint_header_malformed, imprint_format_unsupported,
// imprint_truncated, imprint_trailing_data or imprint_payload_mismatch (padding between sections); or the operating
// system's, which say nothing about the file.
func Open(path string) (*Unverified, error) { return openFile(path, filepath.Dir(path)) }

// openFile is Open with the folders in which LayerFolder may be, in the order in which they are asked.
func openFile(path string, folders ...string) (*Unverified, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("imprint: %w", err)
	}
	u, err := openReader(f, info.Size(), path, folders...)
	if err != nil {
		f.Close()
		return nil, err
	}
	u.files = append(u.files, f)
	return u, nil
}

// openRegular looks before it opens, because opening a pipe would wait for a writer.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, fault.New(fault.CodeImprintNotFound, "no imprint at %s", path)
	case err != nil:
		return nil, fmt.Errorf("imprint: %w", err)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.CodeImprintNotFound, "no imprint at %s: it isn't a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("imprint: %w", err)
	}
	return f, nil
}

// openReader is openFile for size bytes that are read from src; name is for messages. It doesn't own src.
func openReader(src io.ReaderAt, size int64, name string, folders ...string) (*Unverified, error) {
	u := &Unverified{src: src, path: name}
	if err := u.parse(size, folders); err != nil {
		u.Close()
		return nil, u.refusal(err)
	}
	return u, nil
}

// refusal gives err, if it is about the file, as the step's refusal.
func (u *Unverified) refusal(err error) error {
	var reason *fault.Error
	if errors.As(err, &reason) {
		return refuse(u.path, u.trail, reason)
	}
	return fmt.Errorf("imprint %s: %w", u.path, err)
}

func (u *Unverified) parse(size int64, folders []string) error {
	headerEnd, end, err := u.parseHead(size)
	if err != nil {
		return err
	}
	u.trail.Step = StepSize
	switch thin := u.body + u.header.headLength(); {
	case len(folders) == 0 || size < thin || size >= end:
	case size == thin:
		if err := u.attach(folders); err != nil {
			return err
		}
		size = end
	case haveLayers(folders, u.header): // a whole file that was cut has none beside it
		return fault.New(fault.CodeImprintTrailingData, "file size: got %d, want %d, and the layers in files of their own", size, thin)
	}
	switch {
	case size < end:
		return fault.New(fault.CodeImprintTruncated, "file size: got %d, want %d", size, end)
	case size > end:
		return fault.New(fault.CodeImprintTrailingData, "file size: got %d, want %d", size, end)
	}
	return u.checkPadding(headerEnd)
}

// parseHead runs steps 1 and 2, and says where the header ends and where the file must.
func (u *Unverified) parseHead(size int64) (headerEnd, end int64, err error) {
	u.trail.Step = StepPrelude
	raw, err := u.read(0, min(size, int64(preludeSize)))
	if err != nil {
		return 0, 0, err
	}
	p, err := parsePrelude(raw, size)
	if err != nil {
		return 0, 0, err
	}

	u.trail.Step = StepHeader
	if raw, err = u.read(int64(preludeSize), int64(p.headerLength)); err != nil {
		return 0, 0, err
	}
	u.id = digest.BLAKE3Of(raw)
	if u.id != p.headerDigest {
		return 0, 0, fault.New(fault.CodeImprintHeaderMalformed, "header digest: got %s, want %s", u.id, p.headerDigest)
	}
	if u.header, err = parseHeader(raw); err != nil {
		return 0, 0, fault.New(fault.CodeImprintHeaderMalformed, "header: %w", err)
	}
	u.body = p.bodyStart()
	end = u.body + u.header.bodyLength()
	if p.fileSize != uint64(end) {
		return 0, 0, fault.New(fault.CodeImprintHeaderMalformed, "file size: got %d, want %d", p.fileSize, end)
	}
	return int64(preludeSize) + int64(p.headerLength), end, nil
}

// checkPadding wants zeros wherever no digest looks, so that the file has no other byte to hide in.
func (u *Unverified) checkPadding(headerEnd int64) error {
	if err := u.zero(headerEnd, u.body); err != nil {
		return paddingFault(fault.CodeImprintHeaderMalformed, "after the header", err)
	}
	sections := u.header.Sections
	for i, s := range sections[:len(sections)-1] {
		if err := u.zero(u.body+s.Offset+s.Length, u.body+sections[i+1].Offset); err != nil {
			return paddingFault(fault.CodeImprintPayloadMismatch, fmt.Sprintf("after section %q", s.Name), err)
		}
	}
	return nil
}

type dirtError struct {
	at    int64
	value byte
}

func (e *dirtError) Error() string {
	return fmt.Sprintf("byte %d is 0x%02x, want zero padding", e.at, e.value)
}

func paddingFault(code fault.Code, where string, err error) error {
	var dirt *dirtError
	if errors.As(err, &dirt) {
		return fault.New(code, "%s: %w", where, err)
	}
	return err
}

func (u *Unverified) zero(from, to int64) error {
	raw, err := u.read(from, to-from)
	if err != nil {
		return err
	}
	for i, c := range raw {
		if c != 0 {
			return &dirtError{from + int64(i), c}
		}
	}
	return nil
}

// read gives n bytes, of which the caller knows that the file has them; if it was cut meanwhile, it is truncated.
func (u *Unverified) read(offset, n int64) ([]byte, error) {
	raw := make([]byte, n)
	got, err := u.src.ReadAt(raw, offset)
	u.trail.BytesRead += int64(got)
	switch {
	case int64(got) == n:
		return raw, nil
	case err == io.EOF:
		return nil, fault.New(fault.CodeImprintTruncated, "the file ends at byte %d while it is read", offset+int64(got))
	}
	return nil, err
}

// ID names the artifact.
func (u *Unverified) ID() ID { return u.id }

// Path is the file's name as it was given to Open.
func (u *Unverified) Path() string { return u.path }

// Header is the table of contents; the caller owns it.
func (u *Unverified) Header() Header { return u.header.clone() }

// Trail is what the gate has done so far.
func (u *Unverified) Trail() Trail { return u.trail }

// Close lets go of the files. A Verified made before stays usable.
func (u *Unverified) Close() error {
	u.stop()
	var err error
	for _, f := range u.files {
		err = errors.Join(err, f.Close())
	}
	u.files = nil
	return err
}

// Whole is the imprint as one file, also where its layers lie in files of their own. It is usable until Close.
func (u *Unverified) Whole() (r io.ReaderAt, size int64) {
	return u.src, u.body + u.header.bodyLength()
}

// Tokens reads the prefix's token ids and checks them against their digests. Errors: a *Refusal with
// imprint_payload_mismatch or imprint_truncated; the operating system's.
func (u *Unverified) Tokens() ([]uint32, error) {
	u.trail.Step = StepPayload
	tokens, err := u.tokens(context.Background())
	if err != nil {
		return nil, u.refusal(err)
	}
	return tokens, nil
}

func (u *Unverified) tokens(ctx context.Context) ([]uint32, error) {
	raw, err := u.load(ctx, SectionTokens)
	if err != nil {
		return nil, err
	}
	if got, want := digest.SHA256Of(raw), u.header.Identity.PrefixSHA256; got != want {
		return nil, fault.New(fault.CodeImprintPayloadMismatch, "section %q: prefix_sha256: got %s, want %s", SectionTokens, got, want)
	}
	return decodeTokens(raw), nil
}

// Learned reads what was learned and checks it against its digests; nil where nothing was learned. Errors as for Tokens.
func (u *Unverified) Learned() ([]byte, error) {
	u.trail.Step = StepPayload
	raw, err := u.load(context.Background(), SectionLearned)
	if err != nil {
		return nil, u.refusal(err)
	}
	return raw, nil
}

// load reads a section's verified bytes; nil if there is no such section.
func (u *Unverified) load(ctx context.Context, name string) ([]byte, error) {
	s, ok := u.header.section(name)
	if !ok {
		return nil, nil
	}
	raw, err := sealed.Load(ctx, u.src, u.body+s.Offset, s.seal())
	return raw, u.account(s, err)
}

// account books a section as read and gives what err says about the file.
func (u *Unverified) account(s Section, err error) error {
	u.trail.BytesRead += s.Length
	if reason := sectionFault(s.Name, err); reason != nil {
		return reason
	}
	return err
}
