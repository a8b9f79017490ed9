package main

import (
	"context"

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
		var requests [][]learn.Vector
		var labels []string
		var examples []learn.Example
		taught := map[string]bool{}
		for j, other := range rows {
			if j == i || other.key() != r.key() {
				continue
			}
			example, ok, err := lesson(set, other)
			if err != nil {
				return err
			}
			if ok {
				requests, labels, examples = append(requests, views[j].request), append(labels, example.Call.ToolName), append(examples, example)
				taught[example.Call.ToolName] = true
			}
		}
		for k, t := range views[i].tools {
			if !taught[t.Name] {
				requests, labels = append(requests, views[i].descriptions[k]), append(labels, t.Name)
			}
		}
		if err := a.bring(ctx, set, r); err != nil {
			return err
		}
		replier := learn.NewReplier(a.World, set, &learn.Learned{Head: learn.TrainHead(requests, labels), Examples: examples})
		if _, err := a.ask(ctx, r.Request); err != nil {
			return err
		}
		if answers[i].Calls[fromOthers], err = a.reply(ctx, replier, replier.Plan(r.Request, a.session.Hidden())); err != nil {
			return err
		}
	}
	return nil
}

// lesson is a request with the first call of its ground truth; ok is false where edge doesn't accept that call.
func lesson(set *tools.ActiveSet, r row) (e learn.Example, ok bool, err error) {
	name, allowed, found := r.wanted()
	if !found {
		return e, false, nil
	}
	tool, found := set.Lookup(toolName(name))
	if !found {
		return e, false, nil
	}
	list, err := truthCalls(allowed, tool.Parameters)
	if err != nil {
		return e, false, err
	}
	call, err := tools.NewCall(tool.Name, list[0])
	if err != nil || set.Validate(call) != nil {
		return e, false, nil
	}
	return learn.Example{Prompt: r.Request, Call: &learn.ExampleCall{ToolName: call.ToolName, Arguments: call.Arguments}}, true, nil
}
