package tools

import (
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	// MaxActive is the largest number of tools that one run exposes to a model.
	MaxActive = 8
	// MaxResultBytes bounds a result, measured on its canonical JSON.
	MaxResultBytes = 64 << 10
)

// ExecutionLevel says what a call may do, and so how it is run.
type ExecutionLevel string

const (
	// Read tools look things up or compute; they run as soon as their arguments are valid.
	Read ExecutionLevel = "read"
	// Prepare tools make a draft that can be thrown away; they run at once and their result is delivered as it is.
	Prepare ExecutionLevel = "prepare"
	// Commit tools have an effect outside; they run only after a person confirmed this very call.
	Commit ExecutionLevel = "commit"
)

// Surface is the way in which a tool was written.
type Surface string

const (
	// FromEdge is a function with @edge_tool.
	FromEdge Surface = ""
	// FromFunction is a function tool: its result is text, and it may put its errors into words for the model.
	FromFunction Surface = "function"
	// FromHost is a hosted tool, which edge runs itself.
	FromHost Surface = "hosted"
)

// Tool is one function as it is shown to a model, with what edge needs to run it.
//
// Parameters and OutputSchema are canonical JSON (RFC 8785). Parameters is a closed JSON Schema 2020-12 object whose
// "required" keeps the order of the signature; OutputSchema is nil where none was declared.
type Tool struct {
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Parameters     json.RawMessage `json:"parameters"`
	OutputSchema   json.RawMessage `json:"output_schema"`
	ExecutionLevel ExecutionLevel  `json:"execution_level"`
	ReturnDirect   bool            `json:"return_direct"`
	Permissions    []string        `json:"permissions"`
	// Surface is how the tool was written, Hosted a hosted tool's configuration, canonical JSON. Neither is part of the
	// schema's digest.
	Surface Surface         `json:"surface,omitempty"`
	Hosted  json.RawMessage `json:"hosted,omitempty"`
	// IntentTags only select; they are not part of the schema's digest.
	IntentTags []string `json:"intent_tags"`
	// Line is where the function stands in its file, 0 where it has none.
	Line int `json:"line,omitempty"`
	// SchemaSHA256 is set by Freeze.
	SchemaSHA256 digest.SHA256 `json:"schema_sha256"`
}

// Inspection is what running a tools file told about it; the runner makes one, and so can any other source of tools.
type Inspection struct {
	// Path is the file's absolute path, FileSHA256 the digest of the bytes that were run.
	Path             string
	FileSHA256       digest.SHA256
	GeneratorVersion string
	PythonVersion    string
	Tools            []Tool
	// Agents describes the file's agents, canonical JSON for package agent; nil where it has none.
	Agents json.RawMessage
	// Problems make the file unusable; Warnings don't.
	Problems []fault.Problem
	Warnings []fault.Problem
}

// Selection narrows a file's tools: a tool is active when its name is in Names or one of its tags is in Tags. An empty
// Selection takes all tools.
type Selection struct {
	Names []string `json:"names"`
	Tags  []string `json:"tags"`
}

// Call is one request to run a tool. Arguments is canonical JSON.
type Call struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ActiveSet is the frozen tools of one run, sorted by name. It never changes; only Freeze makes one.
type ActiveSet struct {
	path             string
	fileSHA256       digest.SHA256
	generatorVersion string
	selection        Selection
	inactive         []string // the file's other tools, sorted
	tools            []frozenTool
	sha256           digest.SHA256
}

// frozenTool is a Tool with what its calls and results are checked by.
type frozenTool struct {
	Tool
	parameters *jsonschema.Schema
	output     *jsonschema.Schema // nil where no output_schema was declared
	shape      *shape
}

// Tools gives the tools sorted by name.
func (s *ActiveSet) Tools() []Tool {
	list := make([]Tool, len(s.tools))
	for i := range s.tools {
		list[i] = s.tools[i].Tool
	}
	return list
}

// Names gives the tools' names, sorted.
func (s *ActiveSet) Names() []string {
	list := make([]string, len(s.tools))
	for i := range s.tools {
		list[i] = s.tools[i].Name
	}
	return list
}

// Lookup finds a tool by its exact name.
func (s *ActiveSet) Lookup(name string) (Tool, bool) {
	t := s.find(name)
	if t == nil {
		return Tool{}, false
	}
	return t.Tool, true
}

func (s *ActiveSet) find(name string) *frozenTool {
	for i := range s.tools {
		if s.tools[i].Name == name {
			return &s.tools[i]
		}
	}
	return nil
}

// SHA256 names the set: its tools' names and schemas, and the generator that wrote them.
func (s *ActiveSet) SHA256() digest.SHA256 { return s.sha256 }

// FileSHA256 is the digest of the file that was frozen.
func (s *ActiveSet) FileSHA256() digest.SHA256 { return s.fileSHA256 }

// GeneratorVersion is the version of the schema generator.
func (s *ActiveSet) GeneratorVersion() string { return s.generatorVersion }

// Path is the file's absolute path.
func (s *ActiveSet) Path() string { return s.path }

// Inactive gives the names of the tools that the file has and that the selection left out, sorted.
func (s *ActiveSet) Inactive() []string { return slices.Clone(s.inactive) }

// Selection is what the set was frozen with, so that it can be frozen again.
func (s *ActiveSet) Selection() Selection { return s.selection }
