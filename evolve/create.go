package evolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Proposal is a tool that a planner wants to keep.
type Proposal struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Code        string
	TestArgs    map[string]json.RawMessage // nil: none were given
	Provenance  Provenance
}

// Created is what create_tool gives.
type Created struct {
	Success    bool     `json:"success"`
	Message    string   `json:"message,omitempty"`
	Error      string   `json:"error,omitempty"`
	Name       string   `json:"name,omitempty"`
	Validated  bool     `json:"validated"`
	Replaced   bool     `json:"replaced,omitempty"`
	Validation *Outcome `json:"validation,omitempty"`
}

func refused(format string, args ...any) Created {
	return Created{Error: clip(fmt.Sprintf(format, args...), 1000)}
}

// Create checks a tool and keeps it: its name, that its code compiles and defines run, and where test arguments were
// given, that run takes them and gives a result. A tool of the same name is replaced only by one that passes all the
// recorded tests of the old one and a test of its own. Only failures of the disk, the runner's own, and a cancelled
// context are errors.
func (l *Library) Create(ctx context.Context, w *Workbench, p Proposal) (out Created, err error) {
	r, err := newRecord(p.Name, p.Description, p.Parameters, p.Code)
	if err != nil {
		return refused("%s", err), nil
	}
	r.Provenance = p.Provenance
	if checked := w.Check(ctx, r); !checked.Success {
		if err := fatal(checked.err); err != nil {
			return Created{}, err
		}
		what := "the tool's code can't be loaded"
		if strings.Contains(checked.Stderr, "SyntaxError") {
			what = "tool code has a syntax error"
		}
		out := refused("%s: %s", what, checked.Error)
		out.Validation = &checked
		return out, nil
	}
	if p.TestArgs != nil {
		test, ran, err := firstTest(ctx, w, r, p.TestArgs)
		if err != nil {
			return Created{}, err
		}
		if !ran.Success {
			out := refused("the tool was not kept: run(**test_args) gave no result. Correct the code or test_args and send it again; only tools that run get into the library")
			out.Validation = &ran
			return out, nil
		}
		r.Tests, r.Validated = append(r.Tests, test), true
	}
	err = l.locked(ctx, func() error {
		out, err = l.keep(ctx, w, r)
		return err
	})
	return out, err
}

// firstTest runs a tool on its test arguments, twice: a tool that gives two results is held to none of them.
func firstTest(ctx context.Context, w *Workbench, r Record, args map[string]json.RawMessage) (Test, Outcome, error) {
	raw, err := canon.Marshal(args)
	if err != nil {
		return Test{}, Outcome{Error: err.Error()}, nil
	}
	ran := w.Run(ctx, r, args)
	if !ran.Success {
		return Test{}, ran, fatal(ran.err)
	}
	test := Test{Arguments: raw}
	again := w.Run(ctx, r, args)
	if !again.Success {
		return Test{}, again, fatal(again.err)
	}
	if string(again.Result) == string(ran.Result) {
		sum := digest.SHA256Of(ran.Result)
		test.ResultSHA256 = &sum
	}
	return test, ran, nil
}

// keep writes a checked record. The lock is held.
func (l *Library) keep(ctx context.Context, w *Workbench, r Record) (Created, error) {
	list, err := l.List()
	if err != nil {
		return Created{}, err
	}
	replaced := false
	for _, old := range list {
		if old.Name != r.Name {
			if strings.EqualFold(old.Name, r.Name) {
				return refused("the library has a tool %q, and names that differ in case only are one file on some systems", old.Name), nil
			}
			continue
		}
		if old.SourceSHA256 == r.SourceSHA256 && old.ParametersSHA256 == r.ParametersSHA256 {
			return Created{Success: true, Message: fmt.Sprintf("tool %q was in the library already, with the same code", r.Name), Name: r.Name, Validated: old.Validated}, nil
		}
		if old.Validated && !r.Validated {
			return refused("the library has a tested tool %q: give test_args, so that the new one can be held to as much", r.Name), nil
		}
		for _, test := range old.Tests {
			if ran := w.passes(ctx, r, test); !ran.Success {
				if err := fatal(ran.err); err != nil {
					return Created{}, err
				}
				out := refused("the library's tool %q stays: the new code fails one of its recorded tests (%s). Choose another name, or code that passes it", r.Name, test.Arguments)
				out.Validation = &ran
				return out, nil
			}
		}
		r.inherit(old)
		replaced = true
	}
	if !replaced && len(list) >= MaxLibrary {
		return refused("the library is full: it has %d tools", len(list)), nil
	}
	if err := l.write(r); err != nil {
		return Created{}, err
	}
	how := "it ran before it was kept"
	if !r.Validated {
		how = "no test_args were given, so it has not run yet"
	}
	return Created{Success: true, Message: fmt.Sprintf("tool %q was kept in the library (%s)", r.Name, how), Name: r.Name, Validated: r.Validated, Replaced: replaced}, nil
}

// inherit takes over what the replaced tool had earned.
func (r *Record) inherit(old Record) {
	for _, test := range old.Tests {
		if len(r.Tests) < maxNoted && (len(r.Tests) == 0 || string(test.Arguments) != string(r.Tests[0].Arguments)) {
			r.Tests = append(r.Tests, test)
		}
	}
	r.Examples, r.Uses, r.Successes, r.Failures = old.Examples, old.Uses, old.Successes, old.Failures
}

// passes runs one recorded test.
func (w *Workbench) passes(ctx context.Context, r Record, t Test) Outcome {
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(t.Arguments, &args); err != nil {
		return Outcome{Error: "the test's arguments can't be read"}
	}
	ran := w.Run(ctx, r, args)
	if ran.Success && t.ResultSHA256 != nil && digest.SHA256Of(ran.Result) != *t.ResultSHA256 {
		return Outcome{Error: "it gives another result than before", Result: ran.Result}
	}
	return ran
}

// fatal tells failures of a tool from those of the machine it runs on.
func fatal(err error) error {
	switch {
	case err == nil:
	case fault.Is(err, fault.CodeCancelled), fault.Is(err, fault.CodeSandboxUnavailable), fault.Is(err, fault.CodePythonNotFound),
		errors.Is(err, context.Canceled), errors.As(err, new(*os.PathError)):
		return err
	}
	return nil
}
