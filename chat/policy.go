package chat

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
	"edge/tools"
)

// DefaultTurns is how many replies a model may give to one prompt, unless Policy says otherwise.
const DefaultTurns = 10

// What Policy.Choice may say beside a tool's name.
const (
	ChoiceAuto     = "auto"     // an answer or a call; "" is the same
	ChoiceRequired = "required" // a call
	ChoiceNone     = "none"     // an answer
)

// Policy says whether a model calls a tool, what follows a call, and how often it may reply. The zero Policy leaves all of
// it to the model.
type Policy struct {
	Choice string
	// KeepChoice holds the model to a required or named choice after a call too, until MaxCalls or MaxTurns ends the turn.
	// Otherwise the choice is auto once a call was made.
	KeepChoice bool
	// StopAtFirst ends a turn with the first call's result, StopAt with that of any of these tools.
	StopAtFirst bool
	StopAt      []string
	// Decide is asked after each call whether it ends the turn, and with which words; nil: it doesn't.
	Decide func(ctx context.Context, results []runner.Output) (runner.Decision, error)
	// MaxTurns bounds the model's replies to one prompt; 0: DefaultTurns.
	MaxTurns int
	// MayReply is asked before each reply, so that several chats can share one limit; nil: yes.
	MayReply func() bool
}

// Check reports, as invalid_arguments, what names a tool that set doesn't have, or can't be; set may be nil.
func (p Policy) Check(set *tools.ActiveSet) error {
	var names []string
	if set != nil {
		names = set.Names()
	}
	switch p.Choice {
	case "", ChoiceAuto, ChoiceNone:
	default:
		if len(names) == 0 {
			return fault.New(fault.CodeInvalidArguments, "the tool choice is %s, and there are no tools", p.Choice)
		}
		if p.Choice != ChoiceRequired && !slices.Contains(names, p.Choice) {
			return fault.New(fault.CodeInvalidArguments, "the tool choice is %q, which is no active tool; the active tools are %s", p.Choice, strings.Join(names, ", ")).
				WithHint("choose auto, required, none or one of those names")
		}
	}
	for _, name := range p.StopAt {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return fault.New(fault.CodeInvalidArguments, "a turn can't stop at %q: there are no tools", name)
			}
			return fault.New(fault.CodeInvalidArguments, "a turn can't stop at %q, which is no active tool; the active tools are %s", name, strings.Join(names, ", "))
		}
	}
	if p.MaxTurns < 0 {
		return fault.New(fault.CodeInvalidArguments, "at most %d replies: it takes one at least", p.MaxTurns)
	}
	return nil
}

// plan is what the first reply to a request may be.
func (t *turn) plan(hidden [][]float32) learn.Plan {
	var plan learn.Plan
	switch t.choice {
	case "", ChoiceAuto:
		plan = t.replier.Plan(t.request, hidden)
	case ChoiceNone:
		return t.replier.Answer()
	case ChoiceRequired:
		plan = t.replier.Required(t.request, hidden)
	default:
		return t.replier.Call(t.choice, t.request)
	}
	if c := plan.Choice; c != nil {
		t.out.Selection = &Selection{Score: c.Score, Margin: c.Margin, Doubted: plan.Doubted}
		if c.Class != learn.NoTool {
			t.out.Selection.Tool = &c.Class
		}
	}
	return plan
}

// next is what may follow a tool's result. Where a head has chosen, or would have, the request is one call's: a small model
// asked to go on would only repeat itself. An error that the tool told it may be made good.
func (t *turn) next(hidden [][]float32) learn.Plan {
	if t.forced() {
		if t.cfg.Policy.KeepChoice {
			return t.plan(hidden)
		}
		t.choice = ChoiceAuto
	}
	if last := t.out.ToolCalls[len(t.out.ToolCalls)-1]; last.Status != StatusTold && (t.out.Selection != nil || t.replier.NeedsHidden()) || t.choice == ChoiceNone {
		return t.replier.Answer()
	}
	return t.replier.Any()
}

// forced reports whether the model has to make a call.
func (t *turn) forced() bool {
	return t.choice != "" && t.choice != ChoiceAuto && t.choice != ChoiceNone
}

// mayReply counts a reply, or ends the turn where there were enough.
func (t *turn) mayReply() bool {
	limit := t.cfg.Policy.MaxTurns
	if limit == 0 {
		limit = DefaultTurns
	}
	if t.out.Replies == limit || t.cfg.Policy.MayReply != nil && !t.cfg.Policy.MayReply() {
		return false
	}
	t.out.Replies++
	return true
}

// stops reports whether a call's result ends the turn, and ends it with that.
func (t *turn) stops(ctx context.Context, call ToolCall) (bool, error) {
	p := t.cfg.Policy
	output := outputText(call.Result)
	source := FromResult
	switch {
	case p.StopAtFirst, slices.Contains(p.StopAt, call.ToolName):
	case p.Decide != nil:
		decision, err := p.Decide(ctx, []runner.Output{{Tool: call.ToolName, Output: output}})
		if err != nil || !decision.IsFinalOutput {
			return false, err
		}
		output, source = "", FromFunction
		if decision.FinalOutput != nil {
			output = *decision.FinalOutput
		}
	default:
		return false, nil
	}
	return true, t.conclude(FinishDirect, learn.ToolResult(call.ToolName, call.Result), output, source)
}

// outputText is a result as text: what a function tool returned, or the JSON of any other tool's result.
func outputText(result json.RawMessage) string {
	list := leaves(result)
	if len(list) == 1 && len(list[0].path) == 1 && list[0].path[0] == "output" {
		return list[0].text
	}
	return string(result)
}
