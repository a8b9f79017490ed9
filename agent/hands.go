package agent

import (
	"context"
	"encoding/json"
	"time"

	"edge/chat"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// hands runs the calls of one agent's turn: the file's tools, other agents, and handoffs.
type hands struct {
	*running
	agent *Agent
	runs  []nested
	fatal error // what ended a run within this one; it ends this one too
}

// nested is a run that a call was.
type nested struct {
	run    *Run
	sha256 *digest.SHA256
}

// Call implements chat.Runner.
func (h *hands) Call(ctx context.Context, req runner.CallRequest) (runner.Result, error) {
	name := req.Call.ToolName
	if l, ok := h.agent.hands[name]; ok {
		return text(l.Agent)
	}
	l, ok := h.agent.calls[name]
	if !ok {
		return h.cfg.Runner.Call(ctx, req)
	}
	var args struct {
		Input string `json:"input"`
	}
	if err := canon.Unmarshal(req.Call.Arguments, &args); err != nil {
		return runner.Result{}, fault.New(fault.CodeInvalidToolArgs, "tool %s: %w", name, err)
	}
	begun := h.cfg.Clock()
	out, err := h.ask(ctx, l, args.Input)
	out.Duration = h.cfg.Clock().Sub(begun)
	return out, err
}

// Check implements chat.Checker: what runs the file's tools may know more of a call than its schema does.
func (h *hands) Check(call tools.Call) error {
	if c, ok := h.cfg.Runner.(chat.Checker); ok {
		return c.Check(call)
	}
	return nil
}

// ask has another agent run. What it can't answer is told to the model, or ends this run, as the file says; what isn't
// its doing (the engine, a refused imprint) ends this run in any case.
func (h *hands) ask(ctx context.Context, l link, input string) (runner.Result, error) {
	var why *fault.Error
	if h.depth == MaxDepth {
		h.runs = append(h.runs, nested{})
		why = fault.New(fault.CodeAgentLimitExceeded, "%d runs within each other are the most", MaxDepth)
	} else {
		run, err := h.sub(ctx, l, input)
		switch {
		case fault.Is(err, fault.CodeInvalidArguments), fault.Is(err, fault.CodeContextFull): // of the input
			h.runs = append(h.runs, nested{})
			return h.failed(l, fault.From(err))
		case err != nil:
			h.fatal = err
			return runner.Result{}, err
		case run.PendingAction != nil:
			return runner.Result{}, fault.New(fault.CodeToolConfirmationRequired, "%s waits for a confirmation", run.PendingAction.ToolName)
		case run.answered():
			return text(run.FinalOutput)
		}
		why = fault.New(fault.CodeAgentLimitExceeded, "agent %s ended without an answer (%s)", run.LastAgent, run.FinishReason)
		if run.FinishReason == chat.FinishToolFailed {
			why = fault.New(fault.CodeToolRaised, "agent %s: a tool failed", run.LastAgent)
		}
	}
	return h.failed(l, why)
}

// failed is the result of a run that came to no answer.
func (h *hands) failed(l link, why *fault.Error) (runner.Result, error) {
	if !l.TellsFailures {
		return runner.Result{}, why
	}
	out, err := text("An error occurred while running the tool. Please try again. Error: " + why.Message)
	out.Told = &runner.Told{Kind: "AgentsException"}
	return out, err
}

// sub is a run within this one, and its record.
func (h *hands) sub(ctx context.Context, l link, input string) (*Run, error) {
	turns := max(0, h.until-h.replies)
	if l.MaxTurns > 0 {
		turns = min(turns, l.MaxTurns)
	}
	run, err := h.run(ctx, h.cfg.File.find(l.Agent), input, turns, h.depth+1)
	if err != nil {
		return nil, err
	}
	n := nested{run: run}
	if h.cfg.Record != nil {
		sum, err := h.cfg.Record(run)
		if err != nil {
			return nil, err
		}
		n.sha256 = &sum
	}
	h.runs = append(h.runs, n)
	return run, nil
}

// text is the result of a tool that is an agent.
func text(output string) (runner.Result, error) {
	result, err := canon.Marshal(map[string]string{"output": output})
	return runner.Result{Canonical: result, Sandbox: json.RawMessage(`{"mechanism":"builtin"}`)}, err
}

// report puts the runs that calls were beside them, and says how the turn ended.
func (h *hands) report(turn *chat.Turn, opened time.Duration) *Step {
	s := &Step{Agent: h.agent.Name, Turn: turn, ToolCalls: make([]Call, len(turn.ToolCalls)), OpenMS: float64(opened.Microseconds()) / 1000}
	if h.agent.Set != nil {
		sum := h.agent.Set.SHA256()
		s.ActiveSetSHA256 = &sum
	}
	for i, c := range turn.ToolCalls {
		s.ToolCalls[i].ToolCall = c
		_, isAgent := h.agent.calls[c.ToolName]
		if !isAgent || c.Status == chat.StatusRefused || len(h.runs) == 0 {
			continue
		}
		n := h.runs[0]
		h.runs = h.runs[1:]
		s.ToolCalls[i].Run, s.ToolCalls[i].RunSHA256 = n.run, n.sha256
		if n.run != nil && n.run.PendingAction != nil {
			s.ToolCalls[i].Status = chat.StatusPending
			turn.PendingAction = n.run.PendingAction
			turn.Answer, turn.AnswerSource, turn.FinishReason = n.run.FinalOutput, chat.FromEdge, chat.FinishPending
		}
	}
	if n := len(turn.ToolCalls); n > 0 && turn.FinishReason == chat.FinishDirect {
		if l, ok := h.agent.hands[turn.ToolCalls[n-1].ToolName]; ok {
			s.HandoffTo, turn.Answer, turn.FinishReason = l.Agent, "", FinishHandoff
		}
	}
	return s
}

// pending has a commit call confirmed against the file alone: who confirms it freezes the file again, where no tool leads
// to an agent.
type pending struct {
	file *File
	chat.Pending
}

// Create implements chat.Pending.
func (p pending) Create(b tools.Binding) (tools.Offer, error) {
	set, err := tools.Freeze(p.file.in, tools.Selection{Names: []string{b.ToolName}})
	if err != nil {
		return tools.Offer{}, err
	}
	alone, err := set.Bind(b.Call())
	if err != nil {
		return tools.Offer{}, err
	}
	alone.Context = b.Context
	return p.Pending.Create(alone)
}
