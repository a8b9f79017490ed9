package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edge/chat"
	"edge/internal/fault"
)

// policyFlags say whether tools are called, and what follows a call.
type policyFlags struct {
	toolChoice string
	keepChoice bool
	stopAt     []string
	maxTurns   int
}

// stopAtFirst is what --stop-at says for any tool.
const stopAtFirst = "first"

func (f *policyFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.toolChoice, "tool-choice", chat.ChoiceAuto, "auto, required (a call), none (no call), or a tool's name; after a call it is auto again")
	c.Flags().BoolVar(&f.keepChoice, "keep-tool-choice", false, "hold the model to --tool-choice after a call too, until a limit ends the turn")
	c.Flags().StringSliceVar(&f.stopAt, "stop-at", nil, "answer with the result of the first call (first), or of these tools, and ask the model no more")
	c.Flags().IntVar(&f.maxTurns, "max-turns", chat.DefaultTurns, "most replies of the model to one prompt, calls included")
}

// policy is what the flags say; which tools there are is checked when they are known.
func (f *policyFlags) policy() (chat.Policy, error) {
	p := chat.Policy{Choice: f.toolChoice, KeepChoice: f.keepChoice, MaxTurns: f.maxTurns}
	if f.maxTurns < 1 {
		return p, fault.New(fault.CodeInvalidArguments, "--max-turns %d is out of range: 1 or more", f.maxTurns)
	}
	for _, name := range f.stopAt {
		if name = strings.TrimSpace(name); name == "" {
			return p, fault.New(fault.CodeInvalidArguments, "--stop-at has an empty name")
		}
		p.StopAt = append(p.StopAt, name)
	}
	if slices.Contains(p.StopAt, stopAtFirst) {
		p.StopAtFirst, p.StopAt = true, nil
	}
	return p, nil
}
