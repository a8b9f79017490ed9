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

// layoutsFile is EDGE_HOME/models/layouts.json: what was found when models were optimised, and the files that were made.
// Such a file is used only under the digest that it has here, so a damaged record is an error and not an empty one.
type layoutsFile struct {
	Schema string   `json:"schema"`
	Runs   []layRun `json:"runs"`
}

// layRun is one run of Optimize: of every layout, or of the one that was asked for.
type layRun struct {
	Source      Source         `json:"source"`
	Asked       Layout         `json:"asked"` // "": every one
	Threads     int            `json:"threads"`
	Results     []LayoutResult `json:"results"`
	Recommended Layout         `json:"recommended"` // "": the file as it is
	Made        *madeLayout    `json:"made"`
}

// Source is the file that was requantised.
type Source struct {
	Name   string        `json:"name"`
	Layout Layout        `json:"layout"`
	Size   int64         `json:"size"`
	SHA256 digest.SHA256 `json:"sha256"`
}

type madeLayout struct {
	Name   string        `json:"name"`
	File   string        `json:"file"` // in the models folder
	Layout Layout        `json:"layout"`
	Size   int64         `json:"size"`
	SHA256 digest.SHA256 `json:"sha256"`
}

const layoutsSchema = "edge.model_layouts/v1"

func (s *Store) layoutsPath() string { return filepath.Join(s.cfg.Home.Models(), "layouts.json") }

func (s *Store) loadLayouts() (layoutsFile, error) {
	raw, err := readShort(s.layoutsPath(), maxPinsBytes)
	if notThere(err) {
		return layoutsFile{Schema: layoutsSchema}, nil
	}
	if err != nil {
		return layoutsFile{}, err
	}
	var file layoutsFile
	err = canon.Unmarshal(raw, &file)
	for _, r := range file.Runs {
		if r.Made != nil && (filepath.Base(r.Made.File) != r.Made.File || r.Made.SHA256.IsZero()) {
			err = errors.Join(err, errors.New("a file without a digest, or elsewhere"))
		}
	}
	if err != nil || file.Schema != layoutsSchema {
		return layoutsFile{}, fault.New(fault.CodeModelDigestMismatch, "the record of requantised models, %s, is damaged: %v", s.layoutsPath(), err).
			WithHint("remove it and run: edge models optimize")
	}
	return file, nil
}

// run is the run that did, for a file, what is asked for: one that looked at every layout, or one that made this one.
func (f layoutsFile) run(source digest.SHA256, asked Layout) (layRun, bool) {
	i := slices.IndexFunc(f.Runs, func(r layRun) bool {
		return r.Source.SHA256 == source && (r.Asked == asked || r.Made != nil && r.Made.Layout == asked)
	})
	if i < 0 {
		return layRun{}, false
	}
	return f.Runs[i], true
}

// made is the run that made the model with that name.
func (f layoutsFile) made(name string) (layRun, bool) {
	i := slices.IndexFunc(f.Runs, func(r layRun) bool { return r.Made != nil && r.Made.Name == name })
	if i < 0 {
		return layRun{}, false
	}
	return f.Runs[i], true
}

// saveRun adds a run in place of those that it repeats or whose file it replaced. The caller holds the setup lock.
func (s *Store) saveRun(new layRun) error {
	file, err := s.loadLayouts()
	if err != nil {
		return err
	}
	file.Runs = append(slices.DeleteFunc(file.Runs, func(r layRun) bool {
		replaced := new.Made != nil && r.Made != nil && r.Made.Name == new.Made.Name && r.Made.SHA256 != new.Made.SHA256
		return replaced || r.Source.SHA256 == new.Source.SHA256 && r.Asked == new.Asked
	}), new)
	raw, err := canon.Marshal(file)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(s.layoutsPath(), 0o600, append(raw, '\n'))
}
