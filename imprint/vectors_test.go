package imprint_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
)

var update = flag.Bool("update", false, "write the test vectors again")

const vectorDir = "../testdata/vectors/imprint-v1"

// vector is one file and what every reader has to say about it.
type vector struct {
	File    string `json:"file"`
	Expect  string `json:"expect"`         // "ok" or the code of the refusal
	Step    string `json:"step,omitempty"` // the step of the gate that refuses
	ID      string `json:"id,omitempty"`
	Comment string `json:"comment"`
}

// knownSeal is the digest of a byte string too long to be kept: byte i is i mod 251.
type knownSeal struct {
	Length   int      `json:"length"`
	Segments []string `json:"segments"`
	BLAKE3   string   `json:"blake3"`
}

type vectorIndex struct {
	Format   string      `json:"format"`
	MadeBy   string      `json:"made_by"`
	Vectors  []vector    `json:"vectors"`
	Segments []knownSeal `json:"segmented_digests"`
}

const (
	malformed   = string(fault.CodeImprintHeaderMalformed)
	unsupported = string(fault.CodeImprintFormatUnsupported)
	truncated   = string(fault.CodeImprintTruncated)
	trailing    = string(fault.CodeImprintTrailingData)
	payload     = string(fault.CodeImprintPayloadMismatch)
)

// vectorFiles makes every vector from two good files.
func vectorFiles(t *testing.T) (vectors []vector, contents map[string][]byte) {
	contents = map[string][]byte{}
	add := func(name, expect, step, comment string, raw []byte) {
		v := vector{File: name + ".imprint", Expect: expect, Step: step, Comment: comment}
		if expect == "ok" {
			header, _ := split(raw)
			_, id, _, err := imprint.ParseHeader(header)
			if err != nil {
				t.Fatal(err)
			}
			v.ID = id.String()
		}
		if _, twice := contents[v.File]; twice {
			t.Fatalf("two vectors %s", name)
		}
		vectors = append(vectors, v)
		contents[v.File] = raw
	}
	_, good := write(t, small())
	_, rich := write(t, full())
	header, body := split(good)
	_, richBody := split(rich)
	start := len(good) - len(body)
	edit := func(change func(raw []byte)) []byte { raw := bytes.Clone(good); change(raw); return raw }
	u32 := func(at int, v uint32) []byte {
		return edit(func(raw []byte) { binary.LittleEndian.PutUint32(raw[at:], v) })
	}
	u64 := func(at int, v uint64) []byte {
		return edit(func(raw []byte) { binary.LittleEndian.PutUint64(raw[at:], v) })
	}
	section := func(h object, i int) object { return h["sections"].([]any)[i].(object) }
	identityOf := func(h object) object { return h["identity"].(object) }
	rehead := func(change func(h object)) []byte { return reheader(t, good, change) }
	// rebody also gives the body that fits the changed table, so that nothing but the table is wrong.
	rebody := func(body []byte, change func(h object)) []byte {
		changed, _ := split(rehead(change))
		return assemble(changed, body)
	}
	rerich := func(change func(h object)) []byte { return reheader(t, rich, change) }
	reseal := func(s object, content []byte) {
		seal := sealed.Of(content)
		s["length"], s["segments"], s["blake3"] = seal.Length, seal.Segments, seal.Digest()
	}

	add("minimal", "ok", "", "3 tokens, a state of 100 bytes, no tools, nothing learned", good)
	add("full", "ok", "", "everything the format has: tools, libraries, an adapter, a learned part", rich)

	// Step 1.
	add("empty", truncated, "prelude", "no byte", nil)
	add("prelude_cut", truncated, "prelude", "the first 40 bytes", good[:40])
	add("prelude_only", truncated, "prelude", "the prelude and nothing of the header", good[:preludeSize])
	add("header_cut", truncated, "prelude", "all of the header but its last byte", good[:preludeSize+len(header)-1])
	add("foreign_short", malformed, "prelude", "a short text", []byte("hello\n"))
	add("foreign_magic", malformed, "prelude", "the first byte is another", edit(func(raw []byte) { raw[0] = 'e' }))
	add("version_0", unsupported, "prelude", "format version 0", u32(8, 0))
	add("version_2", unsupported, "prelude", "format version 2", u32(8, 2))
	add("version_2_nonsense", malformed, "prelude", "format version 2 in a prelude that makes no sense",
		func() []byte { raw := u32(8, 2); binary.LittleEndian.PutUint32(raw[12:], 0); return raw }())
	add("header_length_0", malformed, "prelude", "header length 0", u32(12, 0))
	add("header_length_over", malformed, "prelude", "header length 1 MiB and 1 byte", u32(12, imprint.MaxHeader+1))
	add("header_length_max", malformed, "prelude", "header length 2^32-1", u32(12, 1<<32-1))
	add("header_length_beyond", truncated, "prelude", "a header of 1 MiB in a file that declares room for it and hasn't",
		func() []byte {
			raw := u32(12, imprint.MaxHeader)
			binary.LittleEndian.PutUint64(raw[16:], 1<<30)
			return raw
		}())
	add("file_size_small", malformed, "prelude", "a file size within the header", u64(16, preludeSize))

	// Step 2.
	add("header_digest", malformed, "header", "one bit of the prelude's header digest", flip(good, 8*24))
	add("header_bit", malformed, "header", "one bit of the header", flip(good, 8*(preludeSize+10)))
	add("header_length_less", malformed, "header", "header length one too small", u32(12, uint32(len(header)-1)))
	add("file_size_less", malformed, "header", "declared size one too small", u64(16, uint64(len(good)-1)))
	add("file_size_max", malformed, "header", "declared size 2^64-1", u64(16, 1<<64-1))
	add("json_space", malformed, "header", "a space in the JSON", retext(t, good, `,"format"`, `, "format"`))
	add("json_newline", malformed, "header", "a newline after the JSON", assemble(append(bytes.Clone(header), '\n'), body))
	add("json_order", malformed, "header", "two members in another order", retext(t, good, `"arch":"amd64","cpu":"AVX512"`, `"cpu":"AVX512","arch":"amd64"`))
	add("json_number", malformed, "header", "3 written as 3.0", retext(t, good, `"n_batch":512`, `"n_batch":512.0`))
	add("json_exponent", malformed, "header", "10000 written as 1e4", retext(t, good, `"rope_freq_base":10000`, `"rope_freq_base":1e4`))
	add("json_escape", malformed, "header", "a letter written as an escape", retext(t, good, `"linux"`, `"\u006cinux"`))
	add("json_duplicate", malformed, "header", "a member twice", retext(t, good, `"arch":"amd64"`, `"arch":"amd64","arch":"amd64"`))
	add("json_two", malformed, "header", "two JSON values", assemble(append(bytes.Clone(header), "{}"...), body))
	add("json_null", malformed, "header", "null instead of an empty list", retext(t, good, `"tools":[]`, `"tools":null`))
	add("json_type", malformed, "header", "a number as text", retext(t, good, `"n_batch":512`, `"n_batch":"512"`))
	add("json_utf8", malformed, "header", "a byte that isn't UTF-8", retext(t, good, `"linux"`, "\"lin\xffx\""))
	add("json_surrogate", malformed, "header", "half a surrogate pair", retext(t, good, `"linux"`, `"\ud800"`))
	add("json_big_integer", malformed, "header", "an integer beyond 2^53-1", retext(t, good, `"n_batch":512`, `"n_batch":9007199254740993`))
	add("json_negative", malformed, "header", "a negative n_batch", retext(t, good, `"n_batch":512`, `"n_batch":-512`))
	add("json_array", malformed, "header", "an array", assemble([]byte("[]"), body))
	add("json_binary", malformed, "header", "no JSON", assemble([]byte{0, 1, 2, 3}, body))
	add("field_unknown", malformed, "header", "an unknown field", rehead(func(h object) { h["note"] = "x" }))
	add("field_unknown_deep", malformed, "header", "an unknown field of the identity", rehead(func(h object) { identityOf(h)["gpu"] = "x" }))
	add("field_missing", malformed, "header", "a field of the identity is missing", rehead(func(h object) { delete(identityOf(h), "learned_version") }))
	add("field_case", malformed, "header", "a field's name in another case", retext(t, good, `"tokens":3}`, `"Tokens":3}`))
	add("format_other", malformed, "header", "another format name under version 1", rehead(func(h object) { h["format"] = "edge.imprint/v2" }))
	add("digest_upper_case", malformed, "header", "a digest in upper case", rehead(func(h object) {
		h["identity"].(object)["prefix_sha256"] = strings.ToUpper(h["identity"].(object)["prefix_sha256"].(string))
	}))
	add("digest_short", malformed, "header", "a digest of 31 bytes", rehead(func(h object) {
		h["identity"].(object)["prefix_sha256"] = h["identity"].(object)["prefix_sha256"].(string)[2:]
	}))
	add("identity_zero_digest", malformed, "header", "the model's digest is zero", rehead(func(h object) {
		identityOf(h)["model"].(object)["sha256"] = digest.SHA256{}
	}))
	add("identity_empty_name", malformed, "header", "the architecture is empty", rehead(func(h object) { identityOf(h)["model"].(object)["architecture"] = "" }))
	add("tools_unsorted", malformed, "header", "tools in another order", rerich(func(h object) { slices.Reverse(identityOf(h)["tools"].([]any)) }))
	add("tools_twice", malformed, "header", "a tool twice", rerich(func(h object) {
		tools := identityOf(h)["tools"].([]any)
		tools[1] = tools[0]
	}))
	add("tools_without_set", malformed, "header", "tools without active_set_sha256", rerich(func(h object) { identityOf(h)["active_set_sha256"] = digest.SHA256{} }))
	add("set_without_tools", malformed, "header", "active_set_sha256 without tools", rehead(func(h object) { identityOf(h)["active_set_sha256"] = sha("x") }))
	add("libraries_unsorted", malformed, "header", "libraries in another order", rerich(func(h object) {
		slices.Reverse(identityOf(h)["engine"].(object)["libraries"].([]any))
	}))
	add("learned_without_section", malformed, "header", "learned_version without a learned section", rehead(func(h object) { identityOf(h)["learned_version"] = "x" }))
	add("section_without_learned", malformed, "header", "a learned section without learned_version", rerich(func(h object) { identityOf(h)["learned_version"] = "" }))
	add("tokens_count", malformed, "header", "tokens disagrees with its section", rehead(func(h object) {
		h["tokens"], h["layers"].([]any)[0].(object)["tokens"] = 4, 4
	}))
	add("layers_count", malformed, "header", "the layer disagrees with tokens", rehead(func(h object) { h["layers"].([]any)[0].(object)["tokens"] = 2 }))
	add("layers_none", malformed, "header", "no layer", rehead(func(h object) { h["layers"] = []any{} }))
	qualityOf := func(h object) object { return h["quality"].(object) }
	add("quality_negative", malformed, "header", "a mean_kl below 0", rehead(func(h object) { qualityOf(h)["mean_kl"] = -0.5 }))
	add("quality_of_nothing", malformed, "header", "a mean_kl over no positions", rehead(func(h object) { qualityOf(h)["positions"] = 0 }))
	add("quality_of_f16", malformed, "header", "a measured state of type f16", rehead(func(h object) {
		identityOf(h)["params"].(object)["kv_type_v"] = "f16"
	}))
	add("segment_size", malformed, "header", "another segment size", rehead(func(h object) { h["segment_size"] = 1 << 20 }))
	add("segments_too_many", malformed, "header", "a segment more than the length has", rehead(func(h object) {
		s := section(h, 1)
		seal := sealed.Of(body[alignment:])
		seal.Segments = append(seal.Segments, seal.Segments[0])
		s["segments"], s["blake3"] = seal.Segments, seal.Digest()
	}))
	add("segments_other", malformed, "header", "a section's digest isn't that of its segments", rehead(func(h object) { section(h, 1)["blake3"] = section(h, 0)["blake3"] }))
	add("sections_none", malformed, "header", "no section", rehead(func(h object) { h["sections"] = []any{} }))
	add("sections_no_state", malformed, "header", "no state", rebody(body[:12], func(h object) { h["sections"] = h["sections"].([]any)[:1] }))
	add("sections_swapped", malformed, "header", "state before tokens in the table", rehead(func(h object) { slices.Reverse(h["sections"].([]any)) }))
	add("sections_renamed", malformed, "header", "tokens and state have each other's name", rehead(func(h object) {
		section(h, 0)["name"], section(h, 1)["name"] = "state.prefix", "tokens"
	}))
	add("sections_unknown", malformed, "header", "a section of an unknown name", rehead(func(h object) { section(h, 1)["name"] = "examples" }))
	add("sections_overlap", malformed, "header", "two sections at one place", rebody(body[:12], func(h object) {
		section(h, 1)["offset"] = 0
		reseal(section(h, 1), body[:12])
	}))
	add("sections_hole", malformed, "header", "a page between two sections",
		rebody(slices.Concat(body[:alignment], make([]byte, alignment), body[alignment:]), func(h object) { section(h, 1)["offset"] = 2 * alignment }))
	add("sections_unaligned", malformed, "header", "a section right behind the one before it", rebody(slices.Concat(body[:12], body[alignment:]), func(h object) { section(h, 1)["offset"] = 12 }))
	add("section_length_0", malformed, "header", "an empty state", rebody(body[:alignment], func(h object) { reseal(section(h, 1), nil) }))
	add("section_length_huge", malformed, "header", "a state of 2^52 bytes", rehead(func(h object) { section(h, 1)["length"] = 1 << 52 }))
	add("section_length_negative", malformed, "header", "a state of -100 bytes", rehead(func(h object) { section(h, 1)["length"] = -100 }))

	// Step 3.
	add("body_cut", truncated, "size", "the last byte is missing", good[:len(good)-1])
	add("body_cut_padding", truncated, "size", "cut in the padding after the header", good[:start-5])
	add("body_missing", truncated, "size", "nothing after the header", good[:preludeSize+len(header)])
	add("one_byte_more", trailing, "size", "a zero byte behind the state", append(bytes.Clone(good), 0))
	add("twice", trailing, "size", "the file twice", append(bytes.Clone(good), good...))
	add("padding_header", malformed, "size", "a byte of the padding after the header", edit(func(raw []byte) { raw[start-1] = 1 }))
	add("padding_tokens", payload, "size", "a byte of the padding after the tokens", edit(func(raw []byte) { raw[start+12] = 1 }))

	// Step 5.
	add("tokens_bit", payload, "payload", "one bit of the first token", flip(good, 8*start))
	add("state_bit", payload, "payload", "one bit of the state's last byte", flip(good, 8*len(good)-1))
	add("learned_bit", payload, "payload", "one bit of the learned part", flip(rich, 8*(len(rich)-len(richBody)+alignment)))
	add("contents_swapped", payload, "payload", "learned part and state in each other's place", func() []byte {
		raw := bytes.Clone(rich)
		learned, state := raw[len(raw)-100-alignment:][:100], raw[len(raw)-100:]
		for i := range learned {
			learned[i], state[i] = state[i], learned[i]
		}
		return raw
	}())
	add("foreign_payload", payload, "payload", "the header of one imprint over the state of another", edit(func(raw []byte) {
		copy(raw[len(raw)-100:], pattern(1, 100))
	}))
	add("prefix_other", payload, "payload", "prefix_sha256 isn't that of the tokens", rehead(func(h object) { identityOf(h)["prefix_sha256"] = sha("x") }))

	thinVectors(t, add, contents)
	return vectors, contents
}

// thinVectors are files whose layers lie in the folder beside them. Each has layers of its own, so that one can be
// damaged without the others.
func thinVectors(t *testing.T, add func(name, expect, step, comment string, raw []byte), contents map[string][]byte) {
	_, rows := write(t, layered())
	add("layered", "ok", "", "a state of three layers", rows)
	relayer := func(change func(layers []any)) []byte {
		return reheader(t, rows, func(h object) { change(h["layers"].([]any)) })
	}
	add("layers_twice", malformed, "header", "two layers of one name", relayer(func(l []any) { l[1].(object)["name"] = "contract" }))
	add("layers_renamed", malformed, "header", "a layer whose section has another name", relayer(func(l []any) { l[1].(object)["name"] = "facts" }))
	add("layers_name", malformed, "header", "a layer's name with a slash", relayer(func(l []any) { l[1].(object)["name"] = "../x" }))
	add("layers_empty", malformed, "header", "a layer of no tokens", relayer(func(l []any) { l[0].(object)["tokens"], l[1].(object)["tokens"] = 4, 0 }))
	add("layers_order", malformed, "header", "layers in another order than their sections", relayer(slices.Reverse[[]any]))
	add("layers_many", malformed, "header", "nine layers", reheader(t, rows, func(h object) {
		for i := range 6 {
			h["layers"] = append(h["layers"].([]any), object{"name": strings.Repeat("x", i+1), "tokens": 1})
		}
	}))

	// thin gives the thin form of a content of its own, and puts its layers into the folder, changed.
	thin := func(seed int, change func(layer []byte) []byte) []byte {
		c := layered()
		c.State = sealed.Fresh(pattern(seed, 100), 3).Then(sealed.Fresh(pattern(seed+1, 50), 1)).Then(sealed.Fresh(pattern(seed+2, 70), 2))
		_, raw := write(t, c)
		_, body := split(raw)
		for i, layer := range c.State.Layers() {
			content := layer.Bytes()
			if i == 1 {
				content = change(bytes.Clone(content))
			}
			if content != nil {
				contents["layers/"+sealed.Of(layer.Bytes()).Digest().Hex()+".layer"] = content
			}
		}
		return raw[:len(raw)-len(body)+alignment+len(c.Learned)] // the body has tokens, learned part, and then the layers
	}
	same := func(layer []byte) []byte { return layer }
	add("thin", "ok", "", "three layers in files of their own", thin(10, same))
	add("thin_layer_bit", payload, "payload", "one bit of a layer's file", thin(20, func(layer []byte) []byte { return flip(layer, 77) }))
	add("thin_layer_short", truncated, "size", "a layer's file lacks its last byte", thin(30, func(layer []byte) []byte { return layer[1:] }))
	add("thin_layer_long", trailing, "size", "a byte more in a layer's file", thin(40, func(layer []byte) []byte { return append(layer, 0) }))
	add("thin_layer_missing", truncated, "size", "a layer's file is missing", thin(50, func([]byte) []byte { return nil }))
	whole := thin(60, same)
	add("thin_cut", truncated, "size", "a thin file lacks its last byte", whole[:len(whole)-1])
	add("thin_longer", trailing, "size", "a zero byte behind a thin file", append(bytes.Clone(whole), 0))
}

func knownSeals() []knownSeal {
	var list []knownSeal
	for _, n := range []int{1, sealed.SegmentSize, sealed.SegmentSize + 1, 2*sealed.SegmentSize + 1000} {
		seal := sealed.Of(pattern(0, n))
		k := knownSeal{Length: n, BLAKE3: seal.Digest().String()}
		for _, d := range seal.Segments {
			k.Segments = append(k.Segments, d.String())
		}
		list = append(list, k)
	}
	return list
}

// imprint-v1 §2 to §6 and §11. TestVectors holds this reader to what stands in the folder: every file has the outcome that the index tells, and the
// index tells about every file. With -update it writes both again; a change of a file that was released is a mistake.
func TestVectors(t *testing.T) {
	if *update {
		updateVectors(t)
	}
	raw, err := os.ReadFile(filepath.Join(vectorDir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index vectorIndex
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&index); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"index.json": true}
	for _, v := range index.Vectors {
		seen[v.File] = true
		t.Run(v.File, func(t *testing.T) {
			u, err := imprint.Open(filepath.Join(vectorDir, v.File))
			if err == nil {
				defer u.Close()
				err = u.CheckIntegrity(t.Context())
			}
			if v.Expect == "ok" {
				if err != nil || u.ID().String() != v.ID {
					t.Errorf("got %v, want %s", err, v.ID)
				}
				return
			}
			var r *imprint.Refusal
			if !errors.As(err, &r) || string(r.Fault.Code) != v.Expect || r.Trail.Step.String() != v.Step {
				t.Errorf("got %v, want %s at step %s (%s)", err, v.Expect, v.Step, v.Comment)
			}
		})
	}
	dir, err := os.ReadDir(vectorDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range dir {
		if !seen[f.Name()] && f.Name() != ".gitattributes" && f.Name() != imprint.LayerFolder {
			t.Errorf("the index doesn't know %s", f.Name())
		}
	}
	if d := cmp.Diff(index.Segments, knownSeals()); d != "" {
		t.Error(d)
	}
}

// TestVectorsAreWhatTheGeneratorMakes keeps the generator and the folder together.
func TestVectorsAreWhatTheGeneratorMakes(t *testing.T) {
	_, contents := vectorFiles(t)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		raw, err := os.ReadFile(filepath.Join(vectorDir, name))
		if err != nil || !bytes.Equal(raw, contents[name]) {
			t.Errorf("%s differs from what is generated: %v", name, err)
		}
	}
	layers, err := os.ReadDir(filepath.Join(vectorDir, imprint.LayerFolder))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range layers {
		if contents[imprint.LayerFolder+"/"+f.Name()] == nil {
			t.Errorf("nothing generates %s", f.Name())
		}
	}
}

func updateVectors(t *testing.T) {
	if err := os.MkdirAll(filepath.Join(vectorDir, imprint.LayerFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(vectorDir, "*.imprint"))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := filepath.Glob(filepath.Join(vectorDir, imprint.LayerFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	old = append(old, layers...)
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	vectors, contents := vectorFiles(t)
	for name, raw := range contents {
		if err := os.WriteFile(filepath.Join(vectorDir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index := vectorIndex{imprint.Format, "go test ./imprint -run TestVectors -update", vectors, knownSeals()}
	raw, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(vectorDir, "index.json"), append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
