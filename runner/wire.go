package runner

import (
	"encoding/json"
	"fmt"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"

	strict "github.com/go-json-experiment/json"
)

const (
	opInspect = "inspect"
	opCall    = "call"
	opDecide  = "decide"
)

// request is frame 2 of the protocol.
type request struct {
	Protocol string `json:"protocol"`
	Secret   string `json:"secret"`
	Op       string `json:"op"`
	Path     string `json:"path"`
	// SourceSHA256 is null where any bytes will do.
	SourceSHA256 *digest.SHA256  `json:"source_sha256"`
	Function     *function       `json:"function,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	// Context is what function tools and agents' functions get as the value of their context.
	Context json.RawMessage `json:"context,omitempty"`
	// Agent and Results are of a decision.
	Agent   string    `json:"agent,omitempty"`
	Results *[]Output `json:"results,omitempty"`
	Limits  *limits   `json:"limits,omitempty"`
	Probe   bool      `json:"probe,omitempty"`
	// ProbePath is a file outside the private folder that a probe tries to make.
	ProbePath string `json:"probe_path,omitempty"`
}

type function struct {
	ToolName string `json:"tool_name"`
}

type limits struct {
	ResultBytes int `json:"result_bytes"`
	// AddressSpaceBytes is 0 for no limit: programs that a call with the user's rights starts would inherit it.
	AddressSpaceBytes int64 `json:"address_space_bytes"`
}

// addressSpaceBytes bounds a confined process's memory; the interpreter sets the limit on itself.
const addressSpaceBytes = 2 << 30

// response is the one frame that comes back.
type response struct {
	Protocol string     `json:"protocol"`
	Secret   string     `json:"secret"`
	OK       bool       `json:"ok"`
	Op       string     `json:"op"`
	Error    *wireError `json:"error"`

	SourceSHA256           digest.SHA256 `json:"source_sha256"`
	SchemaGeneratorVersion string        `json:"schema_generator_version"`
	Python                 string        `json:"python"`
	Tools                  []wireTool    `json:"tools"`
	Errors                 []wireProblem `json:"errors"`
	Warnings               []wireProblem `json:"warnings"`

	Agents  json.RawMessage `json:"agents"`
	Preload []string        `json:"preload"`

	Result json.RawMessage `json:"result"`
	Told   *Told           `json:"told"`

	IsFinalOutput *bool   `json:"is_final_output"`
	FinalOutput   *string `json:"final_output"`

	LoadedFiles []LoadedFile    `json:"loaded_files"`
	Sandbox     json.RawMessage `json:"sandbox"`
}

type wireError struct {
	Code            fault.Code `json:"code"`
	Message         string     `json:"message"`
	Line            int        `json:"line"`
	TracebackSHA256 string     `json:"traceback_sha256"`
}

type wireTool struct {
	Name           string               `json:"name"`
	Description    string               `json:"description"`
	Parameters     json.RawMessage      `json:"parameters"`
	ExecutionLevel tools.ExecutionLevel `json:"execution_level"`
	ReturnDirect   bool                 `json:"return_direct"`
	OutputSchema   json.RawMessage      `json:"output_schema"`
	Permissions    []string             `json:"permissions"`
	IntentTags     []string             `json:"intent_tags"`
	Line           int                  `json:"line"`
	Function       string               `json:"function"`
	Surface        tools.Surface        `json:"surface"`
	Hosted         json.RawMessage      `json:"hosted"`
}

type wireProblem struct {
	Code      fault.Code `json:"code"`
	Tool      string     `json:"tool"`
	Parameter string     `json:"parameter"`
	Line      int        `json:"line"`
	Message   string     `json:"message"`
}

// parseResponse reads a frame strictly: one object, names in exact case, none twice, none unknown. The result inside it
// is left as it is, because it has rules of its own.
func parseResponse(frame []byte) (*response, error) {
	var r response
	if err := strict.Unmarshal(frame, &r, strict.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if r.Protocol != protocol {
		return nil, fmt.Errorf("protocol: got %q, want %q", r.Protocol, protocol)
	}
	return &r, nil
}

// check reports what an answer lacks that its kind must have.
func (r *response) check(op string) error {
	if !r.OK {
		if r.Error == nil {
			return fmt.Errorf("a failure without an error")
		}
		if _, known := fault.Lookup(r.Error.Code); !known {
			return fmt.Errorf("error code: got %q, which isn't in the table", r.Error.Code)
		}
		return nil
	}
	if r.Op != op {
		return fmt.Errorf("op: got %q, want %q", r.Op, op)
	}
	if op == opCall && len(r.Result) == 0 {
		return fmt.Errorf("a call without a result")
	}
	if op == opDecide && r.IsFinalOutput == nil {
		return fmt.Errorf("a decision that decides nothing")
	}
	if r.Told != nil && (op != opCall || r.Told.Kind == "") {
		return fmt.Errorf("told: got kind %q of op %s, want the kind of a call's error", r.Told.Kind, op)
	}
	if op == opInspect && (r.SourceSHA256.IsZero() || r.SchemaGeneratorVersion == "") {
		return fmt.Errorf("an inspection without the file's digest or the generator's version")
	}
	return nil
}

// inspection is the answer as package tools knows it.
func (r *response) inspection(path string) (tools.Inspection, error) {
	in := tools.Inspection{
		Path:             path,
		FileSHA256:       r.SourceSHA256,
		GeneratorVersion: r.SchemaGeneratorVersion,
		PythonVersion:    r.Python,
		Problems:         problems(path, r.Errors),
		Warnings:         problems(path, r.Warnings),
	}
	if s := string(r.Agents); s != "" && s != "null" {
		var err error
		if in.Agents, err = canon.Transform(r.Agents); err != nil {
			return tools.Inspection{}, fmt.Errorf("agents: %w", err)
		}
	}
	for _, w := range r.Tools {
		t := tools.Tool{
			Name:           w.Name,
			Description:    w.Description,
			ExecutionLevel: w.ExecutionLevel,
			ReturnDirect:   w.ReturnDirect,
			Permissions:    w.Permissions,
			IntentTags:     w.IntentTags,
			Line:           w.Line,
			Surface:        w.Surface,
		}
		if w.Surface == "edge" {
			t.Surface = tools.FromEdge
		}
		var err error
		if s := string(w.Hosted); s != "" && s != "null" {
			if t.Hosted, err = canon.Transform(w.Hosted); err != nil {
				return tools.Inspection{}, fmt.Errorf("configuration of %s: %w", w.Name, err)
			}
		}
		if t.Parameters, err = canon.Transform(w.Parameters); err != nil {
			return tools.Inspection{}, fmt.Errorf("parameters of %s: %w", w.Name, err)
		}
		if s := string(w.OutputSchema); s != "" && s != "null" {
			if t.OutputSchema, err = canon.Transform(w.OutputSchema); err != nil {
				return tools.Inspection{}, fmt.Errorf("output_schema of %s: %w", w.Name, err)
			}
		}
		in.Tools = append(in.Tools, t)
	}
	return in, nil
}

func problems(path string, list []wireProblem) []fault.Problem {
	var out []fault.Problem
	for _, p := range list {
		out = append(out, fault.Problem{Code: p.Code, File: path, Tool: p.Tool, Parameter: p.Parameter, Line: p.Line, Message: p.Message})
	}
	return out
}
