package imprint

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/sealed"
)

// Format is the value of Header.Format, and FormatVersion the number in the prelude that goes with it.
const (
	Format        = "edge.imprint/v1"
	FormatVersion = 1
)

// The kinds of states. A state whose cache is of type KindReplay is the rendered prefix itself, for a server that keeps
// what it computes to itself; any other is what an engine computed.
const (
	KindState  = "state"
	KindReplay = "prefix_replay"
)

// Names of the sections, in their order in the file. Behind them comes one section for each layer of the state, as the
// engine wrote it, named by SectionState and the layer's name.
const (
	SectionTokens  = "tokens"  // the prefix's token ids, 32-bit little-endian
	SectionLearned = "learned" // what was learned about choosing tools; absent where nothing was
	SectionState   = "state."
)

const (
	// LayerPrefix is the name of the only layer of a state that isn't cut.
	LayerPrefix = "prefix"
	// MaxLayers bounds how many layers a state has.
	MaxLayers = 8

	maxLayerName = 32
)

// Header is the file's table of contents, and its digest is the artifact's ID. It is written as canonical JSON; every
// field is always present.
type Header struct {
	// Format is "edge.imprint/v1".
	Format string `json:"format"`
	// Identity is what the state and the learned part depend on; the gate compares it.
	Identity Identity `json:"identity"`
	// BakedOn tells where the state was computed. Nothing is compared with it.
	BakedOn Platform `json:"baked_on"`
	// Quality says what a cache of less than 16 bits costs. Nothing is compared with it.
	Quality Quality `json:"quality"`
	// Tokens is how many tokens the state stands for.
	Tokens int `json:"tokens"`
	// Layers are the parts that the prefix and its state consist of, in their order; their tokens add up to Tokens. Layers
	// with the same digest, in the same place behind the same ones, are the same part of two imprints.
	Layers []Layer `json:"layers"`
	// SegmentSize is the length of every segment of a section but its last.
	SegmentSize int `json:"segment_size"`
	// Sections stand in the file in this order.
	Sections []Section `json:"sections"`
}

// Platform is the machine that baked: GOOS, GOARCH, and the engine's own name for the processor variant.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPU  string `json:"cpu"`
}

// Quality is how far the next-token distributions behind a state are from those behind one of type f16: the mean
// Kullback-Leibler divergence, in nats, over so many positions. A state of type f16 has 0 of 0.
type Quality struct {
	MeanKL    float64 `json:"mean_kl"`
	Positions int     `json:"positions"`
}

func (q Quality) check(p Params) error {
	plain := p.KVTypeK == "f16" && p.KVTypeV == "f16"
	if !(q.MeanKL >= 0 && q.MeanKL < math.MaxFloat64) || q.Positions < 0 || q.Positions > math.MaxInt32 || (q.Positions == 0 || plain) && q != (Quality{}) {
		return fmt.Errorf("a mean_kl of %v over %d positions", q.MeanKL, q.Positions)
	}
	return nil
}

// Layer is one part of the prefix. Its name is 1 to 32 letters a to z.
type Layer struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// Section is one run of bytes of the file's body.
type Section struct {
	// Name is one of the Section constants.
	Name string `json:"name"`
	// Offset counts from the body's first byte and is a multiple of Alignment.
	Offset int64 `json:"offset"`
	// Length in bytes is at least 1.
	Length int64 `json:"length"`
	// BLAKE3 names the section's content: the digest of the segments' digests, concatenated.
	BLAKE3 digest.BLAKE3 `json:"blake3"`
	// Segments are the digests of the content's pieces of SegmentSize bytes, so that all cores can check it at once.
	Segments []digest.BLAKE3 `json:"segments"`
}

func (s Section) seal() sealed.Seal { return sealed.Seal{Length: s.Length, Segments: s.Segments} }

// PayloadBytes is the length of the engine's state, all layers together.
func (h Header) PayloadBytes() int64 {
	n := int64(0)
	for _, s := range h.states() {
		n += s.Length
	}
	return n
}

// Kind says what the state is: KindState or KindReplay.
func (h Header) Kind() string {
	if h.Identity.Params.KVTypeK == KindReplay {
		return KindReplay
	}
	return KindState
}

// LayerSections are the sections of the layers, in the order of Layers; the caller owns them.
func (h Header) LayerSections() []Section { return cloneList(h.states()) }

// states are the sections of the layers.
func (h Header) states() []Section { return h.Sections[len(h.Sections)-len(h.Layers):] }

func (h Header) section(name string) (Section, bool) {
	for _, s := range h.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// headLength is where the last section before the layers ends, counted from the body's first byte.
func (h Header) headLength() int64 {
	last := h.Sections[len(h.Sections)-len(h.Layers)-1]
	return last.Offset + last.Length
}

// bodyLength is where the last section ends, counted from the body's first byte.
func (h Header) bodyLength() int64 {
	last := h.Sections[len(h.Sections)-1]
	return last.Offset + last.Length
}

// clone gives a Header that shares no memory with h.
func (h Header) clone() Header {
	h.Identity = h.Identity.clone()
	h.Layers = cloneList(h.Layers)
	h.Sections = cloneList(h.Sections)
	for i := range h.Sections {
		h.Sections[i].Segments = cloneList(h.Sections[i].Segments)
	}
	return h
}

// encode gives the header's only form.
func (h Header) encode() ([]byte, error) { return canon.Marshal(h) }

// parseHeader reads the only form of a header that makes sense: strict JSON, nothing unknown, missing, repeated or
// null, the very bytes that encode gives, and a table that describes one possible file.
func parseHeader(raw []byte) (Header, error) {
	var h Header
	if err := canon.Unmarshal(raw, &h); err != nil {
		return Header{}, err
	}
	again, err := h.clone().encode() // clone writes a null list as an empty one, so that null is another form too
	if err != nil {
		return Header{}, err
	}
	if !bytes.Equal(raw, again) {
		return Header{}, errors.New("it isn't in canonical form (RFC 8785) with every field present")
	}
	if err := h.check(); err != nil {
		return Header{}, err
	}
	return h, nil
}

func (h Header) check() error {
	if h.Format != Format {
		return fmt.Errorf("format: got %q, want %q", h.Format, Format)
	}
	if err := h.Identity.Check(); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if err := h.Quality.check(h.Identity.Params); err != nil {
		return fmt.Errorf("quality: %w", err)
	}
	if err := h.checkLayers(); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	if h.SegmentSize != sealed.SegmentSize {
		return fmt.Errorf("segment_size: got %d, want %d", h.SegmentSize, sealed.SegmentSize)
	}
	if err := h.checkSections(); err != nil {
		return fmt.Errorf("sections: %w", err)
	}
	tokens, _ := h.section(SectionTokens)
	// A token's position is a 32-bit signed number in every engine.
	if h.Tokens < 1 || h.Tokens > math.MaxInt32 || tokens.Length != 4*int64(h.Tokens) {
		return fmt.Errorf("tokens: %d in a section of %d bytes", h.Tokens, tokens.Length)
	}
	_, learned := h.section(SectionLearned)
	if learned != (h.Identity.LearnedVersion != "") {
		return errors.New("identity.learned_version goes with the learned section, and only with it")
	}
	return nil
}

// checkLayers wants names that are words, each once, and tokens that add up.
func (h Header) checkLayers() error {
	if len(h.Layers) < 1 || len(h.Layers) > MaxLayers {
		return fmt.Errorf("got %d, want 1 to %d", len(h.Layers), MaxLayers)
	}
	tokens := 0
	for i, l := range h.Layers {
		switch {
		case !isLayerName(l.Name) || slices.ContainsFunc(h.Layers[:i], func(o Layer) bool { return o.Name == l.Name }):
			return fmt.Errorf("the name %q", l.Name)
		case l.Tokens < 1 || l.Tokens > math.MaxInt32:
			return fmt.Errorf("%q: %d tokens", l.Name, l.Tokens)
		}
		tokens += l.Tokens
	}
	if tokens != h.Tokens {
		return fmt.Errorf("%d tokens together, and the prefix has %d", tokens, h.Tokens)
	}
	return nil
}

// isLayerName wants 1 to 32 letters a to z.
func isLayerName(name string) bool {
	return name != "" && len(name) <= maxLayerName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == ""
}

// checkSections wants exactly the sections there can be, in their order, each where the one before it ends, rounded up
// to the alignment. So there is no hole, no overlap and no freedom.
func (h Header) checkSections() error {
	var names []string
	next := int64(0)
	for _, s := range h.Sections {
		names = append(names, s.Name)
		switch {
		case s.Offset != next:
			return fmt.Errorf("%q: offset: got %d, want %d", s.Name, s.Offset, next)
		case s.Length < 1 || s.Length > maxBody-s.Offset:
			return fmt.Errorf("%q: length %d", s.Name, s.Length)
		}
		if err := s.seal().Check(); err != nil {
			return fmt.Errorf("%q: %w", s.Name, err)
		}
		if got := s.seal().Digest(); got != s.BLAKE3 {
			return fmt.Errorf("%q: its segments have the digest %s, it says %s", s.Name, got, s.BLAKE3)
		}
		next = align(s.Offset + s.Length)
	}
	want := []string{SectionTokens}
	if len(h.Sections) == len(h.Layers)+2 {
		want = append(want, SectionLearned)
	}
	for _, l := range h.Layers {
		want = append(want, SectionState+l.Name)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("got %q, want tokens, learned (if there is one) and one for each layer", names)
	}
	return nil
}
