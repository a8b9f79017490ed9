package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"edge/internal/fault"
	"edge/tools"
)

// print gives the command's outcome: value as JSON with --json, or else what text prints.
func (a *app) print(value any, text func()) error {
	if !a.json {
		text()
		return nil
	}
	return a.printJSON(value)
}

func (a *app) printJSON(value any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// say prints a line for people to standard output.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// plain makes text that a model or a tool wrote safe to show: it can break lines, and do nothing else to a terminal.
func plain(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = tools.EscapeForDisplay(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// notify prints a line for people to standard error.
func (a *app) notify(message string) { fmt.Fprintln(a.err, message) }

// failure is edge.error/v1.
type failure struct {
	Schema      string          `json:"schema"`
	OK          bool            `json:"ok"`
	Error       failureError    `json:"error"`
	Errors      []fault.Problem `json:"errors,omitempty"`
	ReceiptPath string          `json:"receipt_path,omitempty"`
}

type failureError struct {
	Code       fault.Code       `json:"code"`
	Class      fault.Class      `json:"class"`
	Message    string           `json:"message"`
	Hint       string           `json:"hint"`
	Mismatches []fault.Mismatch `json:"mismatches"`
}

// fail reports err and gives the exit status.
func (a *app) fail(err error) int {
	e := fault.From(err)
	if a.json {
		f := failure{Schema: "edge.error/v1", Errors: e.Problems, ReceiptPath: a.receipt}
		f.Error = failureError{e.Code, e.Class(), e.Message, e.NextStep(), e.Mismatches}
		if f.Error.Mismatches == nil {
			f.Error.Mismatches = []fault.Mismatch{}
		}
		if err := a.printJSON(f); err != nil {
			return fault.Internal.Exit()
		}
		return e.Class().Exit()
	}
	fmt.Fprintf(a.err, "edge: %s [%s]\n", e.Message, e.Code)
	for _, p := range e.Problems[min(1, len(e.Problems)):] {
		if strings.Contains(e.Message, p.Message) {
			continue // some messages hold several
		}
		fmt.Fprintf(a.err, "      %s\n", problemLine(p))
	}
	for _, m := range e.Mismatches {
		fmt.Fprintf(a.err, "      %s: got %s, want %s\n", m.Field, m.Got, m.Want)
	}
	fmt.Fprintf(a.err, "      → %s\n", e.NextStep())
	if a.receipt != "" {
		fmt.Fprintf(a.err, "      receipt  %s\n", a.receipt)
	}
	return e.Class().Exit()
}

func problemLine(p fault.Problem) string {
	where := ""
	switch {
	case p.File != "" && p.Line > 0:
		where = fmt.Sprintf("%s:%d: ", filepath.Base(p.File), p.Line)
	case p.File != "":
		where = filepath.Base(p.File) + ": "
	}
	if p.Tool != "" {
		where += p.Tool
		if p.Parameter != "" && !strings.HasPrefix(p.Message, "parameter ") {
			where += "(" + p.Parameter + ")"
		}
		where += ": "
	}
	return fmt.Sprintf("%s%s [%s]", where, p.Message, p.Code)
}

// version is what the build says of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return info.Main.Version
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which edge this is", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versions()
			return a.print(v, func() {
				a.say("edge %s (%s), engine %s %s, imprint format %d, prompt format %s", v.Edge, v.Go, v.Engine, v.EngineVersion, v.ImprintFormat, v.PromptFormat)
			})
		},
	}
}
