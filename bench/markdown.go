package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Markdown writes the report as tables for people.
func (r *Report) Markdown(w io.Writer) error {
	t := &tables{}
	t.say("%s", r.headline())
	t.say("%s", r.Machine)
	t.cases("First token", r.Cases)
	if r.Sliding != nil {
		t.cases(fmt.Sprintf("First token with a sliding window: %s, %d tokens", r.Sliding.Model.Name, r.Sliding.Model.SlidingWindow), r.Sliding.Cases)
	}
	if c := r.Calls; c != nil {
		t.head(fmt.Sprintf("From a request to a validated call: %d requests, %d tools, %d tokens restored", c.Requests, c.Tools, c.PrefixTokens), "way", "ms", "tokens drawn", "tokens in batches", "valid", "right")
		of := "/" + strconv.Itoa(c.Requests)
		t.row("edge", t.figure(c.ValidatedCall, c.Spread["validated_call_ms"]), c.TokensDecoded, c.TokensForced, strconv.Itoa(c.Valid)+of, strconv.Itoa(c.Right)+of)
		t.row("every token drawn under the grammar", t.figure(c.Plain, c.Spread["plain_ms"]), c.PlainDecoded, 0, strconv.Itoa(c.PlainValid)+of, strconv.Itoa(c.PlainRight)+of)
		t.say("plain / edge: %s ×. From the program's start: validated call %s ms, answer after the tool ran %s ms.", number(c.Ratio), number(c.ProcessCall), number(c.ProcessAnswer))
	}
	if x := r.Resident; x != nil {
		t.head(fmt.Sprintf("Resident engine (edge serve), %d tokens, %d tools, ms", x.PrefixTokens, x.Tools), "client's start to first token", "engine: restore and suffix", "restore", "suffix alone", "engine / suffix", "client / suffix")
		t.row(t.figure(x.TTFT, x.Spread["ttft_ms"]), t.figure(x.Engine, x.Spread["engine_ms"]), number(x.Restore), t.figure(x.SuffixOnly, x.Spread["suffix_only_ms"]), number(x.EngineRatio), number(x.Ratio))
	}
	if len(r.Threads) > 0 {
		t.head("Threads, tokens per second", "threads", "machine", "prefill", "decode", "")
		for _, x := range r.Threads {
			t.row(x.Threads, map[bool]string{false: "as it is", true: "one core taken"}[x.Busy], fmt.Sprintf("%.0f", x.Prefill), fmt.Sprintf("%.1f", x.Decode), map[bool]string{true: "edge's own choice"}[x.Chosen])
		}
		if own, best := r.busyDecode(); own > 0 && best > 0 {
			t.say("With one core taken, the best fixed number of threads writes %.2f × as fast as edge's own choice.", best/own)
		}
	}
	if len(r.Tools) > 0 {
		t.head("Number of tools", "tools", "prefix, tokens", "state, MB", "cold, ms", "restored, ms")
		for _, x := range r.Tools {
			t.row(x.Tools, x.PrefixTokens, megabytes(x.StateBytes), number(x.ColdTTFT), number(x.RestoredTTFT))
		}
	}
	if len(r.KVTypes) > 0 {
		t.head("Type of the state", "type", "prefix, tokens", "state, MB", "cold, ms", "restored, ms", "verify, ms", "restore, ms")
		for _, x := range r.KVTypes {
			t.row(x.Type, x.PrefixTokens, megabytes(x.StateBytes), number(x.ColdTTFT), number(x.RestoredTTFT), number(x.Verify), number(x.Restore))
		}
	}
	for i, l := range r.LeftOut {
		if i == 0 {
			t.say("Left out:")
			t.text.WriteString("\n")
		}
		fmt.Fprintf(&t.text, "- %s: %s\n", l.What, l.Why)
	}
	_, err := io.WriteString(w, t.text.String())
	return err
}

// busyDecode is how fast edge's own choice and the best fixed one write while one core is taken.
func (r *Report) busyDecode() (own, best float64) {
	for _, t := range r.Threads {
		switch {
		case t.Busy && t.Chosen:
			own = t.Decode
		case t.Busy:
			best = max(best, t.Decode)
		}
	}
	return own, best
}

func (r *Report) headline() string {
	return fmt.Sprintf("%s (%s), %s %s, threads: %d, up to %d runs of each kind, %.0f s: medians, with the least and the most.",
		r.Model.Name, r.Model.Description, r.Engine.Name, r.Engine.Version, r.ThreadsUsed, r.Runs, r.ElapsedS)
}

// String describes the machine in one line.
func (m Machine) String() string {
	parts := []string{fmt.Sprintf("%s, %d cores (%s)", orUnknown(m.CPU), m.Cores, strings.Join(m.Flags, " "))}
	if m.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(m.Memory)/(1<<30)))
	}
	parts = append(parts, strings.TrimSpace(m.OS+" "+m.Kernel))
	if m.Governor != "" {
		parts = append(parts, "governor "+m.Governor)
	}
	if m.LoadBefore != nil && m.LoadAfter != nil {
		parts = append(parts, fmt.Sprintf("load %.1f before, %.1f after", *m.LoadBefore, *m.LoadAfter))
	}
	return strings.Join(parts, "; ") + "."
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown processor"
	}
	return text
}

// tables collects Markdown.
type tables struct{ text strings.Builder }

func (t *tables) say(format string, args ...any) {
	if t.text.Len() > 0 {
		t.text.WriteString("\n")
	}
	fmt.Fprintf(&t.text, format+"\n", args...)
}

func (t *tables) head(title string, columns ...string) {
	t.say("**%s**\n", title)
	fmt.Fprintf(&t.text, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func (t *tables) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(&t.text, "| %v ", c)
	}
	t.text.WriteString("|\n")
}

func (t *tables) cases(title string, list []Case) {
	t.head(title+", ms", "prefix, tokens", "tools", "cold", "restored", "suffix alone", "verify", "restore", "process", "cold / restored", "restored / suffix")
	for _, c := range list {
		t.row(c.PrefixTokens, c.Tools, t.figure(c.ColdTTFT, c.Spread["cold_ttft_ms"]), t.figure(c.RestoredTTFT, c.Spread["restored_ttft_ms"]), t.figure(c.SuffixOnly, c.Spread["suffix_only_ms"]),
			number(c.Verify), number(c.Restore), t.figure(c.ProcessTTFT, c.Spread["process_ttft_ms"]), number(c.ColdRatio), number(c.FloorRatio))
	}
	t.text.WriteString("\n| prefix, tokens | tokens decoded, cold | restored | state, MB | read, MB | verify, GB/s | restore, GB/s | peak memory, MB |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range list {
		peak := "–"
		if c.PeakMemory != nil {
			peak = megabytes(*c.PeakMemory)
		}
		t.row(c.PrefixTokens, c.ColdDecoded, c.WarmDecoded, megabytes(c.StateBytes), megabytes(c.BytesRead), number(c.VerifyRate), number(c.RestoreRate), peak)
	}
}

// figure is a median with the least and the most behind it.
func (t *tables) figure(v *float64, s Spread) string {
	if v == nil {
		return "–"
	}
	if s.Runs < 2 {
		return number(v)
	}
	return fmt.Sprintf("%s (%s–%s)", number(v), number(&s.Min), number(&s.Max))
}

// number has three digits that count.
func number(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case *v >= 100:
		return fmt.Sprintf("%.0f", *v)
	case *v >= 10:
		return fmt.Sprintf("%.1f", *v)
	}
	return fmt.Sprintf("%.2f", *v)
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) }
