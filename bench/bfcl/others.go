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
		from, err := lessonsFor(set, rows, views, i)
		if err != nil {
			return err
		}
		if err := a.bring(ctx, set, r); err != nil {
			return err
		}
		replier := learn.NewReplier(a.World, set, &learn.Learned{Head: learn.TrainHead(from.requests, from.labels), Examples: from.examples})
		if _, err := a.ask(ctx, r.Request); err != nil {
			return err
		}
		if answers[i].Calls[fromOthers], err = a.reply(ctx, replier, replier.Plan(r.Request, a.session.Hidden())); err != nil {
			return err
		}
	}
	return nil
}

// lessons are what a head and arguments are learned from.
type lessons struct {
	requests [][]learn.Vector
	labels   []string
	examples []learn.Example
}

// lessonsFor gathers the other requests with the functions of request i, and the descriptions of functions without one.
func lessonsFor(set *tools.ActiveSet, rows []row, views []looked, i int) (from lessons, err error) {
	for j, other := range rows {
		if j == i || other.key() != rows[i].key() {
			continue
		}
		example, ok, err := lesson(set, other)
		if err != nil {
			return from, err
		}
		if ok {
			from.requests = append(from.requests, views[j].request)
			from.labels = append(from.labels, example.Call.ToolName)
			from.examples = append(from.examples, example)
		}
	}
	for k, t := range views[i].tools {
		if !slices.Contains(from.labels, t.Name) {
			from.requests, from.labels = append(from.requests, views[i].descriptions[k]), append(from.labels, t.Name)
		}
	}
	return from, nil
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
