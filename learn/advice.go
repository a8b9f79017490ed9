package learn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// What a tool author can do about what went wrong. Everything said here is counted on this evaluation's requests and on
// the examples; where nothing was seen, nothing is advised.

// mistake is a request for which one class was taken for another; "" is no tool.
type mistake struct {
	want, got string
	prompt    string
	example   bool // one of the examples, left out in turn
}

// alikeCosine is from where on two classes' means are worth a word even if nothing was confused. Centred means of
// several classes are mostly at a negative cosine.
const alikeCosine = 0.3

// tooAlike lists the pairs of classes that were confused, or whose means are close, the worst first.
func tooAlike(head *Head, mistakes []mistake, examples []Example) []Alike {
	if head == nil {
		return nil
	}
	var list []Alike
	for i, a := range head.Classes {
		for j := i + 1; j < len(head.Classes); j++ {
			pair := Alike{A: a, B: head.Classes[j], Cosine: head.cosine(i, j)}
			var own []mistake
			for _, m := range mistakes {
				if m.want == pair.A && m.got == pair.B || m.want == pair.B && m.got == pair.A {
					own = append(own, m)
				}
			}
			if pair.Confused = len(own); pair.Confused > 0 || pair.Cosine >= alikeCosine {
				pair.Suggestion = suggestion(pair, own, examples)
				list = append(list, pair)
			}
		}
	}
	slices.SortStableFunc(list, func(x, y Alike) int {
		return cmp.Or(-cmp.Compare(x.Confused, y.Confused), -cmp.Compare(x.Cosine, y.Cosine))
	})
	return list
}

func suggestion(p Alike, mistakes []mistake, examples []Example) string {
	if len(mistakes) == 0 {
		return fmt.Sprintf("%s and %s weren't confused, but their requests are close to each other (cosine %.2f): examples of both that differ in more than their values keep them apart", className(p.A), className(p.B), p.Cosine)
	}
	var parts []string
	for _, m := range [][2]string{{p.A, p.B}, {p.B, p.A}} {
		if part := direction(m[0], m[1], mistakes, examples); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// direction speaks of the requests that should get want and got got.
func direction(want, got string, mistakes []mistake, examples []Example) string {
	var asked, alone []string // of the holdout; of the examples
	for _, m := range mistakes {
		switch {
		case m.want != want:
		case m.example:
			alone = append(alone, shortened(m.prompt))
		default:
			asked = append(asked, shortened(m.prompt))
		}
	}
	if len(asked)+len(alone) == 0 {
		return ""
	}
	has := 0
	for _, e := range examples {
		if e.label() == want {
			has++
		}
	}
	whose, gets := "for "+want, got
	if want == NoTool {
		whose = "without a tool"
	}
	if got == NoTool {
		gets = "no tool"
	}
	var parts []string
	if len(asked) > 0 {
		parts = append(parts, fmt.Sprintf("%s got %s", listed(asked), gets))
	}
	if len(alone) > 0 {
		parts = append(parts, fmt.Sprintf("%s would get %s if it weren't an example itself", listed(alone), gets))
	}
	text := fmt.Sprintf("requests %s: %s; %s so far: add some in such words", whose, strings.Join(parts, ", and "), counted(has, "example"))
	if got != NoTool && want != NoTool {
		text += ", or say in the description of " + got + " what it isn't for"
	}
	return text
}

// listed quotes the first requests of a list.
func listed(prompts []string) string {
	const most = 2
	text := fmt.Sprintf("%q", prompts[0])
	for _, p := range prompts[1:min(len(prompts), most)] {
		text += fmt.Sprintf(" and %q", p)
	}
	if n := len(prompts) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func shortened(prompt string) string {
	const most = 60
	if runes := []rune(prompt); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return prompt
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// detail says what is wrong with a reply, as far as the plan and the arguments' grounds tell.
func detail(x Example, got *CallValue, plan Plan, a *Arguments) string {
	switch {
	case x.Call != nil && got != nil && got.ToolName == x.Call.ToolName:
		return differences(x, got, a)
	case plan.Doubted:
		return fmt.Sprintf("%s was found and doubted: the evidence was too weak", plan.Choice.Class)
	case plan.Choice != nil && plan.Choice.Class == NoTool:
		return fmt.Sprintf("no tool was nearest, by %.2f", plan.Choice.Margin)
	case plan.Choice != nil && got == nil:
		return fmt.Sprintf("%s was found, and no whole call was written", plan.Choice.Class)
	case plan.Choice != nil:
		return fmt.Sprintf("%s was nearest, by %.2f", plan.Choice.Class, plan.Choice.Margin)
	}
	return ""
}

// differences names the arguments that aren't as wanted, and those among them that the model wrote or chose.
func differences(x Example, got *CallValue, a *Arguments) string {
	var has map[string]json.RawMessage
	if json.Unmarshal(got.Arguments, &has) != nil {
		return ""
	}
	open := map[string]bool{}
	if a != nil {
		for _, g := range a.Ground(got.ToolName, x.Prompt) {
			open[g.Parameter] = g.Include && (g.Optional || len(g.Values) != 1)
		}
	}
	var wants map[string]json.RawMessage
	if json.Unmarshal(x.Call.Arguments, &wants) != nil {
		return ""
	}
	names := map[string]bool{}
	for name := range has {
		names[name] = true
	}
	for name := range wants {
		names[name] = true
	}
	var parts []string
	for _, name := range sorted(names) {
		value, given := has[name]
		want, wanted := wants[name]
		var part string
		switch {
		case given && wanted && sameJSON(value, want):
			continue
		case !wanted:
			part = fmt.Sprintf("%s is %s, want it left out", name, value)
		case !given:
			part = fmt.Sprintf("%s is left out, want %s", name, want)
		default:
			part = fmt.Sprintf("%s is %s, want %s", name, value, want)
		}
		if open[name] {
			part += " (the model's own)"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func sorted(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// cosine is the mean over the views of the cosine between two classes' means.
func (h *Head) cosine(i, j int) float64 {
	sum := 0.0
	for _, v := range h.Views {
		for d := range v.Means[i] {
			sum += float64(v.Means[i][d]) * float64(v.Means[j][d])
		}
	}
	return sum / float64(len(h.Views))
}
