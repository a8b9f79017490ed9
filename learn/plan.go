package learn

import "edge/tools"

// Required is a plan for a call of any tool: of the one that suits the request best where something was learned, and of
// the model's choice otherwise. hidden are the states of the tokens that asked.
func (r *Replier) Required(request string, hidden [][]float32) Plan {
	switch {
	case r.set == nil:
		return r.Answer()
	case r.selector == nil:
		return Plan{grammar: &tools.GrammarOptions{AllowCall: true}}
	}
	choice := r.selector.chooseTool(request, Look(hidden), r.arguments)
	p := r.Call(choice.Class, request)
	p.Choice = &choice
	return p
}

// chooseTool is Choose among the tools alone.
func (s *Selector) chooseTool(request string, views []Vector, arguments *Arguments) Choice {
	var classes []string
	var scores []float64
	for c, score := range s.scores(request, views, arguments) {
		if s.classes[c] != NoTool {
			classes, scores = append(classes, s.classes[c]), append(scores, score)
		}
	}
	return best(classes, scores)
}

// AllowsAnswer reports whether the plan lets the model answer in words.
func (p Plan) AllowsAnswer() bool { return p.grammar == nil || p.grammar.AllowAnswer }
