// Package gguf reads what a GGUF file says about itself: header, metadata and tensor descriptions, never the weights.
//
// A model file is untrusted input, and the engine's own reader has been overrun more than once, so this one stands
// before it: every count and length is held against the bytes that are left in the file before anything is allocated
// or skipped, and a file whose tensors reach beyond its end is refused. Arrays are walked, not kept: the vocabulary of
// a large model costs time but no memory. Little-endian files of versions 2 and 3 are read, which have one layout.
//
// Every refusal is model_file_invalid and says what is wrong and where.
package gguf

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"

	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	magic            = "GGUF"
	maxKeys          = 1 << 16
	maxTensors       = 1 << 16
	maxKeyLength     = 1<<16 - 1 // the GGUF specification's
	maxTensorName    = 64        // GGML_MAX_NAME
	maxDimensions    = 4         // GGML_MAX_DIMS
	maxAlignment     = 1 << 16
	defaultAlignment = 32
	// maxKept is the longest string that is kept in memory; longer ones are only located.
	maxKept = 1 << 20

	templateKey     = "tokenizer.chat_template"
	tokenizerPrefix = "tokenizer."
)

// Metadata is what one file says about itself. It doesn't change and keeps nothing open.
type Metadata struct {
	version    uint32
	size       int64
	values     map[string]value
	tensors    int
	parameters uint64
	tokenizer  digest.SHA256
	template   digest.SHA256
}

// value is one metadata entry: a scalar or a short string by value, anything else by its place in the file.
type value struct {
	kind       kind
	bits       uint64 // a scalar's bytes, little-endian, extended with zeros
	text       string
	kept       bool // text is the string's content
	element    kind // of an array
	count      uint64
	start, end int64 // the whole record: key, type and value
}

// Read reads the metadata of the file at path. A missing file is an error that matches fs.ErrNotExist.
func Read(path string) (*Metadata, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.CodeModelFileInvalid, "%s isn't a file", path)
	}
	return ReadFrom(path, f, info.Size())
}

// ReadFrom is Read for size bytes that are open already; name is what messages call them.
func ReadFrom(name string, file io.ReaderAt, size int64) (*Metadata, error) {
	m, err := read(file, size)
	var bad invalid
	switch {
	case errors.As(err, &bad):
		return nil, fault.New(fault.CodeModelFileInvalid, "%s isn't a usable GGUF file: %s", name, bad.what)
	case err != nil:
		return nil, fmt.Errorf("read model %s: %w", name, err)
	}
	return m, nil
}

// invalid is a defect of the file, as opposed to a failure to read it.
type invalid struct{ what string }

func (e invalid) Error() string { return e.what }

func invalidf(format string, args ...any) error { return invalid{fmt.Sprintf(format, args...)} }

func read(file io.ReaderAt, size int64) (*Metadata, error) {
	s := newScanner(file, size)
	m := &Metadata{size: size, values: map[string]value{}}
	tensors, keys, err := m.readHeader(s)
	if err != nil {
		return nil, err
	}
	for range keys {
		if err := m.readPair(s); err != nil {
			return nil, err
		}
	}
	if m.Architecture() == "" {
		return nil, invalidf("general.architecture is missing")
	}
	if err := m.readTensors(s, tensors); err != nil {
		return nil, err
	}
	return m, m.digest(file)
}

func (m *Metadata) readHeader(s *scanner) (tensors, keys uint64, err error) {
	head, err := s.bytes(4, "the magic number")
	if err != nil {
		return 0, 0, err
	}
	if string(head) != magic {
		return 0, 0, invalidf("it starts with %q, not with %q", head, magic)
	}
	if m.version, err = s.uint32("the version"); err != nil {
		return 0, 0, err
	}
	if swapped := bits.ReverseBytes32(m.version); m.version > 0xFFFF && swapped <= 0xFFFF {
		return 0, 0, invalidf("it is big-endian (version %d); only little-endian files are read", swapped)
	}
	if m.version != 2 && m.version != 3 {
		return 0, 0, invalidf("GGUF version %d isn't one of 2 and 3", m.version)
	}
	if tensors, err = s.uint64("the tensor count"); err != nil {
		return 0, 0, err
	}
	if keys, err = s.uint64("the metadata count"); err != nil {
		return 0, 0, err
	}
	if tensors > maxTensors {
		return 0, 0, invalidf("it declares %d tensors, more than %d", tensors, maxTensors)
	}
	if keys > maxKeys {
		return 0, 0, invalidf("it declares %d metadata entries, more than %d", keys, maxKeys)
	}
	return tensors, keys, nil
}

func (m *Metadata) readPair(s *scanner) error {
	v := value{start: s.offset()}
	key, err := s.string(maxKeyLength, "a metadata key")
	if err != nil {
		return err
	}
	if key == "" {
		return invalidf("an empty metadata key at byte %d", v.start)
	}
	if _, ok := m.values[key]; ok {
		return invalidf("metadata key %q stands there twice", key)
	}
	code, err := s.uint32("a metadata type")
	if err != nil {
		return err
	}
	v.kind = kind(code)
	if err := s.value(&v, key); err != nil {
		return err
	}
	v.end = s.offset()
	m.values[key] = v
	return nil
}

func (m *Metadata) readTensors(s *scanner, count uint64) error {
	alignment := uint64(defaultAlignment)
	if v, ok := m.values["general.alignment"]; ok {
		alignment = v.bits
		if v.kind != kindUint32 || alignment == 0 || alignment > maxAlignment || alignment&(alignment-1) != 0 {
			return invalidf("general.alignment isn't a power of two up to %d", maxAlignment)
		}
	}
	seen := map[string]bool{}
	// How far the tensors reach into the data that follows their descriptions.
	var reach uint64
	for range count {
		t, err := s.tensor()
		if err != nil {
			return err
		}
		if seen[t.name] {
			return invalidf("tensor %q stands there twice", t.name)
		}
		seen[t.name] = true
		if t.offset%alignment != 0 {
			return invalidf("tensor %q at offset %d isn't aligned to %d", t.name, t.offset, alignment)
		}
		end, carry := bits.Add64(t.offset, t.size, 0)
		sum, carryParameters := bits.Add64(m.parameters, t.elements, 0)
		if carry|carryParameters != 0 {
			return invalidf("tensor %q is larger than any file", t.name)
		}
		m.parameters, reach = sum, max(reach, end)
	}
	m.tensors = int(count)
	start := (uint64(s.offset()) + alignment - 1) &^ (alignment - 1)
	end, carry := bits.Add64(start, reach, 0)
	if carry != 0 {
		return invalidf("its tensors reach beyond any file")
	}
	if count > 0 && end > uint64(m.size) {
		return invalidf("its tensors reach to byte %d, but the file has %d: it is cut short", end, m.size)
	}
	return nil
}

// digest takes the digests of the tokenizer and of the chat template. A tokenizer's digest is the SHA-256 of its
// metadata records as they stand in the file (key length, key, type, value), sorted by key, without the template.
func (m *Metadata) digest(file io.ReaderAt) error {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		if !strings.HasPrefix(key, tokenizerPrefix) || key == templateKey {
			continue
		}
		v := m.values[key]
		if _, err := io.Copy(h, io.NewSectionReader(file, v.start, v.end-v.start)); err != nil {
			return err
		}
	}
	h.Sum(m.tokenizer[:0])
	if template, ok := m.values[templateKey]; ok {
		if template.kind != kindString || !template.kept {
			return invalidf("%s isn't a text of up to %d bytes", templateKey, maxKept)
		}
		m.template = digest.SHA256Of([]byte(template.text))
	}
	return nil
}

// Version is the version of the GGUF format.
func (m *Metadata) Version() int { return int(m.version) }

// Architecture is the engine's name for the kind of model; it is never empty.
func (m *Metadata) Architecture() string { return m.Text("general.architecture") }

// Name is what the file's maker called the model, or "".
func (m *Metadata) Name() string { return m.Text("general.name") }

// ChatTemplate is the Jinja text that renders a conversation; ok is false for a model that has none.
func (m *Metadata) ChatTemplate() (text string, ok bool) {
	v, ok := m.values[templateKey]
	return v.text, ok
}

// TemplateSHA256 digests the chat template's bytes; it is zero for a model that has none.
func (m *Metadata) TemplateSHA256() digest.SHA256 { return m.template }

// TokenizerSHA256 digests everything that turns text into tokens; docs/setup.md has the exact encoding.
func (m *Metadata) TokenizerSHA256() digest.SHA256 { return m.tokenizer }

// ContextLength is how many tokens the model was trained for, or 0 where the file doesn't say.
func (m *Metadata) ContextLength() uint64 {
	n, _ := m.Uint(m.Architecture() + ".context_length")
	return n
}

// Vocabulary is how many tokens the tokenizer has.
func (m *Metadata) Vocabulary() uint64 { return m.Len("tokenizer.ggml.tokens") }

// FileType is the name of the quantisation that most tensors have, or "" where the file doesn't say.
func (m *Metadata) FileType() string {
	n, ok := m.Uint("general.file_type")
	if !ok {
		return ""
	}
	return fileType(n)
}

// Parts is how many files the model was split into: 1 unless the file says otherwise.
func (m *Metadata) Parts() int {
	if n, ok := m.Uint("split.count"); ok && n > 1 && n <= math.MaxInt32 {
		return int(n)
	}
	return 1
}

// Tensors is how many tensors the file describes.
func (m *Metadata) Tensors() int { return m.tensors }

// Parameters is the sum of all tensors' elements.
func (m *Metadata) Parameters() uint64 { return m.parameters }

// Keys lists the metadata keys in order.
func (m *Metadata) Keys() []string { return slices.Sorted(maps.Keys(m.values)) }

// Text is a string value, or "" for a missing key, another type or a text longer than 1 MiB.
func (m *Metadata) Text(key string) string { return m.values[key].text }

// Uint is an unsigned or non-negative integer value.
func (m *Metadata) Uint(key string) (uint64, bool) {
	v, ok := m.values[key]
	if !ok {
		return 0, false
	}
	switch v.kind {
	case kindUint8, kindUint16, kindUint32, kindUint64:
		return v.bits, true
	case kindInt8, kindInt16, kindInt32, kindInt64:
		shift := 64 - 8*uint(v.kind.size())
		n := int64(v.bits<<shift) >> shift
		return uint64(n), n >= 0
	}
	return 0, false
}

// Float is a floating-point value.
func (m *Metadata) Float(key string) (float64, bool) {
	switch v := m.values[key]; v.kind {
	case kindFloat32:
		return float64(math.Float32frombits(uint32(v.bits))), true
	case kindFloat64:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Bool is a truth value.
func (m *Metadata) Bool(key string) (value, ok bool) {
	v := m.values[key]
	return v.bits == 1, v.kind == kindBool
}

// Len is the number of elements of an array value, or 0.
func (m *Metadata) Len(key string) uint64 { return m.values[key].count }
