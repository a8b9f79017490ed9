package learn

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"edge/internal/canon"
)

// LearnedVersion is the version of the learned section: its shape, and how what is in it is used.
const LearnedVersion = "1"

// Learned is what an imprint holds beside the model's state: the selection head; the examples, that the argument counts
// are made from again in microseconds; and the profile, so that a chat can render the whole prompt anew and compare.
type Learned struct {
	Head     *Head // nil: the model chooses by itself
	Profile  Profile
	Examples []Example
}

// wire is the JSON shape of the learned section. Vectors are base64 of IEEE 754 binary32, little-endian.
type wire struct {
	Version  string    `json:"version"`
	Head     *wireHead `json:"head"`
	Profile  Profile   `json:"profile"`
	Examples []Example `json:"examples"`
}

type wireHead struct {
	Classes []string `json:"classes"`
	Mean    string   `json:"mean"`
	Scale   string   `json:"scale"`
	Means   []string `json:"means"`
}

// Encode writes the section: canonical JSON.
func (l *Learned) Encode() ([]byte, error) {
	w := wire{Version: LearnedVersion, Profile: l.Profile, Examples: l.Examples}
	if w.Examples == nil {
		w.Examples = []Example{}
	}
	if h := l.Head; h != nil {
		w.Head = &wireHead{Classes: h.Classes, Mean: pack(h.Mean), Scale: pack(h.Scale)}
		for _, m := range h.Means {
			w.Head.Means = append(w.Head.Means, pack(m))
		}
	}
	return canon.Marshal(w)
}

// DecodeLearned reads the section. The bytes were digested before, so an error here is another version's or a bug's.
func DecodeLearned(raw []byte) (*Learned, error) {
	var w wire
	if err := canon.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("learned section: %w", err)
	}
	if w.Version != LearnedVersion {
		return nil, fmt.Errorf("learned section: version %q, want %q", w.Version, LearnedVersion)
	}
	l := &Learned{Profile: w.Profile, Examples: w.Examples}
	if w.Head == nil {
		return l, nil
	}
	h := &Head{Classes: w.Head.Classes}
	var err error
	if h.Mean, err = unpack(w.Head.Mean, -1); err != nil {
		return nil, err
	}
	if h.Scale, err = unpack(w.Head.Scale, len(h.Mean)); err != nil {
		return nil, err
	}
	for _, m := range w.Head.Means {
		v, err := unpack(m, len(h.Mean))
		if err != nil {
			return nil, err
		}
		h.Means = append(h.Means, v)
	}
	if len(h.Means) != len(h.Classes) || len(h.Classes) < 2 {
		return nil, fmt.Errorf("learned section: %d classes, %d vectors", len(h.Classes), len(h.Means))
	}
	l.Head = h
	return l, nil
}

func pack(v Vector) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// unpack reads a vector of dim dimensions, or of any where dim is −1.
func unpack(text string, dim int) (Vector, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw)%4 != 0 || dim >= 0 && len(raw) != 4*dim {
		return nil, fmt.Errorf("learned section: a vector of %d bytes, want %d dimensions", len(raw), dim)
	}
	v := make(Vector, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v, nil
}
