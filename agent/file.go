package agent

import (
	"path/filepath"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// File is a loaded agent file.
type File struct {
	Path   string
	agents []*Agent
	in     tools.Inspection
}

// Agent is one agent of a file, with its tools frozen.
type Agent struct {
	description
	Set   *tools.ActiveSet `json:"-"` // its own tools, other agents and handoffs; nil: none
	calls map[string]link  // the tools that are agents
	hands map[string]link  // the tools that hand over
}

// description is what the file's process tells of an agent.
type description struct {
	Name               string   `json:"name"`
	Variable           string   `json:"variable"`
	Instructions       *string  `json:"instructions"`
	Dynamic            bool     `json:"dynamic"` // a function gives the instructions
	HandoffDescription *string  `json:"handoff_description"`
	Tools              []string `json:"tools"` // those of the file
	AgentTools         []link   `json:"agent_tools"`
	Handoffs           []link   `json:"handoffs"`
	Model              string   `json:"model"` // noted, and not used
	Settings           Settings `json:"settings"`
	UnusedSettings     []string `json:"unused_settings"`
	Behavior           Behavior `json:"tool_use_behavior"`
	ResetToolChoice    bool     `json:"reset_tool_choice"`
	Problems           []string `json:"problems,omitempty"`
}

// link is a tool that leads to another agent.
type link struct {
	Name          string `json:"name"`
	Description   string `json:"description"`
	Agent         string `json:"agent"`
	MaxTurns      int    `json:"max_turns,omitempty"`      // of one run; 0: the whole's
	TellsFailures bool   `json:"tells_failures,omitempty"` // to the calling model; otherwise they end its run
}

// Settings are those of an agent's model settings that count; nil where the file says nothing.
type Settings struct {
	ToolChoice  *string  `json:"tool_choice"`
	Temperature *float64 `json:"temperature"`
	MaxTokens   *int     `json:"max_tokens"`
}

// Behavior is what follows an agent's tool calls.
type Behavior struct {
	Kind  string   `json:"kind"` // run_llm_again, stop_on_first_tool, stop_at_tools, function
	Names []string `json:"names"`
}

// What a tool leads to.
const (
	LeadsNowhere   = "tool"
	LeadsToAgent   = "agent"
	LeadsToHandoff = "handoff"
)

// Leads says what a tool of the agent is, and which agent it leads to.
func (a *Agent) Leads(tool string) (kind, to string) {
	if l, ok := a.calls[tool]; ok {
		return LeadsToAgent, l.Agent
	}
	if l, ok := a.hands[tool]; ok {
		return LeadsToHandoff, l.Agent
	}
	return LeadsNowhere, ""
}

// Load reads the agents of an inspected file and freezes each one's tools.
//
// Errors: those of tools.Freeze, which name the agent; no_agents_found, invalid_agent, unknown_agent, agent_cycle.
func Load(in tools.Inspection) (*File, error) {
	f := &File{Path: in.Path, in: in}
	if err := f.checkTools(); fault.Is(err, fault.CodeNoToolsFound) {
		return nil, fault.New(fault.CodeNoAgentsFound, "%s holds no agent", in.Path) // tools alone wouldn't do
	} else if err != nil {
		return nil, err
	}
	var list []description
	if len(in.Agents) > 0 {
		if err := canon.Unmarshal(in.Agents, &list); err != nil {
			return nil, fault.New(fault.CodeRunnerProtocolViolation, "%s: the description of its agents: %w", in.Path, err)
		}
	}
	if len(list) == 0 {
		return nil, fault.New(fault.CodeNoAgentsFound, "%s holds no agent", in.Path)
	}
	for _, d := range list {
		if len(d.Problems) > 0 {
			return nil, fault.New(fault.CodeInvalidAgent, "agent %q: %s", d.Name, strings.Join(d.Problems, "; "))
		}
		if f.find(d.Name) != nil {
			return nil, fault.New(fault.CodeInvalidAgent, "%s has two agents called %q", filepath.Base(in.Path), d.Name)
		}
		a := &Agent{description: d}
		f.agents = append(f.agents, a)
		if err := f.freeze(a); err != nil {
			err := named(a.Name, err)
			if err.Code == fault.CodeActiveToolLimitExceeded {
				err.WithHint("divide them among agents that it has as tools, or hands over to")
			}
			return nil, err
		}
		if err := a.policy().Check(a.Set); err != nil {
			return nil, fault.New(fault.CodeInvalidAgent, "agent %s: %w", a.Name, err)
		}
	}
	if path := f.circle(func(a *Agent) []link { return a.AgentTools }); path != nil {
		return nil, fault.New(fault.CodeAgentCycle, "agents are each other's tools in a circle: %s", strings.Join(path, " → "))
	}
	return f, nil
}

// HandoffCycle gives the first circle of agents that hand over to each other, nil where there is none. It is no mistake:
// a run counts its handoffs.
func (f *File) HandoffCycle() []string { return f.circle(func(a *Agent) []link { return a.Handoffs }) }

// circle gives the first circle that links make, as the names on the way round.
func (f *File) circle(links func(*Agent) []link) []string {
	clear := map[string]bool{}
	var visit func(a *Agent, path []string) []string
	visit = func(a *Agent, path []string) []string {
		if i := slices.Index(path, a.Name); i >= 0 {
			return append(path[i:], a.Name)
		}
		if clear[a.Name] {
			return nil
		}
		for _, l := range links(a) {
			if found := visit(f.find(l.Agent), append(path[:len(path):len(path)], a.Name)); found != nil {
				return found
			}
		}
		clear[a.Name] = true
		return nil
	}
	for _, a := range f.agents {
		if found := visit(a, nil); found != nil {
			return found
		}
	}
	return nil
}

// SHA256 is the digest of the file's bytes.
func (f *File) SHA256() digest.SHA256 { return f.in.FileSHA256 }

// Agents are the file's agents: those of its variables, and then what these reach.
func (f *File) Agents() []*Agent { return f.agents }

func (f *File) find(name string) *Agent {
	for _, a := range f.agents {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Agent finds an agent by its name or its variable. Without a name it is the one in the variable "agent", or else the
// only one that no other refers to. Errors: unknown_agent with the names that would do.
func (f *File) Agent(name string) (*Agent, error) {
	if name != "" {
		if a := f.find(name); a != nil {
			return a, nil
		}
		if i := slices.IndexFunc(f.agents, func(a *Agent) bool { return a.Variable == name }); i >= 0 {
			return f.agents[i], nil
		}
		return nil, fault.New(fault.CodeUnknownAgent, "%s has no agent %q; it has %s", filepath.Base(f.Path), name, names(f.agents))
	}
	if i := slices.IndexFunc(f.agents, func(a *Agent) bool { return a.Variable == "agent" }); i >= 0 {
		return f.agents[i], nil
	}
	roots := f.Roots()
	if len(roots) == 1 {
		return roots[0], nil
	}
	if len(roots) == 0 {
		roots = f.agents
	}
	return nil, fault.New(fault.CodeUnknownAgent, "%s has more than one agent that a run could begin with: %s", filepath.Base(f.Path), names(roots))
}

// Roots are the agents that no other refers to.
func (f *File) Roots() []*Agent {
	referred := map[string]bool{}
	for _, a := range f.agents {
		for _, l := range slices.Concat(a.AgentTools, a.Handoffs) {
			referred[l.Agent] = referred[l.Agent] || l.Agent != a.Name
		}
	}
	return slices.DeleteFunc(slices.Clone(f.agents), func(a *Agent) bool { return referred[a.Name] })
}

func names(agents []*Agent) string {
	list := make([]string, len(agents))
	for i, a := range agents {
		list[i] = a.Name
	}
	return strings.Join(list, ", ")
}

// named says in an error whose it is. A copy is changed: the error may be kept elsewhere.
func named(agent string, err error) *fault.Error {
	e := *fault.From(err)
	e.Message, e.Err = "agent "+agent+": "+e.Message, err
	return &e
}
