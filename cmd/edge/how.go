package main

import (
	"fmt"

	"edge/chat"
	"edge/tools"
)

// sayHow tells how an answer came about, in a few lines on standard error.
func (a *app) sayHow(t *chat.Turn) {
	for _, c := range t.ToolCalls {
		line := fmt.Sprintf("  called   %s%s → %s", c.ToolName, tools.EscapeForDisplay(string(c.Arguments)), c.Status)
		if c.ErrorCode != nil && c.Error != "" {
			line += fmt.Sprintf(" [%s] %s", *c.ErrorCode, c.Error)
		} else if c.Status == chat.StatusOK {
			line += fmt.Sprintf(" in %.0f ms", c.DurationMS)
		}
		a.notify(line)
	}
	if p := t.PendingAction; p != nil {
		a.notify("  confirm  " + p.Command)
		a.notify("           before " + p.ExpiresAt)
	}
	if t.AnswerSource == chat.FromResult && t.FinishReason == chat.FinishAnswer {
		a.notify("  note     the answer is made of the tool's result: the model's own words didn't state it")
	}
	if t.FinishReason == chat.FinishMaxTokens {
		a.notify("  note     the answer is cut off: it reached --max-tokens")
	}
	u := t.Usage
	if t.Imprint != nil {
		a.notify(fmt.Sprintf("  imprint  %d tokens restored in %.0f ms (verified in %.0f ms)", t.Imprint.Tokens, t.Imprint.RestoreMS, t.Imprint.VerifyMS))
		a.notify(fmt.Sprintf("  saved    reading %d tokens again; only %d were decoded, in %.0f ms", u.CachedTokens, u.PrefilledTokens, t.Timings.PrefillMS))
	} else {
		a.notify(fmt.Sprintf("  decoded  %d tokens in %.0f ms; %d held", u.PrefilledTokens, t.Timings.PrefillMS, u.CachedTokens))
	}
	a.notify(fmt.Sprintf("  first token after %.0f ms, whole answer after %.0f ms", t.Timings.TTFTMS, t.Timings.TotalMS))
}
