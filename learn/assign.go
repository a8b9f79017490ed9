package learn

import (
	"cmp"
	"slices"
)

// assignment is a choice of stretches for several parameters that don't share a word.
type assignment struct {
	score  float64
	chosen map[string]stretch
}

// beam bounds how many assignments, and how many stretches per parameter, are followed.
const beam = 24

// assign finds the best stretches for all copied parameters together.
func (a *Arguments) assign(tool string, request string, words []word) assignment {
	beams := []assignment{{chosen: map[string]stretch{}}}
	known := a.outer.of(tool, words, nil)
	for _, p := range a.tools[tool].parameters {
		if p.copied() {
			beams = p.extend(beams, request, words, func(s stretch) float64 { return a.outer.weigh(known[s.i:s.j]) })
		}
	}
	return slices.MaxFunc(beams, func(x, y assignment) int { return cmp.Compare(x.score, y.score) })
}

// extend gives every assignment each good stretch for p that is still free, and for an optional parameter also none.
func (p *parameter) extend(from []assignment, request string, words []word, familiar func(stretch) float64) []assignment {
	type scored struct {
		stretch
		score float64
		own   float64 // without how familiar its words are
	}
	var found []scored
	for _, s := range p.stretches(request, words) {
		own := p.score(words, s)
		if own <= never {
			continue
		}
		found = append(found, scored{s, own + familiar(s), own})
	}
	slices.SortStableFunc(found, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	found = found[:min(len(found), beam)]
	var next []assignment
	for _, base := range from {
		taken := 0
		for _, s := range found {
			if base.overlaps(s.stretch) || !p.required && s.own < 0 {
				continue
			}
			taken++
			chosen := map[string]stretch{p.name: s.stretch}
			for name, other := range base.chosen {
				chosen[name] = other
			}
			next = append(next, assignment{base.score + s.score, chosen})
		}
		if !p.required || p.untaught || taken == 0 {
			next = append(next, base)
		}
	}
	slices.SortStableFunc(next, func(x, y assignment) int { return cmp.Compare(y.score, x.score) })
	return next[:min(len(next), beam*4)]
}

// few is up to how many examples what a stretch looks like counts beside them: one or two say little.
const few = 2

// score is the log-odds of a stretch being right.
func (p *parameter) score(words []word, s stretch) float64 {
	switch {
	case p.untaught && (p.counts.nRight == 0 || !p.required):
		return p.untaughtScore(words, s)
	case p.given <= few && (p.source == span || p.source == list):
		return p.counts.score(p.features(words, s)) + max(p.untaughtScore(words, s), -few)
	}
	return p.counts.score(p.features(words, s))
}

func (a assignment) overlaps(s stretch) bool {
	for _, other := range a.chosen {
		if s.i < other.j && other.i < s.j {
			return true
		}
	}
	return false
}

// covers reports whether word i is part of a value.
func (a assignment) covers(i int) bool { return a.overlaps(stretch{i: i, j: i + 1}) }
