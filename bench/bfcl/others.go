package main

import (
	"context"
	"encoding/json"
	"slices"

	"edge/learn"
	"edge/tools"
)

// learnFromOthers answers each request again, with the head and the arguments that learn makes of the other requests with
// the same functions and their ground truth. A function that none of them calls is learned from its description. The prefix
// holds no examples: they would be the same for all, and the request itself among them.
func (a *asking) learnFromOthers(ctx context.Context, rows []row, views []looked, answers []answered) error {
	for i, r := range rows {
		if views[i].request == nil {
			continue
		}
		set, err := freeze(r.Functions)
		if err != nil {
			return err
		}
		from, err := lessonsFor(set, rows, i)
		if err != nil {
			return err
		}
		if err := a.bring(ctx, set, r); err != nil {
			return err
		}
		learned, err := learn.Teach(set, &learn.Sample{Examples: from}, func(text string) ([]learn.Vector, error) { return a.ask(ctx, text) })
		if err != nil {
			return err
		}
		replier := learn.NewReplier(a.World, set, learned)
		if _, err := a.ask(ctx, r.Request); err != nil {
			return err
		}
		if answers[i].Calls[fromOthers], err = a.reply(ctx, replier, replier.Plan(r.Request, a.session.Hidden())); err != nil {
			return err
		}
	}
	return nil
}

// lessonsFor gathers the other requests with the functions of request i.
func lessonsFor(set *tools.ActiveSet, rows []row, i int) (list []learn.Example, err error) {
	for j, other := range rows {
		if j == i || other.key() != rows[i].key() {
			continue
		}
		example, ok, err := lesson(set, other)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, example)
		}
	}
	return list, nil
}

// lesson is a request with the shortest call of its ground truth: the first value of each parameter, and none where it may
// be left out. ok is false where edge doesn't accept that call.
func lesson(set *tools.ActiveSet, r row) (e learn.Example, ok bool, err error) {
	name, allowed, found := r.wanted()
	if !found {
		return e, false, nil
	}
	tool, found := set.Lookup(toolName(name))
	if !found {
		return e, false, nil
	}
	needed := map[string][]json.RawMessage{}
	for name, values := range allowed {
		if !slices.ContainsFunc(values, func(v json.RawMessage) bool { return string(v) == `""` }) {
			needed[name] = values
		}
	}
	list, err := truthCalls(needed, tool.Parameters)
	if err != nil {
		return e, false, err
	}
	call, err := tools.NewCall(tool.Name, list[0])
	if err != nil || set.Validate(call) != nil {
		return e, false, nil
	}
	return learn.Example{Prompt: r.Request, Call: &learn.ExampleCall{ToolName: call.ToolName, Arguments: call.Arguments}}, true, nil
}
