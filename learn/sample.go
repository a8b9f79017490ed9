package learn

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	strict "github.com/go-json-experiment/json"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// SampleSchema names the shape of a sample file.
const SampleSchema = "edge.learn_sample/v1"

// maxSampleBytes bounds a sample file; what doesn't fit a context is refused later, with the count of tokens.
const maxSampleBytes = 4 << 20

// Sample is a sample file: who the assistant is, and requests with the call or the answer that they should get.
type Sample struct {
	Schema   string    `json:"schema"`
	Profile  Profile   `json:"profile"`
	Examples []Example `json:"examples"`
	Holdout  []Example `json:"holdout"` // never learned from, only evaluated on

	// LeftOut is how many examples and requests of the holdout call a tool that the tools file has and the selection
	// leaves out: they are of no use to this run, and no mistake.
	LeftOut int `json:"-"`
	// SHA256 digests the bytes that were read; only ReadSample sets it.
	SHA256 digest.SHA256 `json:"-"`
}

// Profile is what the assistant knows about itself and its user.
type Profile struct {
	System string   `json:"system"`
	Facts  []string `json:"facts"`
}

// Example is one request with its right reply: a call, or an answer. In a holdout an answer may be null: any answer
// without a call is right.
type Example struct {
	Prompt string       `json:"prompt"`
	Call   *ExampleCall `json:"call"`
	Answer *string      `json:"answer"`
}

// ExampleCall is a call as a sample file writes it.
type ExampleCall struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ReadSample reads a sample file and checks it against the active set; a nil set has no tools.
//
// Errors: sample_file_not_found; invalid_sample_file naming the entry, as "examples[3]".
func ReadSample(path string, set *tools.ActiveSet) (*Sample, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, fault.New(fault.CodeSampleFileNotFound, "sample file %s isn't there", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fault.New(fault.CodeInvalidSampleFile, "%s is a folder", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSampleBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSampleBytes {
		return nil, fault.New(fault.CodeInvalidSampleFile, "%s is larger than %d bytes", path, maxSampleBytes)
	}
	s, err := ParseSample(raw, set)
	if e := fault.From(err); e != nil {
		e.Message = path + ": " + e.Message
		return nil, e
	}
	s.SHA256 = digest.SHA256Of(raw)
	return s, nil
}

// ParseSample is ReadSample for content that is in memory.
func ParseSample(raw []byte, set *tools.ActiveSet) (*Sample, error) {
	var s Sample
	if err := canon.Unmarshal(raw, &s); err != nil {
		return nil, fault.New(fault.CodeInvalidSampleFile, "%s", shapeTrouble(err))
	}
	if s.Schema != SampleSchema {
		return nil, fault.New(fault.CodeInvalidSampleFile, "schema is %q, want %q", s.Schema, SampleSchema)
	}
	for i, f := range s.Profile.Facts {
		if strings.TrimSpace(f) == "" {
			return nil, fault.New(fault.CodeInvalidSampleFile, "profile.facts[%d] is empty", i)
		}
	}
	var err error
	if s.Examples, err = s.checkAll("examples", s.Examples, set, false); err != nil {
		return nil, err
	}
	if s.Holdout, err = s.checkAll("holdout", s.Holdout, set, true); err != nil {
		return nil, err
	}
	return &s, nil
}

// checkAll gives the examples that this run can use.
func (s *Sample) checkAll(name string, list []Example, set *tools.ActiveSet, holdout bool) ([]Example, error) {
	var used []Example
	for i := range list {
		if call := list[i].Call; call != nil && set != nil && slices.Contains(set.Inactive(), call.ToolName) {
			s.LeftOut++
			continue
		}
		if err := checkExample(&list[i], set, holdout); err != nil {
			return nil, fault.New(fault.CodeInvalidSampleFile, "%s[%d]: %w", name, i, err)
		}
		used = append(used, list[i])
	}
	return used, nil
}

// shapeTrouble says in a user's words where JSON departs from the shape; the decoder's name types of Go.
func shapeTrouble(err error) string {
	var e *strict.SemanticError
	if !errors.As(err, &e) {
		return err.Error()
	}
	place := ""
	for part := range e.JSONPointer.Tokens() {
		switch {
		case strings.Trim(part, "0123456789") == "":
			place += "[" + part + "]"
		case place == "":
			place = part
		default:
			place += "." + part
		}
	}
	switch {
	case errors.Is(err, strict.ErrUnknownName):
		return place + ": the sample file has no such field"
	case place == "":
		place = "the file"
	}
	return place + ": a JSON " + strings.NewReplacer("{", "object", "[", "array").Replace(e.JSONKind.String()) + " can't stand here"
}

func checkExample(e *Example, set *tools.ActiveSet, holdout bool) error {
	switch {
	case strings.TrimSpace(e.Prompt) == "":
		return errors.New("prompt is missing or empty")
	case e.Call != nil && e.Answer != nil:
		return errors.New("it has both a call and an answer")
	case e.Call == nil && holdout:
		return nil
	case e.Call == nil && (e.Answer == nil || strings.TrimSpace(*e.Answer) == ""):
		return errors.New("it has neither a call nor an answer")
	case e.Call == nil:
		return nil
	case set == nil:
		return errors.New("it calls a tool, and no tools are active: give the file with --tools")
	}
	args := e.Call.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	canonical, err := canon.Transform(args)
	if err != nil {
		return err
	}
	e.Call.Arguments = canonical
	return set.Validate(tools.Call{ToolName: e.Call.ToolName, Arguments: canonical})
}

// label is the class of an example: the tool's name, or "" for none.
func (e Example) label() string {
	if e.Call == nil {
		return ""
	}
	return e.Call.ToolName
}
