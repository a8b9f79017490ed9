package learn

import (
	"slices"

	"edge/tools"
)

// Looker asks for a text's hidden states, put behind the prefix as a request.
type Looker func(text string) ([]Vector, error)

// Teach learns from a sample's examples and profile, and from what the tools say of themselves. It looks at each example,
// each description and each fact once.
func Teach(set *tools.ActiveSet, s *Sample, look Looker) (*Learned, error) {
	l, _, err := teach(set, s, look)
	return l, err
}

func teach(set *tools.ActiveSet, s *Sample, look Looker) (*Learned, []leftOut, error) {
	l := &Learned{Profile: s.Profile, Examples: s.Examples}
	teachers := teachersFrom(set, s)
	for i := range teachers {
		var err error
		if teachers[i].views, err = look(teachers[i].text); err != nil {
			return nil, nil, err
		}
	}
	return l, l.weigh(set, teachers), nil
}

// teacher is a text that the head learns a class from.
type teacher struct {
	text  string
	class string
	kind  teacherKind
	views []Vector
}

type teacherKind int

const (
	anExample    teacherKind = iota
	aDescription             // of a tool; it teaches where no example calls the tool
	aFact                    // of the profile; it teaches what questions about it look like, beside examples without a tool
)

// teachersFrom lists the examples, in their order, and then what else may teach.
func teachersFrom(set *tools.ActiveSet, s *Sample) []teacher {
	var list []teacher
	count := map[string]int{}
	for _, e := range s.Examples {
		list = append(list, teacher{text: e.Prompt, class: e.label()})
		count[e.label()]++
	}
	for _, t := range set.Tools() {
		if count[t.Name] > 1 { // one is there even when another is left out
			continue
		}
		text := t.Description
		if text == "" {
			text = spaced(t.Name)
		}
		list = append(list, teacher{text: text, class: t.Name, kind: aDescription})
	}
	for _, f := range s.Profile.Facts {
		list = append(list, teacher{text: f, class: NoTool, kind: aFact})
	}
	return list
}

// headOf learns from a list of teachers. Beside descriptions alone facts don't teach: half of all requests are nearer to a
// fact, which is a sentence of the user's, than to a description.
func headOf(list []teacher) *Head {
	has, examples := map[string]bool{}, false
	for _, t := range list {
		if t.kind == anExample {
			has[t.class], examples = true, true
		}
	}
	var requests [][]Vector
	var labels []string
	for _, t := range list {
		if t.kind == anExample || t.kind == aDescription && !has[t.class] || t.kind == aFact && examples {
			requests, labels = append(requests, t.views), append(labels, t.class)
		}
	}
	return TrainHead(requests, labels)
}

// leftOut is what the head and the arguments make of one example that they weren't learned from.
type leftOut struct {
	label  string
	choice Choice
	score  float64
	copies bool
}

// wordsAlone is what words count where no example says what they should.
const wordsAlone = 1

// weigh learns the head; and, by leaving out each example in turn, what words count beside it and which evidence is
// usual. The examples are the first of the teachers.
func (l *Learned) weigh(set *tools.ActiveSet, teachers []teacher) []leftOut {
	l.Head, l.Words = headOf(teachers), wordsAlone
	if len(l.Examples) == 0 {
		return nil
	}
	heads, arguments := make([]*Head, len(l.Examples)), make([]*Arguments, len(l.Examples))
	for i := range l.Examples {
		heads[i] = headOf(slices.Delete(slices.Clone(teachers), i, i+1))
		arguments[i] = LearnArguments(set, slices.Delete(slices.Clone(l.Examples), i, i+1))
	}
	var best []leftOut
	most := -1
	for _, words := range []float64{0.25, 0.5, 0, 1} { // of equals the first: with few examples many do equally well
		if list, right := l.leaveOut(set, teachers, heads, arguments, words); right > most {
			most, best, l.Words = right, list, words
		}
	}
	l.Evidence = calibrate(best)
	return best
}

// leaveOut chooses for each example with what was learned without it.
func (l *Learned) leaveOut(set *tools.ActiveSet, teachers []teacher, heads []*Head, arguments []*Arguments, words float64) (list []leftOut, right int) {
	for i, x := range l.Examples {
		out := leftOut{label: x.label(), choice: NewSelector(set, heads[i], words).Choose(x.Prompt, teachers[i].views, arguments[i])}
		out.score, out.copies = arguments[i].Score(out.choice.Class, x.Prompt)
		if out.choice.Class == out.label {
			right++
		}
		list = append(list, out)
	}
	return list, right
}
