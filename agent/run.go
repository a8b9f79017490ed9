package agent

import (
	"context"
	"encoding/json"
	"time"

	"edge/chat"
	"edge/imprint"
	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
)

// Limits of a run.
const (
	MaxDepth        = 4  // runs within each other
	MaxHandoffs     = 8  // of one run
	DefaultMaxTurns = 20 // replies of all models, unless Config says otherwise
)

// Config is what agents run with. It isn't changed.
type Config struct {
	File     *File
	World    learn.World
	Runner   chat.Runner // runs the tools of the file
	Pending  chat.Pending
	Decide   Decide
	Imprints map[string]*imprint.Unverified // by agent; one without gets its contract in the prompt
	Context  json.RawMessage                // what tools and instructions get as their context; nil: null
	MaxTurns int                            // replies of all models; 0: DefaultMaxTurns
	Choice   *string                        // the first agent's tool choice instead of the file's; nil: the file's
	Clock    func() time.Time
	Progress inference.Progress // hears prefixes being decoded; may be nil
	Gate     chat.Gate          // nil: (*imprint.Unverified).Verify
	// Record keeps a run that another one has asked for, and gives the digest of what it kept. It may be nil.
	Record func(*Run) (digest.SHA256, error)
}

// Decide asks a function of the file: an agent's instructions where results are nil, and otherwise whether they end its
// run.
type Decide func(ctx context.Context, agent string, results []runner.Output, context json.RawMessage) (runner.Decision, error)

// The reasons why a run ended that a turn doesn't have.
const (
	FinishHandoffLimit = "handoff_limit"
	FinishHandoff      = "handoff" // a step's
)

// Run is what a request came to.
type Run struct {
	FinalOutput   string              `json:"final_output"`
	AnswerSource  string              `json:"answer_source"`
	FinishReason  string              `json:"finish_reason"`
	Agent         string              `json:"agent"`
	LastAgent     string              `json:"last_agent"`
	Steps         []*Step             `json:"steps"`
	PendingAction *chat.PendingAction `json:"pending_action"`
}

// Step is one agent's turn. Agents that hand over make more than one.
type Step struct {
	Agent           string         `json:"agent"`
	ActiveSetSHA256 *digest.SHA256 `json:"active_set_sha256"` // null: no tools
	*chat.Turn
	ToolCalls []Call  `json:"tool_calls"`
	HandoffTo string  `json:"handoff_to"` // the next step's agent; "": the run ended
	OpenMS    float64 `json:"open_ms"`    // until the imprint was verified and restored
}

// Call is one call; where the tool is an agent, with the run that it was.
type Call struct {
	chat.ToolCall
	Run       *Run           `json:"run,omitempty"`
	RunSHA256 *digest.SHA256 `json:"run_sha256,omitempty"` // of the record of that run
}

// Team is a file's agents at work on one request. It is used by one goroutine at a time.
type Team struct {
	cfg     Config
	replies int // of all models
}

// New makes a team.
func New(cfg Config) *Team {
	if cfg.MaxTurns == 0 {
		cfg.MaxTurns = DefaultMaxTurns
	}
	return &Team{cfg: cfg}
}

// Replies is how many replies the models have given.
func (t *Team) Replies() int { return t.replies }

// Run takes a prompt to an answer of the agent, or of one that it hands over to; to a pending action; or to a refusal.
//
// Errors: those of chat.Open and Ask, which name the agent; invalid_arguments for a choice that it hasn't;
// imprint_prefix_mismatch where an imprint has learned other instructions than the file's. What a limit ends isn't an
// error.
func (t *Team) Run(ctx context.Context, a *Agent, prompt string) (*Run, error) {
	if t.cfg.Choice != nil {
		if err := (chat.Policy{Choice: *t.cfg.Choice}).Check(a.Set); err != nil {
			return nil, named(a.Name, err)
		}
	}
	return t.run(ctx, a, prompt, t.cfg.MaxTurns, 1)
}

func (t *Team) run(ctx context.Context, a *Agent, prompt string, turns, depth int) (*Run, error) {
	r := &running{Team: t, prompt: prompt, until: t.replies + turns, depth: depth, out: Run{Agent: a.Name}}
	for {
		step, err := r.step(ctx, a)
		if err != nil {
			return nil, err
		}
		r.out.Steps, r.out.LastAgent = append(r.out.Steps, step), a.Name
		switch {
		case step.HandoffTo == "":
			r.end(step.Answer, step.AnswerSource, step.FinishReason)
			r.out.PendingAction = step.PendingAction
			return &r.out, nil
		case len(r.out.Steps) > MaxHandoffs:
			step.HandoffTo = ""
			r.end("I stopped after 8 handoffs without an answer.", chat.FromEdge, FinishHandoffLimit)
			return &r.out, nil
		}
		a = t.cfg.File.find(step.HandoffTo)
	}
}

// running is a run in progress.
type running struct {
	*Team
	prompt string
	until  int // replies of all models may come to this many
	depth  int
	out    Run
}

func (r *running) end(answer, source, reason string) {
	r.out.FinalOutput, r.out.AnswerSource, r.out.FinishReason = answer, source, reason
}

// answered reports whether a run ended with an answer.
func (r *Run) answered() bool {
	switch r.FinishReason {
	case chat.FinishAnswer, chat.FinishDirect, chat.FinishMaxTokens:
		return true
	}
	return false
}

// step is one agent's turn, in a conversation of its own that begins with its prefix.
func (r *running) step(ctx context.Context, a *Agent) (*Step, error) {
	begun := r.cfg.Clock()
	h := &hands{running: r, agent: a}
	c, err := r.open(ctx, a, h)
	if err != nil {
		return nil, named(a.Name, err)
	}
	defer c.Close()
	opened := r.cfg.Clock().Sub(begun)
	turn, err := c.Ask(ctx, r.prompt)
	switch {
	case h.fatal != nil: // it names its agent
		return nil, h.fatal
	case err != nil:
		return nil, named(a.Name, err)
	}
	return h.report(turn, opened), nil
}

// open opens the agent's chat, with its imprint or with its contract.
func (r *running) open(ctx context.Context, a *Agent, h *hands) (*chat.Chat, error) {
	system, err := r.Instructions(ctx, a)
	if err != nil {
		return nil, err
	}
	cfg := chat.Config{
		World: r.cfg.World, Imprint: r.cfg.Imprints[a.Name], Clock: r.cfg.Clock, Progress: r.cfg.Progress, Gate: r.cfg.Gate,
		Policy: r.policy(a),
	}
	if s := a.Settings.Temperature; s != nil {
		cfg.Temperature = *s
	}
	if s := a.Settings.MaxTokens; s != nil {
		cfg.MaxTokens = *s
	}
	if system != nil {
		cfg.Profile.System = *system
	}
	if cfg.Imprint != nil {
		if err := learnedFrom(cfg.Imprint, system); err != nil {
			return nil, err
		}
	}
	if a.Set != nil {
		cfg.Dispatcher = &chat.Dispatcher{Set: a.Set, Runner: h, Pending: pending{r.cfg.File, r.cfg.Pending}, Context: r.cfg.Context}
	}
	return chat.Open(ctx, cfg)
}

// policy is what the file says of an agent's calls, and the command of the first one's.
func (r *running) policy(a *Agent) chat.Policy {
	p := a.policy()
	p.MaxTurns, p.MayReply = r.cfg.MaxTurns, r.mayReply
	if first := r.depth == 1 && len(r.out.Steps) == 0; first && r.cfg.Choice != nil {
		p.Choice = *r.cfg.Choice
	}
	if a.Behavior.Kind == "function" {
		p.Decide = func(ctx context.Context, results []runner.Output) (runner.Decision, error) {
			return r.cfg.Decide(ctx, a.Name, results, r.cfg.Context)
		}
	}
	return p
}

// mayReply counts a reply against this run's limit. Those of the runs around it are no lower.
func (r *running) mayReply() bool {
	if r.replies == r.until {
		return false
	}
	r.replies++
	return true
}

// Instructions are the agent's; nil where the file has none.
func (t *Team) Instructions(ctx context.Context, a *Agent) (*string, error) {
	if !a.Dynamic {
		return a.Instructions, nil
	}
	d, err := t.cfg.Decide(ctx, a.Name, nil, t.cfg.Context)
	return d.FinalOutput, err
}

// learnedFrom makes sure that an imprint has learned these instructions. Tools, model and wording are the gate's to
// compare; the profile is rendered from what was learned, so nobody else would miss it.
func learnedFrom(u *imprint.Unverified, system *string) error {
	if system == nil {
		return nil
	}
	raw, err := u.Learned()
	if err != nil {
		return err
	}
	l, err := learn.DecodeLearned(raw)
	if err != nil {
		return fault.New(fault.CodeImprintFormatUnsupported, "%s: %w", u.Path(), err)
	}
	if l.Profile.System == *system {
		return nil
	}
	e := fault.New(fault.CodeImprintPrefixMismatch, "the imprint has learned other instructions than those of the file")
	e.Mismatches = []fault.Mismatch{{Field: "instructions_sha256", Want: digest.SHA256Of([]byte(l.Profile.System)).String(), Got: digest.SHA256Of([]byte(*system)).String()}}
	return e
}
