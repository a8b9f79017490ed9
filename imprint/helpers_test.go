package imprint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zeebo/blake3"

	"edge/imprint"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
)

func sha(text string) digest.SHA256 { return digest.SHA256Of([]byte(text)) }

// pattern gives n bytes that differ from one seed to another.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((i + seed) % 251)
	}
	return b
}

// identity is a complete identity with a value in every field.
func identity(tokens []uint32) imprint.Identity {
	return imprint.Identity{
		Model:              imprint.Model{SHA256: sha("model"), Architecture: "llama"},
		TokenizerSHA256:    sha("tokenizer"),
		ChatTemplateSHA256: sha("template"),
		Engine: imprint.Engine{Name: "llama.cpp", Version: "v0.4.0", Libraries: []imprint.Library{
			{Name: "libggml.so", SHA256: sha("libggml")}, {Name: "libllama.so", SHA256: sha("libllama")}}},
		Params: imprint.Params{KVTypeK: "f16", KVTypeV: "q8_0", FlashAttention: true, NBatch: 512, NUBatch: 256,
			RopeFreqBase: 10000, RopeFreqScale: 0.1, LoRA: []imprint.LoRA{{SHA256: sha("adapter"), Scale: 0.5}}},
		PromptFormatVersion:    "1",
		SchemaGeneratorVersion: "1",
		ActiveSetSHA256:        sha("active set"),
		Tools: []imprint.Tool{
			{Name: "calculate_fee", SchemaSHA256: sha("fee")}, {Name: "order_status", SchemaSHA256: sha("status")}},
		PrefixSHA256:   imprint.PrefixSHA256(tokens),
		LearnedVersion: "edge.head/v1",
	}
}

// full is a content that uses everything the format has.
func full() imprint.Content {
	tokens := []uint32{1, 2, 70000}
	return imprint.Content{
		Identity: identity(tokens),
		BakedOn:  imprint.Platform{OS: "linux", Arch: "amd64", CPU: "AVX512"},
		Quality:  imprint.Quality{MeanKL: 0.0058, Positions: 64},
		Tokens:   tokens,
		Learned:  pattern(7, 100),
		State:    sealed.Fresh(pattern(0, 100), len(tokens)),
	}
}

// layered is full in three layers.
func layered() imprint.Content {
	c := full()
	c.Tokens = []uint32{1, 2, 70000, 4, 5, 6}
	c.Identity.PrefixSHA256 = imprint.PrefixSHA256(c.Tokens)
	c.State = sealed.Fresh(pattern(0, 100), 3).Then(sealed.Fresh(pattern(1, 50), 1)).Then(sealed.Fresh(pattern(2, 70), 2))
	c.Layers = []string{"contract", "profile", "examples"}
	return c
}

// small is a content without tools and without a learned part.
func small() imprint.Content {
	c := full()
	c.Learned = nil
	c.Identity.LearnedVersion = ""
	c.Identity.Tools = nil
	c.Identity.ActiveSetSHA256 = digest.SHA256{}
	c.Identity.SchemaGeneratorVersion = ""
	c.Identity.Engine = imprint.Engine{Name: "fake", Version: "1"}
	c.Identity.Params.LoRA = nil
	return c
}

// write writes c and gives the file's path and bytes.
func write(t testing.TB, c imprint.Content) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.imprint")
	if _, err := imprint.Write(context.Background(), path, c); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, raw
}

// check runs everything the file alone can be asked: steps 1 to 3 and 5.
func check(raw []byte) error {
	u, err := imprint.OpenBytes(raw)
	if err != nil {
		return err
	}
	return u.CheckIntegrity(context.Background())
}

// wantRefusal wants a refusal by that code at that step.
func wantRefusal(t testing.TB, err error, code fault.Code, step imprint.Step) {
	t.Helper()
	var r *imprint.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal with %s", err, code)
	}
	if r.Fault.Code != code || r.Trail.Step != step {
		t.Errorf("got %s at step %s, want %s at step %s: %v", r.Fault.Code, r.Trail.Step, code, step, err)
	}
}

// The tests build damaged files with code of their own, so that the writer's mistakes aren't the reader's as well.
const (
	preludeSize = 56
	alignment   = 4096
)

func padded(raw []byte) []byte {
	return append(raw, make([]byte, (alignment-len(raw)%alignment)%alignment)...)
}

// split gives a file's header and its body.
func split(raw []byte) (header, body []byte) {
	n := int(binary.LittleEndian.Uint32(raw[12:]))
	return raw[preludeSize : preludeSize+n], raw[(preludeSize+n+alignment-1)/alignment*alignment:]
}

// assemble puts a prelude before any header and body.
func assemble(header, body []byte) []byte {
	start := len(padded(make([]byte, preludeSize+len(header))))
	raw := append([]byte("EDGEIMP\x00"), 1, 0, 0, 0)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(header)))
	raw = binary.LittleEndian.AppendUint64(raw, uint64(start+len(body)))
	sum := blake3.Sum256(header)
	raw = append(append(raw, sum[:]...), header...)
	return append(padded(raw), body...)
}

// object is JSON as a test changes it.
type object = map[string]any

// reheader changes a file's header as JSON and fits a prelude to it.
func reheader(t testing.TB, raw []byte, change func(h object)) []byte {
	t.Helper()
	header, body := split(raw)
	var h object
	dec := json.NewDecoder(bytes.NewReader(header))
	dec.UseNumber()
	if err := dec.Decode(&h); err != nil {
		t.Fatal(err)
	}
	change(h)
	changed, err := canon.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return assemble(changed, body)
}

// retext changes a file's header as text and fits a prelude to it.
func retext(t testing.TB, raw []byte, old, new string) []byte {
	t.Helper()
	header, body := split(raw)
	if !bytes.Contains(header, []byte(old)) {
		t.Fatalf("the header has no %s", old)
	}
	return assemble(bytes.Replace(header, []byte(old), []byte(new), 1), body)
}

func flip(raw []byte, bit int) []byte {
	out := bytes.Clone(raw)
	out[bit/8] ^= 1 << (bit % 8)
	return out
}
