package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/generate"
	"edge/internal/fault"
	"edge/internal/sealed"
	"edge/learn"
	"edge/tools"
)

// options are the program's flags.
type options struct {
	dir, category, model   string
	first, shared, threads int
	engine                 bool
}

// The arms whose calls the model writes.
const (
	nothingLearned = "nothing learned"              // as edge without an imprint: the model chooses, also between call and answer
	given          = "function given"               // the right function, values free
	givenGrounded  = "function given, from request" // the right function, values as learn finds them in the request without an example
	fromTools      = "learned from the functions"   // all that learn makes of what the functions say of themselves
	fromOthers     = "learned from the others"      // head and arguments learned from the other requests with the same functions
)

// callTokens bounds the tokens of one reply.
const callTokens = 192

// asking is a session, with the prefix that it can be brought back to.
type asking struct {
	learn.World
	session  inference.Session
	contract []chattemplate.Message
	prefix   []inference.Token
	state    sealed.State
	key      string // of the functions and the system text that prefix stands for
}

// calls asks a model and writes DIR/calls/CATEGORY.jsonl.
func calls(ctx context.Context, o options, out io.Writer) error {
	rows, err := readRows(o.dir, o.category)
	if err != nil {
		return err
	}
	rows = pick(rows, o)
	w, err := open(ctx, o.model, o.threads)
	if err != nil {
		return err
	}
	defer w.Close()
	answers, err := askAll(ctx, w.World, rows, o, out)
	if err != nil {
		return err
	}
	return writeLines(filepath.Join(o.dir, "calls", o.category+".jsonl"), answers)
}

// askAll asks every request in every way.
func askAll(ctx context.Context, w learn.World, rows []row, o options, out io.Writer) ([]answered, error) {
	a := &asking{World: w}
	if err := a.makeSession(ctx, rows); err != nil {
		return nil, err
	}
	defer a.session.Close()
	answers := make([]answered, len(rows))
	views := make([]looked, len(rows))
	began := time.Now()
	for i, r := range rows {
		answers[i] = answered{ID: r.ID}
		set, err := usable(r.Functions)
		if err != nil {
			answers[i].Refused = refusal(err)
			continue
		}
		if err := a.bring(ctx, set, r); err != nil {
			return nil, fmt.Errorf("%s: %w", r.ID, err)
		}
		if views[i], answers[i].Calls, err = a.answer(ctx, set, r); err != nil {
			return nil, fmt.Errorf("%s: %w", r.ID, err)
		}
		fmt.Fprintf(out, "\r%s %d of %d, %.0f s ", o.category, i+1, len(rows), time.Since(began).Seconds())
	}
	fmt.Fprintln(out)
	if o.shared > 1 {
		if err := a.learnFromOthers(ctx, rows, views, answers); err != nil {
			return nil, err
		}
	}
	var seen []looked
	var at []int
	for i, v := range views {
		if v.request != nil && len(v.tools) > 1 {
			seen, at = append(seen, v), append(at, i)
		}
	}
	if len(seen) > 0 {
		for j, choices := range choose(seen) {
			answers[at[j]].Choices = choices
		}
	}
	return answers, nil
}

// pick takes the first requests, of all or of those whose functions enough requests share.
func pick(rows []row, o options) []row {
	count := map[string]int{}
	for _, r := range rows {
		count[r.key()]++
	}
	var list []row
	for _, r := range rows {
		if count[r.key()] >= o.shared && len(list) < o.first {
			list = append(list, r)
		}
	}
	return list
}

// makeSession makes a session with room for the longest of the requests: a token is at least a byte.
func (a *asking) makeSession(ctx context.Context, rows []row) (err error) {
	p := a.Params
	for _, r := range rows {
		set, err := freeze(r.Functions)
		if err != nil {
			continue
		}
		contract, err := learn.Contract(set, learn.Profile{System: r.System}, nil)
		if err != nil {
			return err
		}
		tokens, err := a.Renderer.Tokens(append(contract, chattemplate.Message{Role: chattemplate.User, Content: r.Request}), true)
		if err != nil {
			return err
		}
		p.ContextTokens = max(p.ContextTokens, len(tokens)+callTokens+64)
		for _, t := range set.Tools() {
			p.ContextTokens = max(p.ContextTokens, len(tokens)+len(t.Description)+64)
		}
	}
	p.ContextTokens = min(p.ContextTokens, a.Model.Info().ContextLength)
	a.session, err = a.Model.NewSession(ctx, p)
	return err
}

// bring decodes the contract of a request's functions, where it isn't the last one's.
func (a *asking) bring(ctx context.Context, set *tools.ActiveSet, r row) (err error) {
	if a.key == r.key() {
		return nil
	}
	a.key = ""
	if a.contract, err = learn.Contract(set, learn.Profile{System: r.System}, nil); err != nil {
		return err
	}
	if a.prefix, err = a.Renderer.Prefix(a.contract); err != nil {
		return err
	}
	if err := a.session.Reset(ctx); err != nil {
		return err
	}
	if err := a.session.Decode(ctx, inference.Batch{Tokens: a.prefix}); err != nil {
		return err
	}
	if a.state, err = a.session.SaveState(ctx); err != nil {
		return err
	}
	a.key = r.key()
	return nil
}

// ask puts a text after the restored prefix, as a request.
func (a *asking) ask(ctx context.Context, text string) ([]learn.Vector, error) {
	suffix, err := a.Suffix(append(a.contract[:len(a.contract):len(a.contract)], chattemplate.Message{Role: chattemplate.User, Content: text}), a.prefix)
	if err != nil {
		return nil, err
	}
	if err := a.session.Reset(ctx); err != nil {
		return nil, err
	}
	if err := a.session.RestoreState(ctx, a.state); err != nil {
		return nil, err
	}
	if err := a.session.Decode(ctx, inference.Batch{Tokens: suffix, Hidden: true}); err != nil {
		return nil, err
	}
	return learn.Look(a.session.Hidden()), nil
}

// answer asks one request in every way.
func (a *asking) answer(ctx context.Context, set *tools.ActiveSet, r row) (looked, map[string]*judgedCall, error) {
	x := looked{tools: set.Tools(), text: r.Request}
	calls := map[string]*judgedCall{}
	var err error
	if x.request, err = a.ask(ctx, r.Request); err != nil {
		return x, nil, err
	}
	plain := learn.NewReplier(a.World, set, nil)
	if calls[nothingLearned], err = a.reply(ctx, plain, plain.Any()); err != nil {
		return x, nil, err
	}
	seen := map[string][]learn.Vector{}
	learned, err := learn.Teach(set, &learn.Sample{}, func(text string) (views []learn.Vector, err error) {
		views, err = a.ask(ctx, text)
		seen[text] = views
		return views, err
	})
	if err != nil {
		return x, nil, err
	}
	untaught := learn.NewReplier(a.World, set, learned)
	if _, err = a.ask(ctx, r.Request); err != nil {
		return x, nil, err
	}
	if calls[fromTools], err = a.reply(ctx, untaught, untaught.Plan(r.Request, a.session.Hidden())); err != nil {
		return x, nil, err
	}
	if len(x.tools) > 1 {
		for _, t := range x.tools {
			x.descriptions = append(x.descriptions, seen[t.Description])
		}
		if x.named, err = a.name(ctx, set, r.Request); err != nil {
			return x, nil, err
		}
	}
	name, _, ok := r.wanted()
	if !ok {
		return x, calls, nil
	}
	tool, _ := set.Lookup(toolName(name))
	if calls[given], err = a.write(ctx, set, tool, r.Request); err != nil {
		return x, nil, err
	}
	if _, err = a.ask(ctx, r.Request); err != nil {
		return x, nil, err
	}
	calls[givenGrounded], err = a.reply(ctx, untaught, untaught.Call(tool.Name, r.Request))
	return x, calls, err
}

// reply writes by a replier's plan what follows the request that was asked last. An answer in words isn't read to its end.
func (a *asking) reply(ctx context.Context, replier *learn.Replier, plan learn.Plan) (*judgedCall, error) {
	if !plan.AllowsCall() {
		return nil, nil
	}
	began, words := false, false
	out, err := replier.Write(ctx, a.session, plan, learn.Drawing{
		MaxTokens: callTokens,
		OnText: func(text string) {
			if !began {
				began, words = true, !strings.HasPrefix(text, "{")
			}
		},
		Stop: func() bool { return words },
	})
	return parsed(out.Text, err)
}

// write has the model write a call of one tool.
func (a *asking) write(ctx context.Context, set *tools.ActiveSet, tool tools.Tool, request string) (*judgedCall, error) {
	gbnf, err := set.Grammar(tools.GrammarOptions{AllowCall: true, Tools: []string{tool.Name}})
	if err != nil {
		return nil, err
	}
	grammar, err := a.Model.NewGrammar(gbnf)
	if err != nil {
		return nil, err
	}
	defer grammar.Close()
	if _, err := a.ask(ctx, request); err != nil {
		return nil, err
	}
	out, err := generate.Text(ctx, a.Model, a.session, generate.Options{
		Grammar: grammar, MaxTokens: callTokens, Forced: `{"tool_name":"` + tool.Name + `","arguments":{`,
	})
	return parsed(out.Text, err)
}

// name has the model write a call of any tool as far as the tool's name.
func (a *asking) name(ctx context.Context, set *tools.ActiveSet, request string) (string, error) {
	gbnf, err := whole(set)
	if err != nil {
		return "", err
	}
	grammar, err := a.Model.NewGrammar(gbnf)
	if err != nil {
		return "", err
	}
	defer grammar.Close()
	if _, err := a.ask(ctx, request); err != nil {
		return "", err
	}
	var text strings.Builder
	const before, after = `{"tool_name":"`, `","arguments":`
	_, err = generate.Text(ctx, a.Model, a.session, generate.Options{
		Grammar: grammar, MaxTokens: callTokens, Forced: before, OnText: func(more string) { text.WriteString(more) },
		Stop: func() bool { return strings.Contains(text.String(), after) },
	})
	name, _, _ := strings.Cut(strings.TrimPrefix(text.String(), before), after)
	return name, err
}

// parsed reads a reply as edge does: a call that isn't whole is none, and neither is one that came to a dead end.
func parsed(text string, err error) (*judgedCall, error) {
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Code == fault.CodeInvalidToolCall {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply, err := tools.ParseReply(text)
	if err != nil || reply.Call == nil {
		return nil, nil
	}
	return &judgedCall{reply.Call.ToolName, reply.Call.Arguments}, nil
}
