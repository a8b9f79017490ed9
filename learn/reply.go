package learn

import (
	"context"
	"math/rand/v2"
	"strings"

	"edge/inference"
	"edge/inference/generate"
	"edge/tools"
)

// Replier turns a request's hidden state into a reply: it chooses between an answer and a tool, narrows what a call may
// hold, and has the model write it under a grammar.
type Replier struct {
	world     World
	set       *tools.ActiveSet
	selector  *Selector
	evidence  *Evidence
	arguments *Arguments
	told      func(request string) bool // whether the profile's facts say all that a request names
}

// NewReplier makes a replier; without learned the model chooses by itself.
func NewReplier(w World, set *tools.ActiveSet, learned *Learned) *Replier {
	r := &Replier{world: w, set: set}
	if learned != nil && set != nil {
		r.selector, r.evidence, r.told = NewSelector(set, learned.Head, learned.Words), learned.Evidence, learned.Told
		r.arguments = LearnArguments(set, learned.Examples)
	}
	return r
}

// NeedsHidden reports whether Plan looks at hidden states.
func (r *Replier) NeedsHidden() bool { return r.selector != nil && r.selector.Head != nil }

// Plan is what a reply may be.
type Plan struct {
	Choice  *Choice // nil: the model chooses
	Doubted bool    // the head found a tool, and the evidence for it was too weak
	grammar *tools.GrammarOptions
	forced  string
}

// AllowsCall reports whether the plan lets the model call a tool.
func (p Plan) AllowsCall() bool { return p.grammar != nil && p.grammar.AllowCall }

// Plan decides what may follow a request. hidden are the states of the tokens that asked.
func (r *Replier) Plan(request string, hidden [][]float32) Plan {
	if r.set == nil {
		return r.Answer()
	}
	if r.selector == nil {
		return Plan{grammar: &tools.GrammarOptions{AllowCall: true, AllowAnswer: true}}
	}
	choice := r.selector.Choose(request, Look(hidden), r.arguments)
	doubted := choice.Class != NoTool && r.doubts(choice, request)
	if choice.Class == NoTool || doubted {
		p := r.Answer()
		p.Choice, p.Doubted = &choice, doubted
		return p
	}
	p := r.Call(choice.Class, request)
	p.Choice = &choice
	return p
}

// Call is a plan for a call of one tool, its values tied to the request as far as anything is known of them.
func (r *Replier) Call(toolName, request string) Plan {
	p := Plan{grammar: &tools.GrammarOptions{AllowCall: true, Tools: []string{toolName}}}
	if r.arguments != nil {
		grounded := r.arguments.Ground(toolName, request)
		p.grammar.Ground = grounding(toolName, request, grounded)
		p.forced = forcedText(toolName, grounded)
	}
	return p
}

// doubts reports whether the evidence for a tool is weaker than any example's, or the tool's values could only come out
// of a question about the profile.
func (r *Replier) doubts(c Choice, request string) bool {
	score, copies := r.arguments.Score(c.Class, request)
	taught := r.arguments.taught(c.Class)
	if (copies || !taught) && r.told(request) {
		return true
	}
	if r.evidence == nil || !taught {
		return r.arguments.lacks(c.Class, request) || r.groundless(c, request)
	}
	return r.evidence.weigh(c, score, copies) < r.evidence.Threshold
}

// Answer is a plan for an answer in words.
func (r *Replier) Answer() Plan {
	return Plan{grammar: &tools.GrammarOptions{AllowAnswer: true}}
}

// Any is a plan for an answer or any call.
func (r *Replier) Any() Plan {
	if r.set == nil {
		return r.Answer()
	}
	return Plan{grammar: &tools.GrammarOptions{AllowCall: true, AllowAnswer: true}}
}

func grounding(tool, request string, grounded []Grounded) *tools.Grounding {
	policies := map[string]tools.ParamPolicy{}
	for _, g := range grounded {
		p := tools.ParamPolicy{Include: tools.IncludeRequired}
		switch {
		case !g.Include:
			p.Include = tools.IncludeAbsent
		case g.Optional:
			p.Include = tools.IncludeAllowed
		}
		if g.Within {
			p.Source = tools.FromRequest
		}
		for _, v := range g.Values {
			p.Candidates = append(p.Candidates, string(v))
		}
		policies[g.Parameter] = p
	}
	return &tools.Grounding{Request: request, Params: map[string]map[string]tools.ParamPolicy{tool: policies}}
}

// forcedText is as much of the call as is certain before anything is drawn.
func forcedText(tool string, grounded []Grounded) string {
	var b strings.Builder
	b.WriteString(`{"tool_name":"` + tool + `","arguments":{`)
	comma := ""
	for _, g := range grounded {
		switch {
		case !g.Include:
			continue
		case g.Optional:
			return b.String()
		}
		b.WriteString(comma + `"` + g.Parameter + `":`)
		if len(g.Values) != 1 {
			return b.String()
		}
		b.Write(g.Values[0])
		comma = ","
	}
	return b.String() + "}}"
}

// Drawing says how a reply is drawn.
type Drawing struct {
	MaxTokens   int
	Temperature float64
	Random      *rand.Rand
	OnText      func(string) // hears the text as it comes
	First       func()       // called when the first token is there
	Stop        func() bool  // asked between tokens; true ends the reply
}

// Write has the model write a reply by the plan.
func (r *Replier) Write(ctx context.Context, s inference.Session, p Plan, d Drawing) (generate.Result, error) {
	if w, ok := s.(inference.Writer); ok {
		return r.served(ctx, w, p, d)
	}
	o := generate.Options{MaxTokens: d.MaxTokens, Temperature: d.Temperature, Random: d.Random, OnText: d.OnText, First: d.First, Stop: d.Stop, Forced: p.forced}
	if p.grammar != nil {
		set := r.set
		if set == nil {
			set = &tools.ActiveSet{} // an answer needs no tools
		}
		text, err := set.Grammar(*p.grammar)
		if err != nil {
			return generate.Result{}, err
		}
		g, err := r.world.Model.NewGrammar(text)
		if err != nil {
			return generate.Result{}, err
		}
		defer g.Close()
		o.Grammar = g
	}
	return generate.Text(ctx, r.world.Model, s, o)
}
