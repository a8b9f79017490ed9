package learn

import (
	"bytes"
	"strings"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/fault"
	"edge/tools"
)

// PromptFormat is the version of everything that this file writes into a prompt. Another wording is another version:
// imprints of the old one are then refused as imprint_prefix_mismatch.
const PromptFormat = "2"

const defaultSystem = "You are a helpful assistant."

// Contract gives the conversation's beginning: a system turn with the profile and the tool contract, then each example
// as a turn of the user and the reply it should get.
func Contract(set *tools.ActiveSet, profile Profile, examples []Example) ([]chattemplate.Message, error) {
	system, err := systemText(set, profile)
	if err != nil {
		return nil, err
	}
	messages := []chattemplate.Message{{Role: chattemplate.System, Content: system}}
	for _, e := range examples {
		reply := ""
		switch {
		case e.Call != nil && set == nil:
			return nil, fault.New(fault.CodeUnknownTool, "an example calls %q, and no tools are active", e.Call.ToolName)
		case e.Call != nil:
			text, err := set.CallText(tools.Call{ToolName: e.Call.ToolName, Arguments: e.Call.Arguments})
			if err != nil {
				return nil, err
			}
			reply = text
		case e.Answer != nil:
			reply = *e.Answer
		}
		messages = append(messages, chattemplate.Message{Role: chattemplate.User, Content: e.Prompt}, chattemplate.Message{Role: chattemplate.Assistant, Content: reply})
	}
	return messages, nil
}

// Shown are the examples that stand in the prefix: the first of each tool and the first without one, in the order of the
// sample file. The head and the argument counts learn from all of them; in the prefix they only show the form, and each
// costs time with every token that is decoded after it. With more, choices and calls were no better (docs/learning.md).
func Shown(examples []Example) []Example {
	seen := map[string]bool{}
	var shown []Example
	for _, e := range examples {
		if !seen[e.label()] {
			seen[e.label()] = true
			shown = append(shown, e)
		}
	}
	return shown
}

func systemText(set *tools.ActiveSet, profile Profile) (string, error) {
	var b strings.Builder
	b.WriteString(profile.System)
	if strings.TrimSpace(profile.System) == "" {
		b.WriteString(defaultSystem)
	}
	if set != nil {
		b.WriteString("\n\nYour tools:")
		for _, t := range set.Tools() {
			text, err := t.PromptJSON()
			if err != nil {
				return "", err
			}
			b.WriteString("\n")
			b.Write(text)
		}
		b.WriteString("\n\nTo use a tool, reply with exactly one JSON object and nothing else:\n" +
			`{"tool_name":"…","arguments":{…}}` +
			"\nIts result comes back as a message that starts with \"Tool result\". Otherwise reply in plain words.")
	}
	if len(profile.Facts) > 0 {
		b.WriteString("\n\nWhat you know:")
		for _, f := range profile.Facts {
			b.WriteString("\n- " + strings.TrimSpace(f))
		}
	}
	return b.String(), nil
}

// ToolResultWords are what the turn that brings a result begins with.
const ToolResultWords = "Tool result of"

// ToolResult is the user turn that brings a result back to the model.
func ToolResult(toolName string, canonical []byte) string {
	return ToolResultWords + " " + toolName + ": " + string(canonical)
}

// ToolError is the user turn that tells the model why its call was refused; it gets one chance to correct it.
func ToolError(message string) string {
	return "That call was refused: " + message + ". Reply with a corrected call, or in plain words."
}

// checkPrefix makes sure that the tool contract really is in the tokens that get baked: some templates drop or move
// what they are given.
func checkPrefix(tok inference.Tokenizer, prefix []inference.Token, set *tools.ActiveSet) error {
	if set == nil {
		return nil
	}
	var text bytes.Buffer
	for _, t := range prefix {
		text.Write(tok.Piece(t))
	}
	for _, t := range set.Tools() {
		for _, name := range append([]string{t.Name}, t.ArgumentOrder()...) {
			if !bytes.Contains(text.Bytes(), []byte(`"`+name+`"`)) {
				return fault.New(fault.CodeToolContractNotInPrefix, "%q of tool %s isn't in the baked prefix: the model's chat template dropped it", name, t.Name)
			}
		}
	}
	return nil
}

// checkGrammar makes sure that every tool can be called: a schema that can't be enforced is found now, and not when a
// chat wants the tool.
func checkGrammar(m inference.Model, set *tools.ActiveSet) error {
	if set == nil {
		return nil
	}
	text, err := set.Grammar(tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
	if err != nil {
		return err
	}
	if !m.Info().Can.Logits { // a server compiles it when it is asked
		return nil
	}
	g, err := m.NewGrammar(text)
	if err != nil {
		return err
	}
	return g.Close()
}
