package chat

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/generate"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// The reasons why a turn ended.
const (
	FinishAnswer     = "answer"
	FinishDirect     = "return_direct"
	FinishPending    = "pending_confirmation"
	FinishToolFailed = "tool_failed"
	FinishCallLimit  = "call_limit"
	FinishMaxTokens  = "max_tokens"
	FinishStopped    = "stopped"
	FinishTurnLimit  = "turn_limit"
)

// Where an answer's words came from.
const (
	FromModel    = "model"
	FromResult   = "result"   // a plain sentence made of the tool's result, because the model's own didn't state it
	FromProfile  = "profile"  // a fact of the profile, because the model's own words didn't state it
	FromFunction = "function" // what an agent's own function made of the results
	FromEdge     = "edge"     // what edge says when no answer of the model may be used
)

// Turn is what one prompt came to.
type Turn struct {
	Answer        string         `json:"answer"`
	AnswerSource  string         `json:"answer_source"`
	FinishReason  string         `json:"finish_reason"`
	Mode          string         `json:"tool_instruction_mode"`
	ToolCalls     []ToolCall     `json:"tool_calls"`
	PendingAction *PendingAction `json:"pending_action"`
	Imprint       *ImprintReport `json:"imprint"`
	Selection     *Selection     `json:"selection"`
	Replies       int            `json:"model_replies"` // calls and answers that the model wrote
	Usage         Usage          `json:"usage"`
	Server        *Exchange      `json:"server"` // what a served model's server said; null where the model runs here
	Timings       Timings        `json:"timings"`
}

// Selection is what the learned head chose, before anything was decoded.
type Selection struct {
	Tool   *string `json:"tool"` // null: none
	Score  float64 `json:"score"`
	Margin float64 `json:"margin"`
	// Doubted says that the head found this tool and that the evidence for it was too weak: the reply is an answer.
	Doubted bool `json:"doubted"`
}

// Exchange is what a server said of a turn's requests.
type Exchange = inference.Exchange

// Usage counts tokens where they are decoded. PromptTokens = CachedTokens + PrefilledTokens; where CachedTokens isn't known,
// PrefilledTokens is the whole prompt: more can't have been decoded. A server's counts are added up over its requests.
type Usage struct {
	PromptTokens    int  `json:"prompt_tokens"`
	CachedTokens    *int `json:"cached_tokens"`    // held without having been decoded for this turn; null where a server doesn't say
	PrefilledTokens int  `json:"prefilled_tokens"` // decoded for this turn, and not written by the model
	GeneratedTokens int  `json:"generated_tokens"` // drawn one by one
	ForcedTokens    int  `json:"forced_tokens"`    // of the reply, decoded in a batch because they were certain
}

// Cached is CachedTokens, 0 where it isn't known.
func (u Usage) Cached() int {
	if u.CachedTokens == nil {
		return 0
	}
	return *u.CachedTokens
}

// Timings of a turn, in milliseconds since the prompt came; the caller adds what it did before.
type Timings struct {
	LoadMS     float64 `json:"load_ms"` // engine, model and tools file; set by the caller
	PrefillMS  float64 `json:"prefill_ms"`
	TTFTMS     float64 `json:"ttft_ms"` // to the first token of the reply
	CallMS     float64 `json:"call_ms"` // to the first validated call; 0 without one
	GenerateMS float64 `json:"generate_ms"`
	TotalMS    float64 `json:"total_ms"`
}

// Since gives t counted from a moment so many milliseconds before the prompt, of which loading took load.
func (t Timings) Since(before, load float64) Timings {
	t.LoadMS = load
	t.TTFTMS += before
	t.TotalMS += before
	if t.CallMS > 0 {
		t.CallMS += before
	}
	return t.rounded()
}

// rounded drops what adding fractions has put behind the microseconds.
func (t Timings) rounded() Timings {
	for _, ms := range []*float64{&t.LoadMS, &t.PrefillMS, &t.TTFTMS, &t.CallMS, &t.GenerateMS, &t.TotalMS} {
		*ms = math.Round(*ms*1000) / 1000
	}
	return t
}

// turn is a Turn in progress.
type turn struct {
	*Chat
	out     Turn
	request string
	choice  string // of a tool; auto once a call was made, unless the policy keeps it
	began   time.Time
	stocked bool // Usage.CachedTokens is known
}

// Ask takes a prompt to an answer, to a pending action, or to a refusal. After an error the chat can go on with the
// next prompt, which decodes the conversation again where the session was lost; the failed prompt isn't part of it.
//
// Errors: context_full before anything is decoded; those of the engine; the context's own. A tool that fails isn't one:
// it fails closed, and the turn says so.
func (c *Chat) Ask(ctx context.Context, prompt string) (*Turn, error) {
	switch {
	case strings.TrimSpace(prompt) == "":
		return nil, fault.New(fault.CodeInvalidArguments, "the prompt is empty")
	case !utf8.ValidString(prompt) || strings.ContainsRune(prompt, 0):
		return nil, fault.New(fault.CodeInvalidArguments, "the prompt isn't text: it holds a NUL character, or bytes that aren't UTF-8")
	}
	before := len(c.messages)
	t := &turn{Chat: c, request: prompt, choice: c.cfg.Policy.Choice, began: c.cfg.Clock(), out: Turn{Mode: c.Mode(), ToolCalls: []ToolCall{}}}
	err := c.setMark(ctx)
	if err == nil {
		err = t.run(ctx)
	}
	if err != nil {
		c.messages = c.messages[:before]
		c.goBack(context.WithoutCancel(ctx))
		return nil, err
	}
	t.finish()
	return &t.out, nil
}

// lose gives the session up; the next prompt begins a new one from the imprint.
func (c *Chat) lose() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

func (t *turn) run(ctx context.Context) error {
	t.messages = append(t.messages, chattemplate.Message{Role: chattemplate.User, Content: t.request})
	if err := t.read(ctx, t.replier.NeedsHidden()); err != nil {
		return err
	}
	hidden, err := t.asked()
	if err != nil {
		return err
	}
	plan := t.plan(hidden)
	if plan.AllowsCall() && t.cfg.Dispatcher.Ahead != nil {
		t.cfg.Dispatcher.Ahead()
	}
	corrected := false
	for {
		if !t.mayReply() {
			return t.conclude(FinishTurnLimit, "", fmt.Sprintf("I stopped without an answer: the limit of replies is reached (%d).", t.out.Replies), FromEdge)
		}
		reply, written, err := t.reply(ctx, plan)
		switch {
		case fault.Is(err, fault.CodeInvalidToolCall), fault.Is(err, fault.CodeInvalidToolArgs), fault.Is(err, fault.CodeUnknownTool):
			if corrected {
				return t.failClosed(fault.From(err).Message)
			}
			corrected = true
			if err := t.tell(ctx, learn.ToolError(fault.From(err).Message)); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case reply.Call == nil:
			return t.answer(ctx, reply.Answer, written)
		}
		if known := t.answered(*reply.Call); known != nil && plan.AllowsAnswer() { // what is missing is an answer
			plan = t.replier.Answer()
			if err := t.tell(ctx, learn.ToolResult(reply.Call.ToolName, known.Result)); err != nil {
				return err
			}
			continue
		}
		if len(t.out.ToolCalls) == MaxCalls {
			t.out.ToolCalls = append(t.out.ToolCalls, t.tooMany(*reply.Call))
			return t.conclude(FinishCallLimit, "The call wasn't run: too many calls.", "I stopped after 4 tool calls without an answer.", FromEdge)
		}
		if done, err := t.call(ctx, *reply.Call); done || err != nil {
			return err
		}
		plan = t.next(hidden)
	}
}

// read decodes everything of the conversation that the session doesn't hold yet, up to where the assistant's turn
// begins.
func (t *turn) read(ctx context.Context, hidden bool) error {
	start := t.cfg.Clock()
	if err := t.ready(ctx); err != nil {
		return err
	}
	var tokens []inference.Token
	var err error
	if t.through < 0 {
		tokens, err = t.cfg.World.Suffix(t.messages, t.prefix)
	} else {
		tokens, err = t.cfg.World.Renderer.After(t.messages, t.through)
	}
	if err != nil {
		return err
	}
	if err := t.reserve(ctx, len(tokens)); err != nil {
		return err
	}
	if err := t.session.Decode(ctx, inference.Batch{Tokens: tokens, Hidden: hidden}); err != nil {
		return err
	}
	t.through = len(t.messages) - 1
	t.out.Usage.PrefilledTokens += len(tokens)
	t.out.Timings.PrefillMS += milliseconds(t.cfg.Clock().Sub(start))
	return nil
}

// asked gives the hidden states of the request's own turn. Later in a conversation more was decoded with it: what ended
// the turn before. The head has learned from requests right behind the prefix, so that is cut off.
func (t *turn) asked() ([][]float32, error) {
	rows := t.session.Hidden()
	if len(rows) == 0 {
		return nil, nil
	}
	alone := append(t.head[:len(t.head):len(t.head)], t.messages[len(t.messages)-1])
	own, err := t.cfg.World.Suffix(alone, t.prefix)
	if err != nil {
		return nil, err
	}
	return rows[max(0, len(rows)-len(own)):], nil
}

// ready makes sure that there is a session, and at a turn's start takes stock of what it holds.
func (t *turn) ready(ctx context.Context) error {
	opened := t.session == nil
	if opened {
		tokens, err := t.cfg.World.Suffix(t.messages, t.prefix)
		if err != nil {
			return err
		}
		if err := t.begin(ctx, len(t.prefix)+len(tokens)+turnRoom); err != nil {
			return err
		}
		t.out.Usage.PrefilledTokens += t.session.Decoded()
	}
	if !t.stocked {
		t.stocked = true
		cached := t.session.Position()
		if opened {
			cached -= t.session.Decoded()
		}
		t.out.Usage.CachedTokens = &cached
	}
	return nil
}

// tell adds a turn of the user's side and decodes it.
func (t *turn) tell(ctx context.Context, content string) error {
	t.messages = append(t.messages, chattemplate.Message{Role: chattemplate.User, Content: content})
	return t.read(ctx, false)
}

// reply has the model write, and reads what it wrote.
func (t *turn) reply(ctx context.Context, plan learn.Plan) (tools.Reply, generate.Result, error) {
	start := t.cfg.Clock()
	first := func() {
		if t.out.Timings.TTFTMS == 0 {
			t.out.Timings.TTFTMS = milliseconds(t.cfg.Clock().Sub(t.began))
		}
	}
	d := learn.Drawing{MaxTokens: t.cfg.MaxTokens, Temperature: t.cfg.Temperature, Random: t.random, First: first}
	w := watch{limit: t.cfg.MaxTokens, stop: t.cfg.Stop}
	if plan.AllowsCall() {
		d.MaxTokens = max(callTokens, t.cfg.MaxTokens)
	}
	// What follows a result, and what was asked about the profile, is checked before anyone sees it.
	if _, about := t.recall(); len(t.out.ToolCalls) == 0 && !about {
		w.pass = t.cfg.OnText
	}
	if n := len(t.out.ToolCalls); n > 0 {
		result := t.out.ToolCalls[n-1].Result
		told := numbers(t.known() + " " + string(result))
		w.vain = func(sofar string) bool { return hopeless(sofar, t.request, result, told) }
	}
	d.OnText, d.Stop = w.hear, w.ends
	d.MaxTokens = min(d.MaxTokens, t.params.ContextTokens-t.session.Position())
	out, err := t.replier.Write(ctx, t.session, plan, d)
	out.Stopped = out.Stopped && !w.full
	t.served(out.Exchange)
	t.out.Usage.GeneratedTokens += out.Drawn
	t.out.Usage.ForcedTokens += out.Forced
	t.out.Timings.GenerateMS += milliseconds(t.cfg.Clock().Sub(start))
	if err != nil && !fault.Is(err, fault.CodeInvalidToolCall) {
		return tools.Reply{}, out, err
	}
	t.messages = append(t.messages, chattemplate.Message{Role: chattemplate.Assistant, Content: out.Text})
	t.through = len(t.messages) - 1
	switch {
	case err != nil: // the grammar came to a dead end; what was written until then is in the session
		return tools.Reply{}, out, err
	case out.Stopped && w.call: // a call that was begun isn't run
		return tools.Reply{}, out, nil
	case out.Stopped, !plan.AllowsCall():
		return tools.Reply{Answer: strings.TrimSpace(out.Text)}, out, nil
	}
	reply, err := tools.ParseReply(out.Text)
	if err != nil {
		return tools.Reply{}, out, err
	}
	if reply.Call != nil {
		if err := t.cfg.Dispatcher.Validate(*reply.Call); err != nil {
			return tools.Reply{}, out, err
		}
		if t.out.Timings.CallMS == 0 {
			t.out.Timings.CallMS = milliseconds(t.cfg.Clock().Sub(t.began))
		}
	}
	return reply, out, nil
}

// served adds what a server said of a reply.
func (t *turn) served(x *inference.Exchange) {
	switch {
	case x == nil:
	case t.out.Server == nil:
		t.out.Server = x
	default:
		all := t.out.Server.Add(*x)
		t.out.Server = &all
	}
}

// call dispatches and reports whether the turn is over.
func (t *turn) call(ctx context.Context, call tools.Call) (done bool, err error) {
	record, action, err := t.cfg.Dispatcher.Dispatch(ctx, call)
	t.out.ToolCalls = append(t.out.ToolCalls, record)
	switch {
	case err != nil && ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil:
		return true, t.failClosed("")
	case action != nil:
		t.out.PendingAction = action
		return true, t.conclude(FinishPending, "The call waits for the user's confirmation.", "This needs your confirmation; nothing was done yet.", FromEdge)
	case record.ReturnDirect:
		return true, t.conclude(FinishDirect, learn.ToolResult(call.ToolName, record.Result), string(record.Result), FromResult)
	}
	if done, err := t.stops(ctx, record); done || err != nil {
		return true, err
	}
	return false, t.tell(ctx, learn.ToolResult(call.ToolName, record.Result))
}

// tooMany is the record of the call that was one too many; it didn't run.
func (t *turn) tooMany(call tools.Call) ToolCall {
	record := t.cfg.Dispatcher.record(call)
	record.fail(StatusRefused, fault.New(fault.CodeToolCallLimitExceeded, "the model asked for more than %d calls", MaxCalls))
	return record
}

// answered finds the very same call among those that have a result.
func (t *turn) answered(call tools.Call) *ToolCall {
	for i, c := range t.out.ToolCalls {
		if c.ToolName == call.ToolName && string(c.Arguments) == string(call.Arguments) {
			return &t.out.ToolCalls[i]
		}
	}
	return nil
}

// answer ends the turn with the model's words, or, where these don't state a tool's result, with the result's.
func (t *turn) answer(ctx context.Context, text string, written generate.Result) error {
	reason := FinishAnswer
	switch {
	case written.Stopped:
		reason = FinishStopped
	case !written.Ended:
		reason = FinishMaxTokens
	}
	if len(t.out.ToolCalls) == 0 {
		if fact, ok := t.recall(); ok && !learn.States(text, fact, t.request) {
			t.messages = t.messages[:len(t.messages)-1]
			t.goBack(ctx)
			return t.conclude(FinishAnswer, "", fact, FromProfile)
		}
		t.out.Answer, t.out.AnswerSource, t.out.FinishReason = text, FromModel, reason
		return nil
	}
	last := t.out.ToolCalls[len(t.out.ToolCalls)-1]
	if reason == FinishAnswer && states(text, t.request, last.Result, t.known()) {
		t.out.Answer, t.out.AnswerSource, t.out.FinishReason = text, FromModel, reason
		return nil
	}
	// The model's words are taken out of the conversation.
	t.messages = t.messages[:len(t.messages)-1]
	t.goBack(ctx)
	text = sentence(last.ToolName, last.Result)
	if last.Status == StatusTold {
		text = failure(last.ToolName, last.Result)
	}
	return t.conclude(FinishAnswer, "", text, FromResult)
}

// recall is the fact of the imprint's profile that the request asks about.
func (t *turn) recall() (string, bool) {
	if t.learned == nil {
		return "", false
	}
	return t.learned.Recall(t.request)
}

// known is every text that an answer may take values from.
func (t *turn) known() string {
	var b strings.Builder
	for _, m := range t.messages {
		if m.Role != chattemplate.Assistant {
			b.WriteString(m.Content + "\n")
		}
	}
	return b.String()
}

// failClosed ends the turn safely: what failed isn't used, and the model says nothing about it.
func (t *turn) failClosed(why string) error {
	text := "I couldn't do that: the tool call failed, so I have no result to answer from."
	if n := len(t.out.ToolCalls); n > 0 && t.out.ToolCalls[n-1].ErrorCode != nil {
		c := t.out.ToolCalls[n-1]
		text = "I couldn't do that: " + c.ToolName + " failed (" + string(*c.ErrorCode) + "), so I have no result to answer from."
	} else if why != "" {
		text = "I couldn't do that: " + why + "."
	}
	return t.conclude(FinishToolFailed, "The call failed.", text, FromEdge)
}

// conclude ends the turn with words that the session doesn't hold yet; they are decoded with the next prompt. outcome
// tells the model what became of a call that it has heard nothing of.
func (t *turn) conclude(reason, outcome, text, source string) error {
	if n := len(t.messages); t.messages[n-1].Role == chattemplate.Assistant {
		t.note(outcome)
	}
	t.messages = append(t.messages, chattemplate.Message{Role: chattemplate.Assistant, Content: text})
	t.out.Answer, t.out.AnswerSource, t.out.FinishReason = text, source, reason
	return nil
}

// note adds a turn of the user's side without decoding it.
func (t *turn) note(content string) {
	t.messages = append(t.messages, chattemplate.Message{Role: chattemplate.User, Content: content})
}

func (t *turn) finish() {
	if report := t.Imprint(); report != nil {
		own := *report
		t.out.Imprint = &own
	}
	t.out.Timings.TotalMS = milliseconds(t.cfg.Clock().Sub(t.began))
	t.out.Timings = t.out.Timings.rounded()
	if x := t.out.Server; x != nil {
		t.out.Usage.CachedTokens = x.CachedTokens
		t.out.Usage.PrefilledTokens = x.PromptTokens - t.out.Usage.Cached()
		if t.out.Imprint != nil {
			t.out.Imprint.Restored = x.SlotRestored
		}
	}
	t.out.Usage.PromptTokens = t.out.Usage.Cached() + t.out.Usage.PrefilledTokens
}
