package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"edge/agent"
	"edge/internal/digest"
	"edge/runner"
	"edge/tools"
)

func (a *app) agentCommand() *cobra.Command {
	c := &cobra.Command{Use: "agent", Short: "Run, show and learn the agents of a Python file"}
	c.AddCommand(a.agentRunCommand(), a.agentShowCommand(), a.agentLearnCommand())
	return c
}

// agentFile runs an agent file's top level and freezes each agent's tools.
func (a *app) agentFile(ctx context.Context, path string, r *runner.Runner) (*agent.File, error) {
	in, err := r.Inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := agent.Load(in)
	if err != nil {
		return nil, err
	}
	for _, w := range in.Warnings {
		a.notify("warning: " + problemLine(w))
	}
	return f, nil
}

// agentsResult is edge.agents/v1.
type agentsResult struct {
	Schema           string        `json:"schema"`
	OK               bool          `json:"ok"`
	AgentsFileSHA256 digest.SHA256 `json:"tools_file_sha256"`
	Agents           []agentShown  `json:"agents"`
	Roots            []string      `json:"roots"`         // that no other refers to
	Default          *string       `json:"default"`       // null: --agent has to say
	HandoffCycle     []string      `json:"handoff_cycle"` // the first, null where there is none: a run bounds it
}

type agentShown struct {
	*agent.Agent
	ActiveSetSHA256 *digest.SHA256 `json:"active_set_sha256"`
	Frozen          []toolShown    `json:"frozen_tools"`
}

// toolShown is one tool as the agent's model sees it, and where it leads.
type toolShown struct {
	Name           string               `json:"name"`
	Kind           string               `json:"kind"` // tool, agent or handoff
	Agent          string               `json:"agent,omitempty"`
	Description    string               `json:"description"`
	Parameters     json.RawMessage      `json:"parameters"`
	ExecutionLevel tools.ExecutionLevel `json:"execution_level"`
	SchemaSHA256   digest.SHA256        `json:"schema_sha256"`
}

func (a *app) agentShowCommand() *cobra.Command {
	var f handFlags
	c := &cobra.Command{
		Use: "show FILE", Short: "Show a file's agents with their tools and handoffs (this runs the file's top level)", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.agentShow(c.Context(), args[0], f.sandbox) },
	}
	f.register(c)
	return c
}

func (a *app) agentShow(ctx context.Context, path, sandbox string) error {
	r, err := a.sandboxedRunner(sandbox)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := a.agentFile(ctx, path, r)
	if err != nil {
		return err
	}
	result := agentsResult{Schema: "edge.agents/v1", OK: true, AgentsFileSHA256: f.SHA256(), Roots: []string{}, HandoffCycle: f.HandoffCycle()}
	for _, one := range f.Roots() {
		result.Roots = append(result.Roots, one.Name)
	}
	if first, err := f.Agent(""); err == nil {
		result.Default = &first.Name
	}
	for _, one := range f.Agents() {
		result.Agents = append(result.Agents, shownAgent(one))
	}
	return a.print(result, func() { a.sayAgents(result) })
}

func shownAgent(one *agent.Agent) agentShown {
	s := agentShown{Agent: one, Frozen: []toolShown{}}
	if one.Set == nil {
		return s
	}
	sum := one.Set.SHA256()
	s.ActiveSetSHA256 = &sum
	for _, t := range one.Set.Tools() {
		kind, to := one.Leads(t.Name)
		s.Frozen = append(s.Frozen, toolShown{t.Name, kind, to, t.Description, t.Parameters, t.ExecutionLevel, t.SchemaSHA256})
	}
	return s
}

func (a *app) sayAgents(r agentsResult) {
	for _, one := range r.Agents {
		mark := ""
		if r.Default != nil && *r.Default == one.Name {
			mark = " (runs unless --agent says otherwise)"
		}
		a.say("%s%s", plain(one.Name), mark)
		switch {
		case one.Dynamic:
			a.say("  instructions   a function of the file gives them")
		case one.Instructions != nil:
			a.say("  instructions   %s", tools.EscapeForDisplay(*one.Instructions))
		}
		for _, t := range one.Frozen {
			leads := ""
			if t.Kind != agent.LeadsNowhere {
				leads = " → " + t.Kind + " " + t.Agent
			}
			a.say("  %s (%s)%s", t.Name, t.ExecutionLevel, tools.EscapeForDisplay(leads))
			if t.Description != "" {
				a.say("    %s", tools.EscapeForDisplay(t.Description))
			}
			a.say("    parameters   %s", t.Parameters)
		}
	}
	if r.HandoffCycle != nil {
		a.say("handoffs go round: %s (a run ends after %d)", plain(strings.Join(r.HandoffCycle, " → ")), agent.MaxHandoffs)
	}
}
