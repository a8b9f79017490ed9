package main

import (
	"fmt"
	"strings"

	"edge/chat"
	"edge/tools"
)

// loggedText is how many characters of a call's arguments are told; the JSON output and the answer have all.
const loggedText = 1000

func shortened(text string) string {
	if r := []rune(text); len(r) > loggedText {
		return string(r[:loggedText]) + "... (truncated)"
	}
	return text
}

// hidesToolData reports whether arguments and errors of tools are kept out of what is told beside the answer: the switch of
// agent SDKs, which function tools read too.
func (a *app) hidesToolData() bool {
	switch strings.ToLower(a.getenv("OPENAI_AGENTS_DONT_LOG_TOOL_DATA")) {
	case "1", "true":
		return true
	}
	return false
}

// sayHow tells how an answer came about, in a few lines on standard error.
func (a *app) sayHow(t *chat.Turn) {
	for _, c := range t.ToolCalls {
		arguments := shortened(tools.EscapeForDisplay(string(c.Arguments)))
		if a.hidesToolData() {
			arguments = ""
		}
		line := fmt.Sprintf("  called   %s%s → %s", c.ToolName, arguments, c.Status)
		if c.Told != nil {
			line += " [" + tools.EscapeForDisplay(c.Told.Kind) + "]"
		} else if c.ErrorCode != nil && a.hidesToolData() {
			line += fmt.Sprintf(" [%s]", *c.ErrorCode)
		} else if c.ErrorCode != nil && c.Error != "" {
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
	if t.Server != nil {
		a.sayExchange(t)
		return
	}
	if t.Imprint != nil {
		a.notify(fmt.Sprintf("  imprint  %d tokens restored in %.0f ms (verified in %.0f ms)", t.Imprint.Tokens, t.Imprint.RestoreMS, t.Imprint.VerifyMS))
		a.notify(fmt.Sprintf("  saved    reading %d tokens again; only %d were decoded, in %.0f ms", u.Cached(), u.PrefilledTokens, t.Timings.PrefillMS))
	} else {
		a.notify(fmt.Sprintf("  decoded  %d tokens in %.0f ms; %d held", u.PrefilledTokens, t.Timings.PrefillMS, u.Cached()))
	}
	a.notify(fmt.Sprintf("  first token after %.0f ms, whole answer after %.0f ms", t.Timings.TTFTMS, t.Timings.TotalMS))
}

// sayExchange tells what the server of a served model said.
func (a *app) sayExchange(t *chat.Turn) {
	if t.Imprint != nil {
		how := "its text was put before the conversation"
		if t.Imprint.Restored {
			how = "the server restored its state from a file that is proven"
		}
		a.notify(fmt.Sprintf("  imprint  %s (verified in %.0f ms)", how, t.Imprint.VerifyMS))
	}
	x := t.Server
	cached := "how many it held it doesn't say"
	if x.CachedTokens != nil {
		cached = fmt.Sprintf("%d of them held", *x.CachedTokens)
	}
	line := fmt.Sprintf("  server   %s: %d requests, %d prompt tokens, %s; %d written", x.Backend, x.Requests, x.PromptTokens, cached, x.GeneratedTokens)
	if x.PromptMS != nil {
		line += fmt.Sprintf("; prompt read in %.0f ms", *x.PromptMS)
	}
	a.notify(line)
	if !x.ModelProven {
		a.notify("  note     the server can't prove which model it runs")
	}
	a.notify(fmt.Sprintf("  first token after %.0f ms, whole answer after %.0f ms", t.Timings.TTFTMS, t.Timings.TotalMS))
}
