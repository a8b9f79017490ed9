package learn

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"edge/internal/canon"
	"edge/tools"
)

// LearnedVersion is the version of the learned section: its shape, and how what is in it is used.
const LearnedVersion = "2"

// Learned is what an imprint holds beside the model's state: the selection head; the examples, that the argument counts
// are made from again in microseconds; and the profile, so that a chat can render the whole prompt anew and compare.
type Learned struct {
	Head     *Head     // nil: words choose alone
	Words    float64   // what words that a request shares with a tool count beside the head's cosines
	Evidence *Evidence // nil: no example says what is usual, and the request's own words decide
	Profile  Profile
	Examples []Example
}

// wire is the JSON shape of the learned section. Vectors are base64 of IEEE 754 binary32, little-endian.
type wire struct {
	Version  string        `json:"version"`
	Head     *wireHead     `json:"head"`
	Words    float64       `json:"words"`
	Evidence *wireEvidence `json:"evidence"`
	Profile  Profile       `json:"profile"`
	Examples []Example     `json:"examples"`
}

type wireHead struct {
	Classes []string   `json:"classes"`
	Views   []wireView `json:"views"`
}

type wireEvidence struct {
	Margin    float64            `json:"margin"`
	Arguments map[string]float64 `json:"arguments"`
	Threshold float64            `json:"threshold"`
}

type wireView struct {
	Mean  string   `json:"mean"`
	Scale string   `json:"scale"`
	Means []string `json:"means"`
}

// Encode writes the section: canonical JSON.
func (l *Learned) Encode() ([]byte, error) {
	w := wire{Version: LearnedVersion, Words: l.Words, Profile: l.Profile, Examples: l.Examples}
	if w.Examples == nil {
		w.Examples = []Example{}
	}
	if h := l.Head; h != nil {
		w.Head = &wireHead{Classes: h.Classes}
		for _, v := range h.Views {
			view := wireView{Mean: pack(v.Mean), Scale: pack(v.Scale)}
			for _, m := range v.Means {
				view.Means = append(view.Means, pack(m))
			}
			w.Head.Views = append(w.Head.Views, view)
		}
	}
	if e := l.Evidence; e != nil {
		w.Evidence = (*wireEvidence)(e)
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
	l := &Learned{Words: w.Words, Profile: w.Profile, Examples: w.Examples, Evidence: (*Evidence)(w.Evidence)}
	if w.Head == nil {
		return l, nil
	}
	h := &Head{Classes: w.Head.Classes}
	for _, view := range w.Head.Views {
		v, err := view.decode(len(h.Classes))
		if err != nil {
			return nil, err
		}
		h.Views = append(h.Views, v)
	}
	if len(h.Views) != views || len(h.Classes) < 2 {
		return nil, fmt.Errorf("learned section: %d views of %d classes", len(h.Views), len(h.Classes))
	}
	for i, class := range h.Classes[1:] {
		if class <= h.Classes[i] {
			return nil, fmt.Errorf("learned section: the classes aren't sorted by distinct names: %q", h.Classes)
		}
	}
	l.Head = h
	return l, nil
}

// Suits reports why l can't be used with a model whose hidden states have dim dimensions and with these tools. Anyone
// can make an imprint whose digests are right.
func (l *Learned) Suits(dim int, set *tools.ActiveSet) error {
	if l.Head == nil {
		return nil
	}
	for _, v := range l.Head.Views {
		if len(v.Mean) != dim {
			return fmt.Errorf("learned section: vectors of %d dimensions, and the model's have %d", len(v.Mean), dim)
		}
	}
	for _, class := range l.Head.Classes {
		if class == NoTool {
			continue
		}
		if set == nil || !slices.Contains(set.Names(), class) {
			return fmt.Errorf("learned section: the class %q is no active tool", class)
		}
	}
	return nil
}

func (w wireView) decode(classes int) (v HeadView, err error) {
	if v.Mean, err = unpack(w.Mean, -1); err != nil {
		return v, err
	}
	if v.Scale, err = unpack(w.Scale, len(v.Mean)); err != nil {
		return v, err
	}
	for _, text := range w.Means {
		m, err := unpack(text, len(v.Mean))
		if err != nil {
			return v, err
		}
		v.Means = append(v.Means, m)
	}
	if len(v.Means) != classes {
		return v, fmt.Errorf("learned section: %d vectors for %d classes", len(v.Means), classes)
	}
	return v, nil
}

func pack(v Vector) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// unpack reads a vector of dim dimensions, or of any number of them where dim is −1.
func unpack(text string, dim int) (Vector, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) == 0 || len(raw)%4 != 0 || dim >= 0 && len(raw) != 4*dim {
		return nil, fmt.Errorf("learned section: a vector of %d bytes, want %d dimensions", len(raw), dim)
	}
	v := make(Vector, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if x := float64(v[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("learned section: dimension %d of a vector isn't a number", i)
		}
	}
	if pack(v) != text { // the decoder passes over line ends
		return nil, fmt.Errorf("learned section: a vector isn't written in its only form")
	}
	return v, nil
}
