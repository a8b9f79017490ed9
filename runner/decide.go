package runner

import (
	"context"
	"encoding/json"

	"edge/internal/digest"
	"edge/internal/fault"
)

// DecideRequest asks a function of an agent: with results, whether they end its run (tool_use_behavior); without any, for
// its instructions.
type DecideRequest struct {
	// Path and SourceSHA256 name the agents' file and its frozen bytes.
	Path         string
	SourceSHA256 digest.SHA256
	Agent        string
	Results      []Output
	// Context is JSON, nil for null.
	Context json.RawMessage
}

// Output is what one call of the turn gave.
type Output struct {
	Tool   string `json:"tool"`
	Output string `json:"output"`
}

// Decision is the function's answer.
type Decision struct {
	IsFinalOutput bool
	FinalOutput   *string // nil: none
}

// Decide runs one function of an agent in a process of its own, sandboxed as a read call. Errors are those of Call.
func (r *Runner) Decide(ctx context.Context, req DecideRequest) (Decision, error) {
	results := req.Results
	if results == nil {
		results = []Output{}
	}
	what := "the function that gives its instructions"
	if len(results) > 0 {
		what = "the function given as tool_use_behavior"
	}
	ran, err := r.exchange(ctx, what, r.levelFor(false), request{
		Op: opDecide, Path: req.Path, SourceSHA256: &req.SourceSHA256, Agent: req.Agent, Results: &results, Context: req.Context,
	})
	if fault.Is(err, fault.CodeToolRaised) {
		return Decision{}, fault.From(err).WithHint("mend it: standard error has its traceback")
	}
	if err != nil {
		return Decision{}, fault.From(err)
	}
	return Decision{*ran.response.IsFinalOutput, ran.response.FinalOutput}, nil
}
