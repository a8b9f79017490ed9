package imprint

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/sealed"
)

// Format is the value of Header.Format, and FormatVersion the number in the prelude that goes with it.
const (
	Format        = "edge.imprint/v1"
	FormatVersion = 1
)

// Names of the sections, in their order in the file.
const (
	SectionTokens  = "tokens"  // the prefix's token ids, 32-bit little-endian
	SectionLearned = "learned" // what was learned about choosing tools; absent where nothing was
	SectionState   = "state"   // the engine's state, as the engine wrote it
)

// LayerPrefix is the only layer of format version 1: the whole prefix.
const LayerPrefix = "prefix"

// Header is the file's table of contents, and its digest is the artifact's ID. It is written as canonical JSON; every
// field is always present.
type Header struct {
	// Format is "edge.imprint/v1".
	Format string `json:"format"`
	// Identity is what the state and the learned part depend on; the gate compares it.
	Identity Identity `json:"identity"`
	// BakedOn tells where the state was computed. Nothing is compared with it.
	BakedOn Platform `json:"baked_on"`
	// Tokens is how many tokens the state stands for.
	Tokens int `json:"tokens"`
	// Layers are the parts of the prefix that can be told apart; their tokens add up to Tokens.
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

// Layer is one part of the prefix.
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

// PayloadBytes is the length of the engine's state.
func (h Header) PayloadBytes() int64 {
	s, _ := h.section(SectionState)
	return s.Length
}

func (h Header) section(name string) (Section, bool) {
	for _, s := range h.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
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
	if len(h.Layers) != 1 || h.Layers[0] != (Layer{LayerPrefix, h.Tokens}) {
		return fmt.Errorf("layers: got %v, want one %q of %d tokens", h.Layers, LayerPrefix, h.Tokens)
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
	if !slices.Equal(names, []string{SectionTokens, SectionState}) &&
		!slices.Equal(names, []string{SectionTokens, SectionLearned, SectionState}) {
		return fmt.Errorf("got %q, want tokens, learned (if there is one) and state", names)
	}
	return nil
}
