package evolve

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"edge/internal/canon"
	"edge/internal/digest"
)

// Config is what an agent is made of. It isn't changed.
type Config struct {
	Planner      Planner
	Library      *Library
	Workbench    *Workbench
	Web          Web // nil: off
	Code         Interpreter
	Learned      Learned // nil: every task goes to the planner
	AllowCreate  bool
	AllowNetwork bool
	Trajectories string // the folder that they are written to
	Version      string // edge's own
	Clock        func() time.Time
	Rand         io.Reader
	Log          func(string) // hears each step; may be nil
}

// The ways a task ends.
const (
	FinishAnswer = "answer"
	FinishSteps  = "max_steps"
	FinishFailed = "failed" // of a trajectory alone: the run's error says why
)

// Run is what one task came to.
type Run struct {
	ID               string        `json:"id"`
	Task             string        `json:"task"`
	Answer           string        `json:"answer"`
	Finish           string        `json:"finish_reason"`
	Trajectory       []string      `json:"trajectory"` // what was called, in order
	Reused           bool          `json:"reused"`     // solved with what was there: the library, or an imprint of it
	Direct           bool          `json:"direct"`     // solved by a learned tool, without a planner
	Created          []string      `json:"created"`
	Steps            int           `json:"steps"` // replies of the planner
	Seconds          float64       `json:"seconds"`
	TrajectoryPath   string        `json:"trajectory_path"`
	TrajectorySHA256 digest.SHA256 `json:"trajectory_sha256"`

	// Made are the records of the tools that were made, as they were kept.
	Made []Record `json:"-"`
	// Used are the sources of the library's tools that ran.
	Used []Record `json:"-"`
}

// Agent works on tasks, one after the other.
type Agent struct{ cfg Config }

// New makes an agent.
func New(cfg Config) *Agent {
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	return &Agent{cfg}
}

func (a *Agent) toolbox() toolbox {
	return toolbox{a.cfg.Library, a.cfg.Workbench, a.cfg.Web, a.cfg.Code, a.cfg.AllowCreate, a.cfg.AllowNetwork}
}

// Run takes a task to an answer, or to the limit of steps. Errors are those of the planner, the disk and the sandbox;
// the trajectory up to there is kept.
func (a *Agent) Run(ctx context.Context, task string) (run Run, err error) {
	began := a.cfg.Clock()
	id, err := newID(began, a.cfg.Rand)
	if err != nil {
		return Run{}, err
	}
	list, err := a.cfg.Library.List()
	if err != nil {
		return Run{}, err
	}
	j, err := newJournal(a.cfg.Trajectories, id)
	if err != nil {
		return Run{}, err
	}
	stamp := began.UTC().Format(time.RFC3339)
	t := &attempt{Agent: a, journal: j, run: Run{ID: id, Task: task, Trajectory: []string{}, Created: []string{}, TrajectoryPath: j.path}}
	t.session = session{toolbox: a.toolbox(), provenance: Provenance{
		Task: clip(task, maxNotedChars), Model: a.cfg.Planner.Name(), CreatedAt: stamp, EdgeVersion: a.cfg.Version, Trajectory: id,
	}}
	err = j.write(Line{
		Kind: lineStart, Schema: TrajectorySchema, ID: id, Task: task, Model: a.cfg.Planner.Name(), Time: stamp, Edge: a.cfg.Version,
		AllowCreate: a.cfg.AllowCreate, AllowNetwork: a.cfg.AllowNetwork, Library: list,
	})
	if err == nil {
		err = t.work(ctx)
	}
	if err != nil {
		t.run.Finish = FinishFailed
	}
	if writeErr := j.write(Line{Kind: lineEnd, Answer: t.run.Answer, Finish: t.run.Finish}); err == nil {
		err = writeErr
	}
	var closeErr error
	if t.run.TrajectorySHA256, closeErr = j.close(); err == nil {
		err = closeErr
	}
	t.run.Seconds = round(a.cfg.Clock().Sub(began).Seconds())
	t.finish()
	if err == nil {
		err = t.learnFrom(ctx, task)
	}
	return t.run, err
}

// attempt is a run in progress.
type attempt struct {
	*Agent
	journal *journal
	session session
	run     Run
}

// work is the loop: ask the planner, run its calls, until it answers.
func (t *attempt) work(ctx context.Context) error {
	if done, err := t.direct(ctx); done || err != nil {
		return err
	}
	conversation := []Message{{Role: RoleSystem, Content: systemPrompt}, {Role: RoleUser, Content: t.run.Task}}
	nudges := 0
	for t.run.Steps < MaxSteps {
		offers, err := t.session.offers(ctx)
		if err != nil {
			return err
		}
		reply, err := t.cfg.Planner.Next(ctx, conversation, offers)
		if err != nil {
			return err
		}
		t.run.Steps++
		if len(reply.Calls) == 0 {
			if t.mayNudge() && nudges < MaxNudges {
				nudges++
				t.cfg.Log("[guard] verified and not kept: the planner is reminded of create_tool")
				conversation = append(conversation, Message{Role: RoleAssistant, Content: reply.Content}, Message{Role: RoleUser, Content: nudge})
				if err := t.journal.write(Line{Kind: lineNudge, Step: t.run.Steps}); err != nil {
					return err
				}
				continue
			}
			t.run.Answer, t.run.Finish = reply.Content, FinishAnswer
			return nil
		}
		turn, results, err := t.calls(ctx, reply)
		if err != nil {
			return err
		}
		conversation = append(append(conversation, turn), results...)
	}
	t.run.Answer, t.run.Finish = outOfSteps, FinishSteps
	return nil
}

// mayNudge: something was verified, and neither kept as a tool nor taken from one.
func (t *attempt) mayNudge() bool {
	return t.cfg.AllowCreate && t.session.verified && len(t.session.made) == 0 && len(t.session.used) == 0
}

// calls runs the calls of one reply, and gives the turns that they come to.
func (t *attempt) calls(ctx context.Context, reply Reply) (turn Message, results []Message, err error) {
	listed := slices.Clone(reply.Calls[:min(len(reply.Calls), maxListedCalls)])
	for i := range listed {
		if c := &listed[i]; c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", t.run.Steps, i+1)
		}
	}
	for i, c := range listed {
		content := ""
		if i < MaxCallsInReply {
			if content, err = t.one(ctx, c); err != nil {
				return turn, nil, err
			}
		} else {
			raw, err := canon.Marshal(failed(refuseMany, MaxCallsInReply))
			if err != nil {
				return turn, nil, err
			}
			content = string(raw)
		}
		results = append(results, Message{Role: RoleTool, Content: content, CallID: c.ID, Tool: clip(c.Name, 64)})
	}
	if n := len(reply.Calls) - MaxCallsInReply; n > 0 {
		err = t.journal.write(Line{Kind: lineRefused, Step: t.run.Steps, Count: n})
	}
	return Message{Role: RoleAssistant, Content: reply.Content, Calls: listed}, results, err
}

// one runs one call and gives what the planner sees of the result.
func (t *attempt) one(ctx context.Context, c Call) (string, error) {
	args, sound := arguments(c.Arguments)
	raw, err := canon.Marshal(args)
	if err != nil {
		return "", err
	}
	t.cfg.Log(fmt.Sprintf("[step %d] %s %s", t.run.Steps, clip(c.Name, 64), clip(string(raw), 240)))
	began := t.cfg.Clock()
	done, err := t.session.call(ctx, c.Name, args)
	if err != nil {
		return "", err
	}
	t.cfg.Log("         " + clip(string(done.result), 240))
	sum := digest.SHA256Of(done.result)
	err = t.journal.write(Line{
		Kind: lineCall, Step: t.run.Steps, Name: c.Name, Arguments: raw, ArgumentsInvalid: !sound, Result: done.result, ResultSHA256: &sum,
		MS: round(float64(t.cfg.Clock().Sub(began).Microseconds()) / 1000), Network: done.network,
	})
	return firstChars(string(done.result), MaxResultChars), err
}

func (t *attempt) finish() {
	t.run.Trajectory = append(t.run.Trajectory, t.session.trajectory...)
	t.run.Reused = t.run.Direct || t.session.reused()
	t.run.Made = t.session.made
	for _, r := range t.session.made {
		t.run.Created = append(t.run.Created, r.Name)
	}
	for _, u := range t.session.used {
		t.run.Used = append(t.run.Used, u.record)
	}
}

// learnFrom keeps the request with the one call that answered it, for edge evolve learn.
func (t *attempt) learnFrom(ctx context.Context, task string) error {
	var good []use
	for _, u := range t.session.used {
		if u.success {
			good = append(good, u)
		}
	}
	if t.run.Finish != FinishAnswer || len(good) != 1 {
		return nil
	}
	return t.cfg.Library.Exemplify(ctx, good[0].record, task, good[0].args)
}

func firstChars(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
