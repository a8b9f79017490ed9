package evolve

import (
	"context"
	"encoding/json"

	"edge/internal/canon"
	"edge/internal/digest"
)

// Learned answers requests with the tools of an imprint, without a planner.
type Learned interface {
	// Try asks. It gives false where the learned tools don't answer the request; then the planner is asked. Errors are
	// those of the gate, the engine and the disk: a refused imprint ends the task.
	Try(ctx context.Context, task string) (DirectAnswer, bool, error)
}

// DirectAnswer is what the learned tools gave.
type DirectAnswer struct {
	Answer string
	Calls  []DirectCall
}

// DirectCall is one call that the model made by its imprint, and what it gave.
type DirectCall struct {
	Name      string
	Arguments json.RawMessage
	Result    json.RawMessage
	MS        float64
}

// direct tries the learned tools, and writes down what they did.
func (t *attempt) direct(ctx context.Context) (done bool, err error) {
	if t.cfg.Learned == nil {
		return false, nil
	}
	answer, ok, err := t.cfg.Learned.Try(ctx, t.run.Task)
	if err != nil || !ok {
		if err == nil {
			t.cfg.Log("[learned] no tool of the imprint answers this; the planner is asked")
		}
		return false, err
	}
	for _, c := range answer.Calls {
		r, ok := t.cfg.Library.Get(c.Name)
		if !ok {
			continue // taken out meanwhile
		}
		if err := t.cfg.Library.Note(ctx, r, true); err != nil {
			return false, err
		}
		t.session.trajectory = append(t.session.trajectory, c.Name)
		t.run.Used = append(t.run.Used, r)
		result := Outcome{Success: true, Result: c.Result}
		raw, err := canon.Marshal(result)
		if err != nil {
			return false, err
		}
		sum := digest.SHA256Of(raw)
		line := Line{Kind: lineCall, Name: c.Name, Direct: true, Arguments: c.Arguments, Result: raw, ResultSHA256: &sum, MS: c.MS}
		if err := t.journal.write(line); err != nil {
			return false, err
		}
		t.cfg.Log("[learned] " + c.Name + " " + clip(string(c.Arguments), 240) + " → " + clip(string(c.Result), 240))
	}
	t.run.Direct, t.run.Answer, t.run.Finish = true, answer.Answer, FinishAnswer
	return true, nil
}
