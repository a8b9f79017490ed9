package evolve

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/generate"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
	"edge/learn"
	"edge/tools"
)

const (
	localContext = 32768 // tokens of a conversation at most, where the model has as many
	localStep    = 4096  // the session's room grows by so much
	localReply   = 1024  // tokens of a reply
	localAnswer  = 1200  // bytes of an answer in words
	localMade    = 3     // tools of the library that are shown beside the basic ones
)

// Local is a planner that runs here: the conversation is rendered with the model's own template, and a reply is drawn
// under a grammar that admits one call of an offered tool, or an answer.
type Local struct {
	world   learn.World
	session inference.Session
	room    int               // tokens that the session can hold
	held    []inference.Token // the conversation so far
	state   sealed.State      // what it came to, before a reply was drawn
}

// NewLocal makes a planner of a loaded model.
func NewLocal(w learn.World) *Local { return &Local{world: w} }

// Name is the model's name.
func (l *Local) Name() string { return l.world.File.Name }

// Close frees the session.
func (l *Local) Close() error {
	if l.session == nil {
		return nil
	}
	s := l.session
	l.session, l.held = nil, nil
	return s.Close()
}

// Next draws the next turn, but for the first, which is a search by the task's own words. A call that repeats the last one is drawn anew as an answer: a small model would go on for
// ever. Errors: context_full; those of the engine.
func (l *Local) Next(ctx context.Context, conversation []Message, offers []Offer) (Reply, error) {
	if reply, ok := first(conversation); ok {
		return reply, nil
	}
	set, err := offered(offers)
	if err != nil {
		return Reply{}, err
	}
	if err := l.read(ctx, set, conversation); err != nil {
		return Reply{}, err
	}
	reply, err := l.draw(ctx, set, tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
	if err != nil || !repeats(conversation, reply) {
		return reply, err
	}
	if err := l.read(ctx, set, conversation); err != nil {
		return Reply{}, err
	}
	return l.draw(ctx, set, tools.GrammarOptions{AllowAnswer: true})
}

// first is the step that every task begins with. It needs no model: the words of the task are what is searched for.
func first(conversation []Message) (Reply, bool) {
	if slices.ContainsFunc(conversation, func(m Message) bool { return len(m.Calls) > 0 }) {
		return Reply{}, false
	}
	var words []string
	for _, m := range conversation {
		if m.Role != RoleUser {
			continue
		}
		for _, word := range strings.FieldsFunc(m.Content, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
			if len(word) > 3 && len(words) < 32 {
				words = append(words, strings.ToLower(word))
			}
		}
	}
	raw, err := canon.Marshal(map[string]string{"query": strings.Join(words, " ")})
	return Reply{Calls: []Call{{Name: SearchTools, Arguments: string(raw)}}}, err == nil && len(words) > 0
}

// repeats reports whether a reply makes the very call that was made last.
func repeats(conversation []Message, reply Reply) bool {
	if len(reply.Calls) == 0 {
		return false
	}
	for _, m := range slices.Backward(conversation) {
		if len(m.Calls) > 0 {
			return m.Calls[0].Name == reply.Calls[0].Name && m.Calls[0].Arguments == reply.Calls[0].Arguments
		}
	}
	return false
}

// offered freezes what may be called: the basic tools and the newest of the library's.
func offered(offers []Offer) (*tools.ActiveSet, error) {
	var basic, own []Offer
	for _, o := range offers {
		if isMeta(o.Name) {
			basic = append(basic, o)
		} else {
			own = append(own, o)
		}
	}
	in := tools.Inspection{Path: "edge evolve", FileSHA256: digest.SHA256Of(nil), GeneratorVersion: "evolve-1"}
	for _, o := range append(basic, own[max(0, len(own)-localMade):]...) {
		in.Tools = append(in.Tools, tools.Tool{Name: o.Name, Description: o.Description, Parameters: o.Closed, ExecutionLevel: tools.Read})
	}
	return tools.Freeze(in, tools.Selection{})
}

// read brings the session to the end of the conversation. What doesn't fit is made to: results are shortened.
func (l *Local) read(ctx context.Context, set *tools.ActiveSet, conversation []Message) error {
	limit := min(l.world.Model.Info().ContextLength, localContext)
	var tokens []inference.Token
	for _, chars := range []int{MaxResultChars, 2000, 600, 150} {
		messages, err := rendered(set, conversation, chars)
		if err != nil {
			return err
		}
		if tokens, err = l.world.Renderer.Tokens(messages, true); err != nil {
			return err
		}
		if len(tokens)+localReply <= limit {
			break
		}
	}
	if len(tokens)+localReply > limit {
		return fault.New(fault.CodeContextFull, "the conversation takes %d tokens, and a planner's reply must fit behind it into %d", len(tokens), limit)
	}
	if err := l.reserve(ctx, len(tokens)+localReply, limit); err != nil {
		return err
	}
	if err := l.session.Reset(ctx); err != nil {
		return err
	}
	from := len(l.held) // a reply that is drawn anew finds all of it held, and then nothing would be left to decode
	if from == 0 || from >= len(tokens) || !slices.Equal(tokens[:from], l.held) {
		from = 0
	} else if err := l.session.RestoreState(ctx, l.state); err != nil {
		return err
	}
	if err := l.session.Decode(ctx, inference.Batch{Tokens: tokens[from:]}); err != nil {
		return err
	}
	var err error
	l.held = tokens
	l.state, err = l.session.SaveState(ctx)
	return err
}

// reserve makes sure that the session has room for n tokens.
func (l *Local) reserve(ctx context.Context, n, limit int) (err error) {
	if l.session != nil && l.room >= n {
		return nil
	}
	if l.session != nil {
		if err := l.session.Close(); err != nil {
			return err
		}
	}
	p := l.world.Params
	l.room = min((n+localStep-1)/localStep*localStep, limit)
	p.ContextTokens = l.room
	l.session, err = l.world.Model.NewSession(ctx, p)
	return err
}

// rendered is the conversation as a local model reads it: tools in the first turn, results as turns of the user.
func rendered(set *tools.ActiveSet, conversation []Message, chars int) ([]chattemplate.Message, error) {
	messages, err := learn.Contract(set, learn.Profile{System: systemPrompt}, nil)
	if err != nil {
		return nil, err
	}
	add := func(role, content string) {
		if last := &messages[len(messages)-1]; last.Role == role {
			last.Content += "\n" + content
			return
		}
		messages = append(messages, chattemplate.Message{Role: role, Content: content})
	}
	for _, m := range conversation {
		switch {
		case m.Role == RoleUser:
			add(chattemplate.User, m.Content)
		case m.Role == RoleTool:
			add(chattemplate.User, learn.ToolResult(m.Tool, []byte(firstChars(m.Content, chars))))
		case m.Role == RoleAssistant && len(m.Calls) > 0:
			text, err := canon.Marshal(map[string]any{"tool_name": m.Calls[0].Name, "arguments": json.RawMessage(m.Calls[0].Arguments)})
			if err != nil {
				return nil, err
			}
			add(chattemplate.Assistant, string(text))
		case m.Role == RoleAssistant:
			add(chattemplate.Assistant, m.Content)
		}
	}
	return messages, nil
}

func (l *Local) draw(ctx context.Context, set *tools.ActiveSet, o tools.GrammarOptions) (Reply, error) {
	text, err := set.Grammar(o)
	if err != nil {
		return Reply{}, err
	}
	g, err := l.world.Model.NewGrammar(text)
	if err != nil {
		return Reply{}, err
	}
	defer g.Close()
	var written strings.Builder
	hear := func(text string) { written.WriteString(text) }
	long := func() bool { return written.Len() > localAnswer && !strings.HasPrefix(written.String(), "{") }
	drawn, err := generate.Text(ctx, l.world.Model, l.session, generate.Options{Grammar: g, MaxTokens: localReply, OnText: hear, Stop: long})
	if err != nil {
		return Reply{}, err
	}
	reply, err := tools.ParseReply(drawn.Text)
	switch {
	case err != nil: // cut off in the middle of a call
		return Reply{Content: "(the local model wrote no complete call)"}, nil
	case reply.Call == nil:
		return Reply{Content: reply.Answer}, nil
	}
	return Reply{Calls: []Call{{Name: reply.Call.ToolName, Arguments: string(reply.Call.Arguments)}}}, nil
}
