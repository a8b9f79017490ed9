package bench

import (
	"math"
	"slices"
)

// samples are the runs of one kind.
type samples struct{ values []float64 }

func (s *samples) add(v float64) { s.values = append(s.values, v) }

// Spread is how far the runs of a figure lie apart.
type Spread struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Runs int     `json:"runs"`
}

func (s *samples) spread() Spread {
	return Spread{Min: rounded(slices.Min(s.values)), Max: rounded(slices.Max(s.values)), Runs: len(s.values)}
}

// median is nil where nothing was measured.
func (s *samples) median() *float64 {
	if s == nil || len(s.values) == 0 {
		return nil
	}
	v := slices.Sorted(slices.Values(s.values))
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (v[len(v)/2-1] + m) / 2
	}
	m = rounded(m)
	return &m
}

// series are the samples of several kinds, by the name of the figure.
type series map[string]*samples

func (s series) add(name string, v float64) {
	if s[name] == nil {
		s[name] = &samples{}
	}
	s[name].add(v)
}

func (s series) spread() map[string]Spread {
	out := map[string]Spread{}
	for name, of := range s {
		out[name] = of.spread()
	}
	return out
}

// rounded keeps three digits behind the point: a microsecond, where the unit is a millisecond.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

func ratio(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	r := math.Round(*a / *b * 100) / 100
	return &r
}
