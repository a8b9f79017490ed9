// Package chattemplate turns a conversation into tokens with the model's own chat template (the Jinja source in
// tokenizer.chat_template).
//
// The invariant it owns: what a user, a tool or a file wrote is text. The template is rendered with marks in place of
// the contents; only what the template itself wrote is tokenized with special tokens, and every content is tokenized on
// its own, without them. So no content can end a turn or open another, and the tokens of a conversation's beginning
// don't depend on what follows.
//
// What it refuses: a template that loses or repeats a content, or that can't be rendered for an ordinary conversation.
package chattemplate

import (
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"

	"edge/inference"
	"edge/internal/fault"
)

// The roles of a conversation.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
)

// Message is one turn. A tool's result is a user turn: no role for it exists in every template.
type Message struct {
	Role    string
	Content string
}

// plain is for models whose file has no template: base models, mostly.
const plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"

// Renderer renders conversations for one model. It may be used from several goroutines.
type Renderer struct {
	template *jinja.Template
	tok      inference.Tokenizer
	info     inference.ModelInfo
	merge    bool // the template takes no system turn: its text goes before the first user turn's
	memo     memo
}

// New compiles the model's template and tries it on small conversations.
func New(tok inference.Tokenizer, info inference.ModelInfo) (*Renderer, error) {
	source := info.ChatTemplate
	if source == "" {
		source = plain
	}
	t, err := jinja.Compile(source)
	if err != nil {
		return nil, fault.New(fault.CodeModelFileInvalid, "the model's chat template can't be compiled: %w", err)
	}
	r := &Renderer{template: t, tok: tok, info: info}
	probe := []Message{{System, "s"}, {User, "u"}, {Assistant, "a"}, {User, "v"}}
	if _, err := r.render(probe, true); err == nil {
		return r, nil
	}
	r.merge = true
	if _, err := r.render(probe, true); err != nil {
		return nil, fault.New(fault.CodeModelFileInvalid, "the model's chat template can't render a conversation: %w", err)
	}
	return r, nil
}

// fragment is a stretch of the rendered conversation: text of the template, or the content of a message.
type fragment struct {
	text    string
	message int // index of the message whose content this is; −1 for the template's text
}

// The marks stand for contents while the template runs. They are letters, so that no template strips them, and hold a
// word that no template has.
const (
	markOpen  = "EdgeContentMarkOpen"
	markClose = "EdgeContentMarkClose"
)

func mark(i int) string { return fmt.Sprintf("%s%d%s", markOpen, i, markClose) }

// render runs the template and splits its output at the marks. Every content must appear exactly once and in order.
func (r *Renderer) render(messages []Message, generate bool) ([]fragment, error) {
	list := make([]jinja.Value, 0, len(messages))
	lead := ""
	for i, m := range messages {
		content := lead + mark(i)
		lead = ""
		if r.merge && m.Role == System {
			lead = content + "\n\n"
			continue
		}
		list = append(list, turn(m.Role, content))
	}
	if lead != "" { // a system turn alone
		list = append(list, turn(User, strings.TrimSuffix(lead, "\n\n")))
	}
	// The library's clock is taken away: a date in the prefix would make every imprint stale by tomorrow.
	out, err := r.template.RenderValues(map[string]jinja.Value{
		"strftime_now": jinja.Undefined(),
		"messages":     jinja.NewList(list), "add_generation_prompt": jinja.NewBool(generate), "enable_thinking": jinja.NewBool(false),
		"bos_token": jinja.NewString(r.info.BOSText), "eos_token": jinja.NewString(r.info.EOSText),
	})
	if err != nil {
		return nil, err
	}
	var parts []fragment
	for i := range messages {
		before, after, ok := strings.Cut(out, mark(i))
		if !ok {
			return nil, fmt.Errorf("the template drops or reorders message %d (%s)", i, messages[i].Role)
		}
		parts = append(parts, fragment{before, -1}, fragment{messages[i].Content, i})
		out = after
	}
	if strings.Contains(out, markOpen) {
		return nil, fmt.Errorf("the template repeats a message")
	}
	return append(parts, fragment{out, -1}), nil
}

func turn(role, content string) jinja.Value {
	d := jinja.NewDict()
	d.AsDict().Set("role", jinja.NewString(role))
	d.AsDict().Set("content", jinja.NewString(content))
	return d
}

// Tokens gives the whole conversation; with generate it ends where the assistant's turn begins.
func (r *Renderer) Tokens(messages []Message, generate bool) ([]inference.Token, error) {
	parts, err := r.render(messages, generate)
	if err != nil {
		return nil, fault.New(fault.CodeModelFileInvalid, "render conversation: %w", err)
	}
	tokens, err := r.tokenize(parts)
	if err != nil {
		return nil, err
	}
	return r.withBOS(tokens), nil
}

// After gives the tokens that follow the content of message i, up to where the assistant's turn begins. The
// conversation goes on with them when what the assistant generated is already decoded.
func (r *Renderer) After(messages []Message, i int) ([]inference.Token, error) {
	parts, err := r.render(messages, true)
	if err != nil {
		return nil, fault.New(fault.CodeModelFileInvalid, "render conversation: %w", err)
	}
	for n, p := range parts {
		if p.message == i {
			return r.tokenize(parts[n+1:])
		}
	}
	return nil, fault.New(fault.CodeInternal, "render conversation: no message %d", i)
}

// Prefix gives the longest token prefix that every conversation starting with messages and a user turn shares: two
// different requests are rendered, and what they have in common before the requests themselves counts. A tokenizer may
// begin those two alike, and a third one otherwise.
func (r *Renderer) Prefix(messages []Message) ([]inference.Token, error) {
	ask := func(request string) []Message {
		return append(messages[:len(messages):len(messages)], Message{User, request})
	}
	const request = "alpha 1"
	a, err := r.Tokens(ask(request), true)
	if err != nil {
		return nil, err
	}
	b, err := r.Tokens(ask("Zulu, 2?"), true)
	if err != nil {
		return nil, err
	}
	own, err := r.tok.Tokenize(request, false)
	if err != nil {
		return nil, err
	}
	after, err := r.After(ask(request), len(messages))
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(a)-len(own)-len(after) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n], nil
}

func (r *Renderer) tokenize(parts []fragment) ([]inference.Token, error) {
	var all []inference.Token
	for _, p := range parts {
		tokens, err := r.memo.tokenize(r.tok, text{p.text, p.message < 0})
		if err != nil {
			return nil, err
		}
		all = append(all, tokens...)
	}
	return all, nil
}

// withBOS makes the text start with BOS exactly once where the model declares one; where it doesn't, the template's own
// tokens stand.
func (r *Renderer) withBOS(tokens []inference.Token) []inference.Token {
	if !r.info.AddBOS || r.info.BOS < 0 {
		return tokens
	}
	for len(tokens) > 0 && tokens[0] == r.info.BOS {
		tokens = tokens[1:]
	}
	return append([]inference.Token{r.info.BOS}, tokens...)
}
