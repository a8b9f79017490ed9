package evolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/learn"
)

// ManifestSchema names the note that says what an imprint was learned from.
const ManifestSchema = "edge.evolve_learned/v1"

// Manifest is what an imprint was learned from: the generated tools file, and the library's tools as they were.
type Manifest struct {
	Schema     string         `json:"schema"`
	ImprintID  string         `json:"imprint_id"`
	FileSHA256 digest.SHA256  `json:"file_sha256"`
	Tools      []LearnedState `json:"tools"`
}

// LearnedState is one tool as it was learned.
type LearnedState struct {
	Name             string        `json:"name"`
	SourceSHA256     digest.SHA256 `json:"source_sha256"`
	ParametersSHA256 digest.SHA256 `json:"parameters_sha256"`
}

// Best chooses what is learned: tools that work, the most used first, then the most successful, at most MaxLearned.
func Best(list []Record) []Record {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return r.Quarantined || !r.Validated && r.Successes == 0 })
	slices.SortStableFunc(list, func(a, b Record) int {
		if a.Uses != b.Uses {
			return b.Uses - a.Uses
		}
		return b.Successes - a.Successes
	})
	return list[:min(len(list), MaxLearned)]
}

// Lesson is what goes into a learning run.
type Lesson struct {
	File   []byte // the generated tools file
	Sample []byte // edge.learn_sample/v1
	Tools  []LearnedState
}

// NewLesson makes a tools file of some tools and a sample of the requests that they answered, with two requests that no
// tool answers.
func NewLesson(records []Record, packages string) (Lesson, error) {
	if len(records) == 0 {
		return Lesson{}, fault.New(fault.CodeNoToolsFound, "the library has no tool that has run well").
			WithHint("let edge evolve make one first, or run: edge evolve tools test")
	}
	file, err := wrap(records, wrapOptions{Packages: packages})
	if err != nil {
		return Lesson{}, err
	}
	l := Lesson{File: file}
	sample := learn.Sample{Schema: learn.SampleSchema, Examples: []learn.Example{}, Holdout: []learn.Example{}}
	sample.Profile.Facts = []string{}
	for _, r := range records {
		l.Tools = append(l.Tools, LearnedState{r.Name, r.SourceSHA256, r.ParametersSHA256})
		list, err := signature(r.Parameters)
		if err != nil {
			return Lesson{}, err
		}
		for _, e := range r.Examples {
			args := map[string]json.RawMessage{}
			if err := json.Unmarshal(e.Arguments, &args); err != nil {
				return Lesson{}, err
			}
			adapted, err := adapt(args, list)
			if err != nil {
				return Lesson{}, err
			}
			sample.Examples = append(sample.Examples, learn.Example{Prompt: e.Request, Call: &learn.ExampleCall{ToolName: r.Name, Arguments: adapted}})
		}
	}
	for _, pair := range [][2]string{{"Hello", "Hello! What can I do for you?"}, {"Thanks, bye", "You're welcome."}} {
		sample.Examples = append(sample.Examples, learn.Example{Prompt: pair[0], Answer: &pair[1]})
	}
	l.Sample, err = canon.Marshal(sample)
	return l, err
}

// Keep writes down, in a folder named for the imprint, what it was learned from.
func (p Place) Keep(imprintID string, l Lesson) error {
	id, err := digest.ParseBLAKE3(imprintID)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.Learned(), id.Hex())
	if err := home.Ensure(dir); err != nil {
		return err
	}
	note, err := canon.Marshal(Manifest{ManifestSchema, imprintID, digest.SHA256Of(l.File), l.Tools})
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.WriteBytes(filepath.Join(dir, "tools.py"), 0o600, l.File), atomicfile.WriteBytes(filepath.Join(dir, "learned.json"), 0o600, note))
}

// Recall finds the tools file of an imprint, and refuses it where the library's tools aren't the learned ones any more.
// Errors: imprint_requires_tools where nothing was learned here by that id, tools_file_changed.
func (p Place) Recall(imprintID string, library *Library) (path string, names []string, err error) {
	id, err := digest.ParseBLAKE3(imprintID)
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(p.Learned(), id.Hex())
	const again = "learn again: edge evolve learn"
	raw, err := os.ReadFile(filepath.Join(dir, "learned.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fault.New(fault.CodeImprintRequiresTools, "the imprint %s wasn't learned from this library", imprintID).WithHint(again)
	}
	if err != nil {
		return "", nil, err
	}
	var m Manifest
	if err := canon.Unmarshal(raw, &m); err != nil || m.Schema != ManifestSchema || m.ImprintID != imprintID {
		return "", nil, fault.New(fault.CodeToolsFileChanged, "%s isn't what was written", filepath.Join(dir, "learned.json")).WithHint(again)
	}
	path = filepath.Join(dir, "tools.py")
	file, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	changed := fault.New(fault.CodeToolsFileChanged, "the library's tools aren't the ones that the imprint was learned from").WithHint(again)
	if got := digest.SHA256Of(file); got != m.FileSHA256 {
		changed.Mismatches = append(changed.Mismatches, fault.Mismatch{Field: "tools_file_sha256", Want: m.FileSHA256.String(), Got: got.String()})
	}
	for _, t := range m.Tools {
		names = append(names, t.Name)
		if got := library.state(t.Name); got != t.state() {
			changed.Mismatches = append(changed.Mismatches, fault.Mismatch{Field: "tools." + t.Name, Want: t.state(), Got: got})
		}
	}
	if len(changed.Mismatches) > 0 {
		return "", nil, changed
	}
	return path, names, nil
}

func (s LearnedState) state() string { return fmt.Sprintf("%s %s", s.SourceSHA256, s.ParametersSHA256) }

// state names a tool's code and parameters.
func (l *Library) state(name string) string {
	switch r, ok := l.Get(name); {
	case !ok:
		return "absent"
	case r.Quarantined:
		return "quarantined"
	default:
		return LearnedState{r.Name, r.SourceSHA256, r.ParametersSHA256}.state()
	}
}
