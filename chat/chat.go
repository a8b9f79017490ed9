package chat

import (
	"context"
	"math/rand/v2"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// Limits of one prompt.
const (
	MaxCalls      = 4
	callTokens    = 512
	DefaultAnswer = 256 // tokens of an answer, unless Config says otherwise
)

// Config is what a chat is made of. It isn't changed.
type Config struct {
	World       learn.World
	Dispatcher  *Dispatcher         // nil: no tools
	Imprint     *imprint.Unverified // nil: the contract goes into the prompt
	Profile     learn.Profile       // without an imprint
	MaxTokens   int                 // of an answer; 0: DefaultAnswer
	Temperature float64             // 0: greedy
	Seed        uint64
	Clock       func() time.Time
	Progress    inference.Progress // hears the prefix being decoded; may be nil
	OnText      func(string)       // hears answers as they come; may be nil
	Stop        func() bool        // asked between tokens; true ends the reply; may be nil
	GoesOn      bool               // more prompts will come: a place to go back to is kept at each of them
	Policy      Policy             // of every prompt
	Gate        Gate               // nil: (*imprint.Unverified).Verify, which reads everything
}

// Gate verifies an imprint against the live world as (*imprint.Unverified).Verify does, for a process that may have its
// content in memory.
type Gate func(ctx context.Context, u *imprint.Unverified, live imprint.Identity) (*imprint.Verified, error)

// The modes: where the tool contract came from.
const (
	ModeImprint = "imprint"
	ModePrompt  = "prompt"
	ModeNone    = "none"
)

// Chat is one conversation. It is used by one goroutine at a time.
type Chat struct {
	cfg      Config
	replier  *learn.Replier
	verified *imprint.Verified
	learned  *learn.Learned
	random   *rand.Rand

	head     []chattemplate.Message // the contract and the examples
	prefix   []inference.Token      // what head comes to
	messages []chattemplate.Message // head and the conversation since
	session  inference.Session
	ahead    chan made // a session that is being made; nil: none
	params   inference.Params
	through  int  // index of the last message whose content the session holds; −1: only the prefix, or nothing
	restored bool // the session began with the imprint
	report   ImprintReport
	mark     mark
}

// ImprintReport says what an imprint did for a chat.
type ImprintReport struct {
	ID        string  `json:"id"`
	Kind      string  `json:"kind"` // state, or prefix_replay: the prefix's text was put before the conversation
	Tokens    int     `json:"tokens"`
	Restored  bool    `json:"restored"` // a computed state was restored
	VerifyMS  float64 `json:"verify_ms"`
	WaitedMS  float64 `json:"waited_ms"` // of it, what nothing else went on beside
	RestoreMS float64 `json:"restore_ms"`
	BytesRead int64   `json:"bytes_read"`
}

// Open puts the imprint through the gate, or prepares the contract for the prompt. Nothing of a prompt is decoded yet,
// and after a refusal nothing ever is: there is no way from here to a cold prefill.
//
// Errors: the gate's; imprint_requires_tools; invalid_arguments for a policy that can't be; those of the engine.
func Open(ctx context.Context, cfg Config) (*Chat, error) {
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = DefaultAnswer
	}
	if cfg.Gate == nil {
		cfg.Gate = func(ctx context.Context, u *imprint.Unverified, live imprint.Identity) (*imprint.Verified, error) {
			return u.Verify(ctx, live)
		}
	}
	c := &Chat{cfg: cfg, through: -1, random: rand.New(rand.NewPCG(cfg.Seed, cfg.Seed))}
	err := cfg.Policy.Check(c.set())
	if err != nil {
		return nil, err
	}
	if cfg.Imprint != nil {
		c.early(ctx, cfg.Imprint.Header().Tokens+askRoom+turnRoom)
		err = c.admit(ctx)
	} else if c.head, err = learn.Contract(c.set(), cfg.Profile, nil); err == nil {
		c.prefix, err = cfg.World.Renderer.Prefix(c.head)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.messages = c.head
	c.replier = learn.NewReplier(cfg.World, c.set(), c.learned)
	if cfg.Imprint != nil {
		if err := c.begin(ctx, len(c.prefix)+askRoom+turnRoom); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// admit is the gate.
func (c *Chat) admit(ctx context.Context) error {
	u := c.cfg.Imprint
	raw, err := u.Learned()
	if err != nil {
		return err
	}
	if c.learned, err = learn.DecodeLearned(raw); err != nil {
		return fault.New(fault.CodeImprintFormatUnsupported, "%s: %w", u.Path(), err)
	}
	if c.prefix, c.head, err = c.live(); err != nil {
		return err
	}
	if c.verified, err = c.cfg.Gate(ctx, u, c.cfg.World.Identity(c.set(), c.prefix, learn.LearnedVersion)); err != nil {
		return err
	}
	if err := c.learned.Suits(c.cfg.World.Model.Info().EmbeddingSize, c.set()); err != nil {
		return fault.New(fault.CodeImprintFormatUnsupported, "%s: %w", u.Path(), err)
	}
	return nil
}

// live renders the imprint's profile and examples with the tools, the template and the wording of now. With other tools
// that may be impossible; then the recorded tokens stand in, and it is the tools that the gate refuses.
func (c *Chat) live() ([]inference.Token, []chattemplate.Message, error) {
	head, renderErr := learn.Contract(c.set(), c.learned.Profile, learn.Shown(c.learned.Examples))
	if renderErr == nil {
		prefix, err := c.cfg.World.Renderer.Prefix(head)
		return prefix, head, err
	}
	recorded, err := c.cfg.Imprint.Tokens()
	if err != nil {
		return nil, nil, err
	}
	prefix := make([]inference.Token, len(recorded))
	for i, t := range recorded {
		prefix[i] = inference.Token(t)
	}
	if _, err := c.cfg.Imprint.Verify(context.Background(), c.cfg.World.Identity(c.set(), prefix, learn.LearnedVersion)); err != nil {
		return nil, nil, err
	}
	return nil, nil, renderErr
}

// made is a session that was begun ahead.
type made struct {
	params  inference.Params
	session inference.Session
	err     error
}

// early makes an empty session while the gate is at work: both take a moment, on different cores. Nothing gets into it
// before the gate has spoken.
func (c *Chat) early(ctx context.Context, room int) {
	p := c.cfg.World.Params
	var err error
	if p.ContextTokens, err = c.fit(room); err != nil {
		return // whoever needs it will say so
	}
	c.ahead = make(chan made, 1)
	go func() {
		session, err := c.cfg.World.Model.NewSession(ctx, p)
		c.ahead <- made{p, session, err}
	}()
}

// fresh gives an empty session with the chat's parameters: the one that was made ahead, if it has them.
func (c *Chat) fresh(ctx context.Context) (inference.Session, error) {
	if c.ahead != nil {
		early := <-c.ahead
		c.ahead = nil
		if early.err != nil || early.params == c.params {
			return early.session, early.err
		}
		early.session.Close()
	}
	return c.cfg.World.Model.NewSession(ctx, c.params)
}

// begin makes the session, with the imprint's state or with the decoded contract.
func (c *Chat) begin(ctx context.Context, room int) (err error) {
	if c.session != nil {
		c.session.Close()
	}
	c.params = c.cfg.World.Params
	if c.params.ContextTokens, err = c.fit(room); err != nil {
		return err
	}
	if c.session, err = c.fresh(ctx); err != nil {
		return err
	}
	c.through = -1
	if c.verified == nil {
		if c.cfg.Progress != nil {
			c.cfg.Progress(0, len(c.prefix)) // the first tokens take a while
		}
		return c.session.Decode(ctx, inference.Batch{Tokens: c.prefix, Progress: c.cfg.Progress})
	}
	done, err := c.verified.Restore(ctx, c.session)
	if err == nil && c.session.Position() != done.Tokens {
		err = fault.New(fault.CodeEngineRestoreFailed, "the engine holds %d tokens after it restored %d", c.session.Position(), done.Tokens)
	}
	if err != nil {
		c.lose()
		return err
	}
	trail := c.verified.Trail()
	c.restored = true
	c.report = ImprintReport{
		ID: c.verified.ID().String(), Kind: c.verified.Header().Kind(), Tokens: done.Tokens,
		VerifyMS: trail.VerifyMS(), WaitedMS: milliseconds(trail.Waited), RestoreMS: milliseconds(done.Duration), BytesRead: trail.BytesRead,
	}
	c.report.Restored = c.report.Kind == imprint.KindState
	return nil
}

const (
	turnRoom = 512 // positions that a turn usually takes
	minReply = 32  // positions that a reply needs at least
	askRoom  = 128 // positions that a request usually takes
	// contextStep is what sizes are rounded up to, as the engine does: a size that a few more tokens don't change.
	contextStep = 256
)

// fit gives a context size that holds need tokens.
func (c *Chat) fit(need int) (int, error) {
	limit := c.cfg.World.Model.Info().ContextLength
	if need <= limit {
		return min((need+contextStep-1)/contextStep*contextStep, limit), nil
	}
	if need-turnRoom+minReply <= limit {
		return limit, nil
	}
	return 0, fault.New(fault.CodeContextFull, "the prompt and its reply take %d tokens, and the model's context holds %d", need-turnRoom+minReply, limit)
}

// reserve makes room for more tokens and a reply. A larger context takes the state over; the engine keeps it bit for
// bit.
func (c *Chat) reserve(ctx context.Context, more int) error {
	need := c.session.Position() + more + turnRoom
	if need <= c.params.ContextTokens {
		return nil
	}
	size, err := c.fit(need)
	if err != nil || size <= c.params.ContextTokens {
		return err
	}
	state, err := c.session.SaveState(ctx)
	if err != nil {
		return err
	}
	p := c.params
	p.ContextTokens = size
	larger, err := c.cfg.World.Model.NewSession(ctx, p)
	if err != nil {
		return err
	}
	if err := larger.RestoreState(ctx, state); err != nil {
		return err
	}
	c.session.Close()
	c.session, c.params = larger, p
	return nil
}

// Close frees the session.
func (c *Chat) Close() error {
	if c.ahead != nil {
		if early := <-c.ahead; early.session != nil {
			early.session.Close()
		}
		c.ahead = nil
	}
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}

// Mode says where the tool contract came from.
func (c *Chat) Mode() string {
	switch {
	case c.cfg.Imprint != nil:
		return ModeImprint
	case c.cfg.Dispatcher != nil:
		return ModePrompt
	}
	return ModeNone
}

// Imprint says what the imprint did; nil without one.
func (c *Chat) Imprint() *ImprintReport {
	if !c.restored {
		return nil
	}
	return &c.report
}

// set is the frozen tools, nil without any.
func (c *Chat) set() *tools.ActiveSet {
	if c.cfg.Dispatcher == nil {
		return nil
	}
	return c.cfg.Dispatcher.Set
}

// Verified is the imprint that came through the gate, nil without one.
func (c *Chat) Verified() *imprint.Verified { return c.verified }
