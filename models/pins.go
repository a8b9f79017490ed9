package models

import (
	"errors"
	"path/filepath"
	"slices"

	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

// pinsFile is EDGE_HOME/models/pins.json: the digests of models that were pinned when they were first fetched. It is
// what later downloads and every use are held against, so a damaged one is an error and not an empty one.
type pinsFile struct {
	Schema string `json:"schema"`
	Pins   []pin  `json:"pins"`
}

type pin struct {
	Name   string        `json:"name"` // of the reference
	File   string        `json:"file"` // below the models folder, with slashes
	Size   int64         `json:"size"`
	SHA256 digest.SHA256 `json:"sha256"`
	Source string        `json:"source"`
}

const (
	pinsSchema   = "edge.model_pins/v1"
	maxPinsBytes = 1 << 20
)

func (s *Store) pinsPath() string { return filepath.Join(s.cfg.Home.Models(), "pins.json") }

func (s *Store) loadPins() (pinsFile, error) {
	raw, err := readShort(s.pinsPath(), maxPinsBytes)
	if notThere(err) {
		return pinsFile{Schema: pinsSchema}, nil
	}
	if err != nil {
		return pinsFile{}, err
	}
	var pins pinsFile
	err = canon.Unmarshal(raw, &pins)
	for _, p := range pins.Pins {
		if !filepath.IsLocal(filepath.FromSlash(p.File)) || p.SHA256.IsZero() {
			err = errors.Join(err, errors.New("a pin without a digest or with a file elsewhere"))
		}
	}
	if err != nil || pins.Schema != pinsSchema {
		return pinsFile{}, fault.New(fault.CodeModelDigestMismatch, "the record of pinned models, %s, is damaged: %v", s.pinsPath(), err).
			WithHint("remove it and pull the models again; what is there need not be transferred twice")
	}
	return pins, nil
}

// find is the pin of a file of Hugging Face.
func (p pinsFile) find(f HuggingFaceFile) (pin, bool) {
	name := f.reference().Name
	i := slices.IndexFunc(p.Pins, func(p pin) bool { return f.Repo != "" && p.Name == name })
	if i < 0 {
		return pin{}, false
	}
	return p.Pins[i], true
}

// savePin adds a pin. The caller holds the setup lock.
func (s *Store) savePin(new pin) error {
	pins, err := s.loadPins()
	if err != nil {
		return err
	}
	pins.Pins = append(slices.DeleteFunc(pins.Pins, func(p pin) bool { return p.Name == new.Name }), new)
	raw, err := canon.Marshal(pins)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(s.pinsPath(), 0o600, append(raw, '\n'))
}
