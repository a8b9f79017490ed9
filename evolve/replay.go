package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"edge/internal/canon"
)

// Replay is how a trajectory went the second time.
type Replay struct {
	ID          string       `json:"id"`
	Task        string       `json:"task"`
	Same        int          `json:"same"`
	Different   int          `json:"different"`
	NotReplayed int          `json:"not_replayed"` // they need the network
	Steps       []ReplayStep `json:"steps"`
	Finish      string       `json:"finish_reason"` // as recorded
}

// The outcomes of a replayed call.
const (
	ReplaySame      = "same"
	ReplayDifferent = "different"
	ReplaySkipped   = "not_replayed"
)

// ReplayStep is one call of a replay.
type ReplayStep struct {
	Step    int             `json:"step"`
	Name    string          `json:"name"`
	Outcome string          `json:"outcome"`
	Want    json.RawMessage `json:"want,omitempty"` // where they differ
	Got     json.RawMessage `json:"got,omitempty"`
}

// Again runs a trajectory's calls in their order without a planner, on a library as it was then, and compares what they
// give. What needed the network isn't run: the recorded result stands for it. The library of cfg must be empty, and is
// written to.
func Again(ctx context.Context, cfg Config, lines []Line) (Replay, error) {
	start := lines[0]
	r := Replay{ID: start.ID, Task: start.Task, Steps: []ReplayStep{}}
	err := cfg.Library.locked(ctx, func() error {
		for _, record := range start.Library {
			parameters, err := canon.Transform(record.Parameters)
			if err != nil {
				return err
			}
			record.Parameters = parameters
			if err := cfg.Library.write(record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("the trajectory's library: %w", err)
	}
	s := &session{
		toolbox:    toolbox{library: cfg.Library, workbench: cfg.Workbench, code: cfg.Code, allowCreate: start.AllowCreate},
		provenance: Provenance{Task: clip(start.Task, maxNotedChars), Model: start.Model, CreatedAt: start.Time, EdgeVersion: start.Edge, Trajectory: start.ID},
	}
	for _, l := range lines[1:] {
		if l.Kind == lineEnd {
			r.Finish = l.Finish
		}
		if l.Kind != lineCall {
			continue
		}
		step := ReplayStep{Step: l.Step, Name: l.Name, Outcome: ReplaySkipped}
		if l.Network {
			s.recall(l)
			r.NotReplayed++
			r.Steps = append(r.Steps, step)
			continue
		}
		if l.Direct {
			s.unlock(l.Name)
		}
		args, _ := arguments(string(l.Arguments))
		done, err := s.call(ctx, l.Name, args)
		if err != nil {
			return r, err
		}
		if step.Outcome = ReplaySame; settled(done.result) != settled(l.Result) {
			step.Outcome, step.Want, step.Got = ReplayDifferent, l.Result, done.result
			r.Different++
		} else {
			r.Same++
		}
		r.Steps = append(r.Steps, step)
	}
	return r, nil
}

// settled is a result without the names of private folders, which each run has for itself.
func settled(result json.RawMessage) string {
	return regexp.MustCompile(`[^"\\\s]*edge-(tool|evolve)-[0-9A-Za-z]+`).ReplaceAllString(string(result), "…")
}

// recall takes from a step that isn't run again what the guards must know of it.
func (s *session) recall(l Line) {
	var out Interpreted
	if l.Name == CodeInterpreter && json.Unmarshal(l.Result, &out) == nil {
		s.verify(out)
	}
}
