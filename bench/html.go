package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

//go:embed report.html
var page string

// HTML writes the report as one page with plots that opens offline.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"number": number, "mb": megabytes,
		"figure": func(v *float64, s Spread) string { return (&tables{}).figure(v, s) },
	}).Parse(page)
	if err != nil {
		return err
	}
	data := struct {
		*Report
		Headline string
		Plots    []plot
		Bars     []barGroup
	}{Report: r, Headline: r.headline(), Bars: r.bars()}
	data.Plots = append(data.Plots, casesPlot("First token by the prefix's length", r.Cases))
	if r.Sliding != nil {
		data.Plots = append(data.Plots, casesPlot("With a sliding window: "+r.Sliding.Model.Name, r.Sliding.Cases))
	}
	if len(r.Tools) > 0 {
		data.Plots = append(data.Plots, toolsPlot(r.Tools))
	}
	return t.Execute(w, data)
}

// plot is lines over a logarithmic ordinate of milliseconds, laid out in an SVG of plotWidth × plotHeight.
type plot struct {
	Title, Abscissa string
	Lines           []plotLine
	Ticks           []tick // ordinate
	Marks           []tick // abscissa
}

type plotLine struct {
	Name, Class, Points string
	Legend              string // its ordinate
	Dots                []dot
}

type dot struct {
	X, Y  string
	Title string
}

type tick struct{ At, Label string }

const (
	plotLeft, plotTop      = 60.0, 10.0
	plotRight, plotBottom  = 620.0, 250.0
	barLeft, barFull       = 230.0, 360.0
	barHeight, barDistance = 16.0, 22.0
)

// point is one measured value.
type point struct{ x, y float64 }

type track struct {
	name, class string
	points      []point
}

func casesPlot(title string, cases []Case) plot {
	lines := []track{{"cold", "cold", nil}, {"from the program's start", "process", nil}, {"restored", "restored", nil}, {"suffix alone", "suffix", nil}}
	for _, c := range cases {
		for i, v := range []*float64{c.ColdTTFT, c.ProcessTTFT, c.RestoredTTFT, c.SuffixOnly} {
			if v != nil {
				lines[i].points = append(lines[i].points, point{float64(c.PrefixTokens), *v})
			}
		}
	}
	return newPlot(title, "tokens of the prefix", lines)
}

func toolsPlot(list []Growth) plot {
	lines := []track{{"cold", "cold", nil}, {"restored", "restored", nil}}
	for _, g := range list {
		for i, v := range []*float64{g.ColdTTFT, g.RestoredTTFT} {
			if v != nil {
				lines[i].points = append(lines[i].points, point{float64(g.Tools), *v})
			}
		}
	}
	return newPlot("First token by the number of tools", "tools", lines)
}

// newPlot lays lines out, both axes logarithmic.
func newPlot(title, abscissa string, lines []track) plot {
	p := plot{Title: title, Abscissa: abscissa}
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range lines {
		for _, at := range l.points {
			low, high = point{min(low.x, at.x), min(low.y, at.y)}, point{max(high.x, at.x), max(high.y, at.y)}
		}
	}
	if math.IsInf(low.x, 1) {
		return p
	}
	bottom, top := math.Floor(math.Log10(max(low.y, 0.1))), math.Ceil(math.Log10(max(high.y, 0.2)))
	top = max(top, bottom+1)
	y := func(v float64) float64 {
		return plotBottom - (math.Log10(max(v, 0.1))-bottom)/(top-bottom)*(plotBottom-plotTop)
	}
	x := func(v float64) float64 {
		if high.x == low.x {
			return (plotLeft + plotRight) / 2
		}
		return plotLeft + 20 + math.Log(v/low.x)/math.Log(high.x/low.x)*(plotRight-plotLeft-40)
	}
	for e := bottom; e <= top; e++ {
		p.Ticks = append(p.Ticks, tick{fixed(y(math.Pow(10, e))), fmt.Sprintf("%g", math.Pow(10, e))})
	}
	seen := map[float64]bool{}
	for _, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		line := plotLine{Name: l.name, Class: l.class, Legend: fixed(float64(20 + 20*len(p.Lines)))}
		var points []string
		for _, at := range l.points {
			points = append(points, fixed(x(at.x))+","+fixed(y(at.y)))
			line.Dots = append(line.Dots, dot{fixed(x(at.x)), fixed(y(at.y)), fmt.Sprintf("%s, %g: %s ms", l.name, at.x, number(&at.y))})
			if !seen[at.x] {
				seen[at.x] = true
				p.Marks = append(p.Marks, tick{fixed(x(at.x)), fmt.Sprintf("%g", at.x)})
			}
		}
		line.Points = strings.Join(points, " ")
		p.Lines = append(p.Lines, line)
	}
	return p
}

func fixed(v float64) string { return fmt.Sprintf("%.1f", v) }

// barGroup is bars of one unit.
type barGroup struct {
	Title  string
	Height string
	Bars   []bar
}

type bar struct{ Label, Class, Y, TextY, Width, Value, ValueX string }

func (r *Report) bars() []barGroup {
	var groups []barGroup
	add := func(title, class string, labels []string, values []float64) {
		if len(values) == 0 {
			return
		}
		most := 0.0
		for _, v := range values {
			most = max(most, v)
		}
		g := barGroup{Title: title, Height: fixed(barDistance*float64(len(values)) + 6)}
		for i, v := range values {
			y, width := barDistance*float64(i)+2, barFull*v/max(most, 1e-9)
			g.Bars = append(g.Bars, bar{labels[i], class, fixed(y), fixed(y + barHeight - 3), fixed(width), number(&v), fixed(barLeft + width + 6)})
		}
		groups = append(groups, g)
	}
	if c := r.Calls; c != nil && c.ValidatedCall != nil && c.Plain != nil {
		add("From a request to a validated call, ms", "restored", []string{"edge", "every token drawn"}, []float64{*c.ValidatedCall, *c.Plain})
	}
	for _, what := range []struct {
		title string
		of    func(ThreadSpeed) float64
	}{
		{"Reading, tokens per second", func(t ThreadSpeed) float64 { return t.Prefill }},
		{"Writing, tokens per second", func(t ThreadSpeed) float64 { return t.Decode }},
	} {
		var labels []string
		var values []float64
		for _, t := range r.Threads {
			label := fmt.Sprintf("threads: %d", t.Threads)
			if t.Chosen {
				label = "edge's own choice"
			}
			if t.Busy {
				label += ", one core taken"
			}
			labels, values = append(labels, label), append(values, what.of(t))
		}
		add(what.title, "process", labels, values)
	}
	return groups
}
