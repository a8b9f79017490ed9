package learn

import (
	"slices"

	"edge/tools"
)

// Selector chooses a class for a request: by the head's cosines, and by the words that the request shares with what each
// tool says of itself. No tool has no words of its own.
type Selector struct {
	Head  *Head   // nil: there is nothing to tell apart but words
	Words float64 // what the words' scores count beside the cosines

	classes []string
	tools   []string // sorted
	wording *Wording
}

// NewSelector makes a selector among the head's classes, or else among the tools.
func NewSelector(set *tools.ActiveSet, head *Head, words float64) *Selector {
	s := &Selector{Head: head, Words: words, classes: set.Names(), tools: set.Names(), wording: NewWording(set.Tools())}
	if head != nil {
		s.classes = head.Classes
	}
	return s
}

// Choose gives the class with the highest sum; what hardly can be meant loses as much as words count at most. views may be nil where there is no head.
func (s *Selector) Choose(request string, views []Vector, arguments *Arguments) Choice {
	return best(s.classes, s.scores(request, views, arguments))
}

// scores gives each class's sum.
func (s *Selector) scores(request string, views []Vector, arguments *Arguments) []float64 {
	scores := make([]float64, len(s.classes))
	if s.Head != nil {
		scores = s.Head.cosines(views)
	}
	for c, class := range s.classes {
		scores[c] += s.Words * s.shared(class, request)
		if !arguments.taught(class) && arguments.lacks(class, request) {
			scores[c] -= wordsAlone
		}
	}
	return scores
}

// shared is the score of a class's words, 0…1.
func (s *Selector) shared(class, request string) float64 {
	if i := slices.Index(s.tools, class); i >= 0 {
		return s.wording.Scores(request)[i]
	}
	return 0
}
