package main

import (
	"fmt"

	"edge/agent"
	"edge/chat"
	"edge/internal/digest"
	"edge/learn"
	"edge/tools"
)

// recordRun keeps a run that another agent's was waiting for, in a receipt of its own.
func (a *app) recordRun(run *agent.Run, w learn.World, file *agent.File) (digest.SHA256, error) {
	r := &record{app: a, kind: "agent_run", body: map[string]any{}}
	r.agents(file)
	r.world(w)
	r.run(run)
	_, sum, err := r.write(nil)
	return sum, err
}

func (r *record) agents(file *agent.File) { r.set("tools_file_sha256", file.SHA256()) }

// run puts a run's digests and decisions into the receipt, and none of its contents. Runs within it have receipts of
// their own, whose digests stand here.
func (r *record) run(run *agent.Run) {
	r.set("agent", run.Agent)
	r.set("last_agent", run.LastAgent)
	r.set("finish_reason", run.FinishReason)
	r.set("answer_source", run.AnswerSource)
	r.set("answer_sha256", digest.SHA256Of([]byte(run.FinalOutput)))
	steps := make([]map[string]any, len(run.Steps))
	for i, s := range run.Steps {
		step := &record{app: r.app, body: map[string]any{}}
		step.turn(s.Turn)
		step.set("agent", s.Agent)
		step.set("handoff_to", s.HandoffTo)
		step.set("open_ms", s.OpenMS)
		step.set("active_set_sha256", s.ActiveSetSHA256)
		calls := make([]map[string]any, len(s.ToolCalls))
		for j, c := range s.ToolCalls {
			calls[j] = callRecord(c.ToolCall)
			if c.RunSHA256 != nil {
				calls[j]["run_sha256"] = c.RunSHA256
			}
		}
		step.set("tool_calls", calls)
		steps[i] = step.body
	}
	r.set("steps", steps)
	if p := run.PendingAction; p != nil {
		r.set("pending_action_path", p.Path)
	}
}

// sayRun is a run for people: the answer to standard output, and how it came about to standard error.
func (a *app) sayRun(r agentResult) {
	a.say("%s", plain(r.FinalOutput))
	a.saySteps(r.Run, "  ")
	if p := r.PendingAction; p != nil {
		a.notify("  confirm  " + p.Command)
		a.notify("           before " + p.ExpiresAt)
	}
	a.notify(fmt.Sprintf("  whole answer after %.0f ms, of which loading took %.0f", r.TotalMS, r.LoadMS))
	a.notify("  receipt  " + r.ReceiptPath)
}

// saySteps shows who did what, runs within others further in.
func (a *app) saySteps(run *agent.Run, indent string) {
	for _, s := range run.Steps {
		how := fmt.Sprintf("decoded %d tokens", s.Usage.PrefilledTokens)
		if s.Imprint != nil {
			how = fmt.Sprintf("restored %d tokens, decoded %d", s.Imprint.Tokens, s.Usage.PrefilledTokens)
		}
		a.notify(fmt.Sprintf("%s%s: %s, in %.0f ms", indent, plain(s.Agent), how, s.OpenMS+s.Timings.TotalMS))
		for _, c := range s.ToolCalls {
			line := fmt.Sprintf("%s  %s%s → %s", indent, c.ToolName, tools.EscapeForDisplay(string(c.Arguments)), c.Status)
			if c.ErrorCode != nil && c.Status != chat.StatusPending {
				line += fmt.Sprintf(" [%s] %s", *c.ErrorCode, c.Error)
			}
			a.notify(line)
			if c.Run != nil {
				a.saySteps(c.Run, indent+"    ")
			}
		}
	}
}
