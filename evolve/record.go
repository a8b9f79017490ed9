package evolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"edge/internal/canon"
	"edge/internal/digest"
)

// RecordSchema names the format of a library's record.
const RecordSchema = "edge.evolve_tool/v1"

// Record is one tool of the library.
type Record struct {
	Schema           string          `json:"schema"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Parameters       json.RawMessage `json:"parameters"` // JSON Schema of an object, canonical
	Code             string          `json:"code"`       // Python that defines run(**kwargs)
	SourceSHA256     digest.SHA256   `json:"source_sha256"`
	ParametersSHA256 digest.SHA256   `json:"parameters_sha256"`
	Validated        bool            `json:"validated"` // it ran before it was kept
	Provenance       Provenance      `json:"provenance"`
	Tests            []Test          `json:"tests"`
	Examples         []Example       `json:"examples"`
	Uses             int             `json:"uses"`
	Successes        int             `json:"successes"`
	Failures         int             `json:"failures"`
	FailuresInARow   int             `json:"failures_in_a_row"`
	Quarantined      bool            `json:"quarantined"`
}

// Provenance says where a tool comes from. The receipt is that of the run that made it, once that has ended.
type Provenance struct {
	Task          string         `json:"task"`
	Model         string         `json:"model"`
	CreatedAt     string         `json:"created_at"`
	EdgeVersion   string         `json:"edge_version"`
	Trajectory    string         `json:"trajectory"`
	ReceiptPath   string         `json:"receipt_path,omitempty"`
	ReceiptSHA256 *digest.SHA256 `json:"receipt_sha256,omitempty"`
}

// Test is a run that the tool passed. The digest is null for a tool that gave two results in two runs: then it is enough
// that it runs.
type Test struct {
	Arguments    json.RawMessage `json:"arguments"`
	ResultSHA256 *digest.SHA256  `json:"result_sha256"`
}

// Example is a request that one call of the tool answered.
type Example struct {
	Request   string          `json:"request"`
	Arguments json.RawMessage `json:"arguments"`
}

// isMeta reports whether name is one of the five tools that are always there.
func isMeta(name string) bool {
	switch name {
	case WebSearch, ReadWebpage, CodeInterpreter, CreateTool, SearchTools:
		return true
	}
	return false
}

// checkName takes names that are an identifier in Python and a file's name on every system.
func checkName(name string) error {
	switch {
	case !identifier.MatchString(name), isKeyword(name):
		return fmt.Errorf("invalid tool name %q: it must be an identifier of letters, digits and underscores that starts with a letter", clip(name, 60))
	case isMeta(name):
		return fmt.Errorf("invalid tool name %q: it is one of the basic tools", name)
	case slices.Contains(deviceNames(), strings.ToLower(name)):
		return fmt.Errorf("invalid tool name %q: some systems keep it for a device", name)
	}
	return nil
}

func deviceNames() []string {
	names := []string{"con", "prn", "aux", "nul"}
	for i := range 10 {
		names = append(names, fmt.Sprintf("com%d", i), fmt.Sprintf("lpt%d", i))
	}
	return names
}

// newRecord checks what a planner wrote, as far as that can be without running it.
func newRecord(name, description string, parameters json.RawMessage, code string) (Record, error) {
	name = strings.TrimSpace(name)
	r := Record{Schema: RecordSchema, Name: name, Description: strings.TrimSpace(description), Code: code, Tests: []Test{}, Examples: []Example{}}
	if err := checkName(name); err != nil {
		return r, err
	}
	if len(parameters) > MaxSchemaBytes {
		return r, fmt.Errorf("the parameters' schema has %d bytes, more than %d", len(parameters), MaxSchemaBytes)
	}
	if err := canon.Check(parameters); len(parameters) > 0 && err != nil {
		return r, fmt.Errorf("the parameters: %w", err)
	}
	r.Parameters = NormaliseSchema(parameters)
	r.SourceSHA256, r.ParametersSHA256 = digest.SHA256Of([]byte(code)), digest.SHA256Of(r.Parameters)
	return r, r.check()
}

// check reports what a record can't be: written by create_tool, and read back unchanged.
func (r Record) check() error {
	canonical, err := canon.Transform(r.Parameters)
	switch {
	case r.Schema != RecordSchema:
		return fmt.Errorf("its schema is %q, want %q", clip(r.Schema, 60), RecordSchema)
	case checkName(r.Name) != nil:
		return checkName(r.Name)
	case r.Description == "" || utf8.RuneCountInString(r.Description) > MaxDescription:
		return fmt.Errorf("the description must have 1 to %d characters", MaxDescription)
	case len(r.Code) > MaxCodeBytes:
		return fmt.Errorf("the tool code has %d bytes, more than %d", len(r.Code), MaxCodeBytes)
	case !utf8.ValidString(r.Code), strings.ContainsRune(r.Code, 0):
		return errors.New("the tool code isn't text")
	case !strings.Contains(r.Code, "def run"):
		return errors.New("the tool code must define a function `def run(**kwargs)`")
	case err != nil:
		return fmt.Errorf("the parameters: %w", err)
	case string(canonical) != string(r.Parameters), len(r.Parameters) > MaxSchemaBytes+64:
		return errors.New("the parameters aren't as they were written")
	case digest.SHA256Of([]byte(r.Code)) != r.SourceSHA256:
		return errors.New("the code isn't the one that was checked: its digest differs")
	case digest.SHA256Of(r.Parameters) != r.ParametersSHA256:
		return errors.New("the parameters aren't the ones that were checked: their digest differs")
	case r.Uses < 0, r.Successes < 0, r.Failures < 0, r.FailuresInARow < 0:
		return errors.New("a count is negative")
	}
	_, err = signature(r.Parameters)
	return err
}
