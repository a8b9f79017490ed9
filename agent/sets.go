package agent

import (
	"encoding/json"
	"slices"

	"edge/chat"
	"edge/internal/fault"
	"edge/tools"
)

// checkTools refuses a file with a tool that is wrong, whoever has it.
func (f *File) checkTools() error {
	if len(f.in.Problems) == 0 && len(f.in.Tools) == 0 {
		return nil
	}
	var first tools.Selection
	if len(f.in.Tools) > 0 {
		first.Names = []string{f.in.Tools[0].Name}
	}
	_, err := tools.Freeze(f.in, first)
	return err
}

// policy is what the file says of an agent's calls; a function that decides isn't in it.
func (a *Agent) policy() chat.Policy {
	p := chat.Policy{KeepChoice: !a.ResetToolChoice, StopAtFirst: a.Behavior.Kind == "stop_on_first_tool", StopAt: a.Behavior.Names}
	if c := a.Settings.ToolChoice; c != nil {
		p.Choice = *c
	}
	return p
}

// freeze makes the agent's set: the tools of the file that it names, and those that lead to other agents.
func (f *File) freeze(a *Agent) error {
	in := f.in
	in.Tools = nil
	for _, name := range a.Tools {
		i := slices.IndexFunc(f.in.Tools, func(t tools.Tool) bool { return t.Name == name })
		if i < 0 {
			return fault.New(fault.CodeInvalidAgent, "the file has no tool %q", name)
		}
		in.Tools = append(in.Tools, f.in.Tools[i])
	}
	a.calls, a.hands = map[string]link{}, map[string]link{}
	for _, l := range a.AgentTools {
		a.calls[l.Name] = l
		in.Tools = append(in.Tools, agentTool(l))
	}
	for _, l := range a.Handoffs {
		a.hands[l.Name] = l
		in.Tools = append(in.Tools, handoffTool(l))
	}
	if len(in.Tools) == 0 {
		return nil
	}
	var err error
	a.Set, err = tools.Freeze(in, tools.Selection{})
	return err
}

const (
	inputParameters = `{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"}`
	noParameters    = `{"additionalProperties":false,"properties":{},"required":[],"type":"object"}`
	textOutput      = `{"additionalProperties":false,"properties":{"output":{"type":"string"}},"required":["output"],"type":"object"}`
)

func agentTool(l link) tools.Tool {
	return tools.Tool{
		Name: l.Name, Description: l.Description, Parameters: json.RawMessage(inputParameters), OutputSchema: json.RawMessage(textOutput),
		ExecutionLevel: tools.Read, Permissions: []string{"read_local"}, Surface: tools.FromFunction,
	}
}

// handoffTool ends the turn that calls it: its result is nobody's to put in words.
func handoffTool(l link) tools.Tool {
	t := agentTool(l)
	t.Parameters, t.ReturnDirect = json.RawMessage(noParameters), true
	return t
}

// Source is a set that stands for the file's bytes, for what is asked of the file and not of an agent. It holds the
// file's hosted tools; where there are none, a tool that nobody calls.
func (f *File) Source() (*tools.ActiveSet, error) {
	in := f.in
	in.Tools = slices.DeleteFunc(slices.Clone(in.Tools), func(t tools.Tool) bool { return t.Surface != tools.FromHost })
	if len(in.Tools) == 0 {
		in.Tools = []tools.Tool{handoffTool(link{Name: "none"})}
	}
	return tools.Freeze(in, tools.Selection{})
}
