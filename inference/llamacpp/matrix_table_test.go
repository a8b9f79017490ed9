package llamacpp_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edge/inference"
	"edge/internal/fault"
)

// tally is a row of the table.
type tally struct {
	name, kind             string
	window                 int
	exact, refused, failed int
	missing                []string // why combinations were refused
}

// all is how many combinations were tried.
func (r tally) all() int { return r.exact + r.refused + r.failed }

// write gives the table, and under it the sums.
func write(table []tally) string {
	var out strings.Builder
	out.WriteString("| architecture | memory | window | combinations | exact | refused | what is missing |\n|---|---|---|---|---|---|---|\n")
	var sum tally
	models, refused := 0, 0
	for _, r := range table {
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %d | %d | %s |\n", r.name, r.kind, r.window, r.all(), r.exact, r.refused, strings.Join(r.missing, "; "))
		sum.exact, sum.refused, sum.failed = sum.exact+r.exact, sum.refused+r.refused, sum.failed+r.failed
		switch {
		case r.failed > 0:
		case r.exact > 0:
			models++
		default:
			refused++
		}
	}
	fmt.Fprintf(&out, "%d models: %d restore exactly, %d are refused. %d combinations: %d exact, %d refused, %d failed\n",
		len(table), models, refused, sum.all(), sum.exact, sum.refused, sum.failed)
	return out.String()
}

// miss notes a reason once.
func (r *tally) miss(err error) {
	var f *fault.Error
	errors.As(err, &f)
	why, _, _ := strings.Cut(f.Error(), ": make a context") // the rest is the engine's log, which differs
	if !slices.Contains(r.missing, why) {
		r.missing = append(r.missing, why)
	}
}

// kind names the memory that a model keeps its state in.
func kind(m inference.ModelInfo) string {
	out := "dense"
	switch {
	case m.Recurrent:
		return "recurrent"
	case m.Hybrid:
		out = "hybrid"
	}
	if m.SlidingWindow > 0 {
		out = strings.TrimPrefix(out+", sliding window", "dense, ")
	}
	return out
}
