package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models/gguf"
)

// file writes GGUF by hand, so that a test can also write it wrong.
type file struct{ bytes.Buffer }

func (f *file) num(values ...any) *file {
	for _, v := range values {
		if err := binary.Write(f, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return f
}

func (f *file) str(s string) *file {
	f.num(uint64(len(s)))
	f.WriteString(s)
	return f
}

func (f *file) key(name string, kind uint32) *file { return f.str(name).num(kind) }

func (f *file) head(version uint32, tensors, keys uint64) *file {
	f.WriteString("GGUF")
	return f.num(version, tensors, keys)
}

func (f *file) arch() *file { return f.key("general.architecture", 8).str("llama") }

func (f *file) pad(n int) *file {
	f.Write(make([]byte, n))
	return f
}

func tokenizer(f *file) *file {
	f.key("tokenizer.ggml.tokens", 9).num(uint32(8), uint64(3)).str("<s>").str("").str("é")
	return f.key("tokenizer.ggml.scores", 9).num(uint32(6), uint64(3), float32(1), float32(2), float32(3))
}

// model is a whole small model: 96 elements in two tensors.
func model() *file {
	f := new(file).head(3, 2, 12).arch()
	f.key("general.name", 8).str("Tiny")
	f.key("general.file_type", 4).num(uint32(3))
	f.key("llama.context_length", 4).num(uint32(2048))
	tokenizer(f)
	f.key("tokenizer.chat_template", 8).str("{{ messages }}")
	f.key("a.int8", 1).num(int8(-2))
	f.key("a.int16", 3).num(int16(300))
	f.key("a.float", 6).num(float32(0.5))
	f.key("a.double", 12).num(math.Pi)
	f.key("a.bool", 7).num(uint8(1))
	f.str("one").num(uint32(1), uint64(64), uint32(3), uint64(0))            // Q4_1: 40 bytes, to be padded to 64
	f.str("two").num(uint32(2), uint64(4), uint64(8), uint32(0), uint64(64)) // F32: 128 bytes
	return f.pad((32-f.Len()%32)%32 + 64 + 128)
}

func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	m, err := gguf.Read(write(t, model().Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	template, hasTemplate := m.ChatTemplate()
	if m.Version() != 3 || m.Architecture() != "llama" || m.Name() != "Tiny" || m.FileType() != "Q4_1" || m.ContextLength() != 2048 ||
		m.Vocabulary() != 3 || m.Tensors() != 2 || m.Parameters() != 96 || m.Parts() != 1 || template != "{{ messages }}" || !hasTemplate {
		t.Errorf("got %+v", m)
	}
	if len(m.Keys()) != 12 || m.Keys()[0] != "a.bool" {
		t.Errorf("keys: %q", m.Keys())
	}
	if n, ok := m.Uint("a.int16"); n != 300 || !ok {
		t.Errorf("int16: %d, %v", n, ok)
	}
	if _, ok := m.Uint("a.int8"); ok {
		t.Error("a negative number passed for an unsigned one")
	}
	if _, ok := m.Uint("a.float"); ok {
		t.Error("a float passed for an integer")
	}
	if f, ok := m.Float("a.float"); f != 0.5 || !ok {
		t.Errorf("float: %v, %v", f, ok)
	}
	if f, ok := m.Float("a.double"); f != math.Pi || !ok {
		t.Errorf("double: %v, %v", f, ok)
	}
	if b, ok := m.Bool("a.bool"); !b || !ok {
		t.Errorf("bool: %v, %v", b, ok)
	}
	if _, ok := m.Bool("no.such"); ok {
		t.Error("a missing key passed for a truth value")
	}
	if got, want := m.TemplateSHA256(), digest.SHA256Of([]byte("{{ messages }}")); got != want {
		t.Errorf("template: got %s, want %s", got, want)
	}
	// The records are hashed as they stand, in the order of their keys: scores before tokens.
	records := new(file).key("tokenizer.ggml.scores", 9).num(uint32(6), uint64(3), float32(1), float32(2), float32(3))
	records.key("tokenizer.ggml.tokens", 9).num(uint32(8), uint64(3)).str("<s>").str("").str("é")
	if got, want := m.TokenizerSHA256(), digest.SHA256Of(records.Bytes()); got != want {
		t.Errorf("tokenizer: got %s, want %s", got, want)
	}
}

func TestDigestsSeparateTokenizerAndTemplate(t *testing.T) {
	read := func(build func(*file)) *gguf.Metadata {
		f := new(file).head(3, 0, 4).arch()
		build(f)
		m, err := gguf.Read(write(t, f.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base := read(func(f *file) { tokenizer(f).key("tokenizer.chat_template", 8).str("a") })
	other := read(func(f *file) { tokenizer(f).key("tokenizer.chat_template", 8).str("b") })
	if base.TokenizerSHA256() != other.TokenizerSHA256() || base.TemplateSHA256() == other.TemplateSHA256() {
		t.Error("another template must change the template's digest and no other")
	}
	moved := read(func(f *file) { tokenizer(f.key("tokenizer.chat_template", 8).str("a")) })
	if base.TokenizerSHA256() != moved.TokenizerSHA256() {
		t.Error("the order of the keys in the file changed the tokenizer's digest")
	}
	none := read(func(f *file) { tokenizer(f).key("general.name", 8).str("x") })
	if _, ok := none.ChatTemplate(); ok || !none.TemplateSHA256().IsZero() {
		t.Error("a missing template has a digest")
	}
	changed := read(func(f *file) {
		f.key("tokenizer.ggml.tokens", 9).num(uint32(8), uint64(3)).str("<s>").str("x").str("é")
		f.key("tokenizer.ggml.scores", 9).num(uint32(6), uint64(3), float32(1), float32(2), float32(3))
		f.key("tokenizer.chat_template", 8).str("a")
	})
	if base.TokenizerSHA256() == changed.TokenizerSHA256() {
		t.Error("another token didn't change the tokenizer's digest")
	}
}

// wrong is one file that isn't a model, and what has to be said about it.
type wrong struct {
	name    string
	content []byte
	says    string
}

func wrongFiles() []wrong {
	whole := model().Bytes()
	one := func(kind uint32, values ...any) []byte {
		return new(file).head(3, 0, 2).arch().key("k", kind).num(values...).Bytes()
	}
	tensorOf := func(values ...any) []byte {
		return new(file).head(3, 1, 1).arch().str("t").num(values...).pad(4096).Bytes()
	}
	const huge = uint64(math.MaxUint64)
	return []wrong{
		{"empty", nil, "ends inside the magic number"},
		{"a web page", []byte("<!doctype html><html>"), `starts with "<!do"`},
		{"header only", whole[:20], "ends inside the metadata count"},
		{"version 1", new(file).head(1, 0, 0).Bytes(), "version 1"},
		{"version 4", new(file).head(4, 0, 0).Bytes(), "version 4"},
		{"big-endian", []byte("GGUF\x00\x00\x00\x03"), "big-endian"},
		{"too many tensors", new(file).head(3, 1<<40, 0).Bytes(), "tensors, more than"},
		{"too many keys", new(file).head(3, 0, 1<<40).Bytes(), "metadata entries, more than"},
		{"no architecture", new(file).head(3, 0, 0).Bytes(), "general.architecture is missing"},
		{"architecture of another type", new(file).head(3, 0, 1).key("general.architecture", 4).num(uint32(1)).Bytes(), "general.architecture is missing"},
		{"more keys than there are", new(file).head(3, 0, 2).arch().Bytes(), "ends inside a metadata key"},
		{"key twice", new(file).head(3, 0, 2).arch().arch().Bytes(), "stands there twice"},
		{"empty key", new(file).head(3, 0, 1).key("", 4).num(uint32(1)).Bytes(), "empty metadata key"},
		{"endless key", new(file).head(3, 0, 1).num(huge).Bytes(), "claims to have 18446744073709551615 bytes"},
		{"key longer than the format allows", new(file).head(3, 0, 1).str(strings.Repeat("k", 1<<16)).Bytes(), "claims to have 65536 bytes"},
		{"unknown type", one(13), "unknown type 13"},
		{"neither true nor false", one(7, uint8(2)), "neither true nor false"},
		{"endless string", one(8, huge), "beyond the end"},
		{"string one byte too long", one(8, uint64(5), uint32(0)), "beyond the end"},
		{"endless array", one(9, uint32(4), huge), "more than the file can hold"},
		{"array whose size overflows", one(9, uint32(10), uint64(1)<<61), "more than the file can hold"},
		{"endless array of strings", one(9, uint32(8), uint64(1)<<61), "more than the file can hold"},
		{"array with an endless string", one(9, uint32(8), uint64(1), huge), "beyond the end"},
		{"array of arrays", one(9, uint32(9), uint64(1)), "array of arrays"},
		{"array of an unknown type", one(9, uint32(99), uint64(1)), "unknown type 99"},
		{"template of another type", new(file).head(3, 0, 2).arch().key("tokenizer.chat_template", 4).num(uint32(1)).Bytes(), "tokenizer.chat_template isn't a text"},
		{"oversized template", new(file).head(3, 0, 2).arch().key("tokenizer.chat_template", 8).str(strings.Repeat("x", 1<<20+1)).Bytes(), "tokenizer.chat_template isn't a text"},
		{"alignment of zero", new(file).head(3, 0, 2).arch().key("general.alignment", 4).num(uint32(0)).Bytes(), "general.alignment"},
		{"alignment that is no power of two", new(file).head(3, 0, 2).arch().key("general.alignment", 4).num(uint32(24)).Bytes(), "general.alignment"},
		{"alignment without bound", new(file).head(3, 0, 2).arch().key("general.alignment", 4).num(uint32(1) << 31).Bytes(), "general.alignment"},
		{"tensor missing", new(file).head(3, 1, 1).arch().Bytes(), "ends inside a tensor's name"},
		{"tensor with a long name", new(file).head(3, 1, 1).arch().str(strings.Repeat("t", 65)).pad(64).Bytes(), "claims to have 65 bytes"},
		{"tensor of five dimensions", tensorOf(uint32(5)), "5 dimensions"},
		{"tensor with too many elements", tensorOf(uint32(2), uint64(1)<<40, uint64(1)<<40, uint32(0), uint64(0)), "more elements than can be counted"},
		{"tensor with half a block", tensorOf(uint32(1), uint64(16), uint32(3), uint64(0)), "rows of 16 elements"},
		{"tensor off its alignment", tensorOf(uint32(1), uint64(32), uint32(3), uint64(8)), "aligned"},
		{"tensor at the end of the address space", tensorOf(uint32(1), uint64(32), uint32(3), huge-31), "beyond any file"},
		{"tensor whose end overflows", tensorOf(uint32(1), uint64(64), uint32(3), huge-31), "larger than any file"},
		{"tensor beyond the end", tensorOf(uint32(1), uint64(1)<<20, uint32(0), uint64(0)), "cut short"},
		{"tensor twice", new(file).head(3, 2, 1).arch().
			str("t").num(uint32(1), uint64(1), uint32(0), uint64(0)).
			str("t").num(uint32(1), uint64(1), uint32(0), uint64(32)).pad(256).Bytes(), "stands there twice"},
		{"last byte missing", whole[:len(whole)-1], "cut short"},
		{"half of it", whole[:len(whole)/2], "ends inside"},
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range wrongFiles() {
		t.Run(tt.name, func(t *testing.T) {
			_, err := gguf.Read(write(t, tt.content))
			if !fault.Is(err, fault.CodeModelFileInvalid) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want model_file_invalid with %q", err, tt.says)
			}
		})
	}
}

func TestReadEveryTruncation(t *testing.T) {
	whole := model().Bytes()
	path := write(t, whole)
	for n := len(whole) - 1; n >= 0; n-- {
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := gguf.Read(path); !fault.Is(err, fault.CodeModelFileInvalid) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestReadMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := gguf.Read(filepath.Join(dir, "no.gguf")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := gguf.Read(dir); !fault.Is(err, fault.CodeModelFileInvalid) {
		t.Errorf("folder: %v", err)
	}
}

// The buffer holds 256 KiB: values that end before, on and after its bounds are read alike.
func TestReadAcrossTheBuffer(t *testing.T) {
	for size := 256<<10 - 120; size < 256<<10+8; size++ {
		f := new(file).head(3, 0, 4).arch()
		f.key("filler", 8).str(strings.Repeat("x", size))
		f.key("list", 9).num(uint32(8), uint64(2)).str("one").str("two")
		f.key("n", 10).num(uint64(size))
		m, err := gguf.Read(write(t, f.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := m.Uint("n"); n != uint64(size) || !ok || m.Len("list") != 2 || len(m.Text("filler")) != size {
			t.Fatalf("filler of %d: n %d, list %d, filler %d", size, n, m.Len("list"), len(m.Text("filler")))
		}
	}
}

// FuzzRead: a file is refused with a code, or claims no more than it holds. Its seeds are a whole model, its beginnings,
// and one small file for every refusal.
func FuzzRead(f *testing.F) {
	f.Add(model().Bytes())
	f.Add(model().Bytes()[:100])
	f.Add(new(file).head(2, 0, 1).arch().Bytes())
	f.Add(new(file).head(3, 0, 2).arch().key("k", 9).num(uint32(8), uint64(1), uint64(1)).pad(1).Bytes())
	for _, w := range wrongFiles() {
		if len(w.content) <= 8192 { // a fuzzer gets nowhere with long ones
			f.Add(w.content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := gguf.ReadFrom("fuzz", bytes.NewReader(content), int64(len(content)))
		if err != nil {
			if !fault.Is(err, fault.CodeModelFileInvalid) {
				t.Fatalf("not a coded error: %v", err)
			}
			return
		}
		if m.Architecture() == "" || m.Vocabulary()*8 > uint64(len(content)) || m.Tensors()*24 > len(content) {
			t.Fatalf("accepted, but it claims more than it holds: %+v", m)
		}
		for _, key := range m.Keys() {
			if len(m.Text(key)) > len(content) {
				t.Fatalf("%q is longer than the file", key)
			}
		}
	})
}
