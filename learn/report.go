package learn

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed report.html
var reportPage string

// WriteReport writes an evaluation as one HTML page that opens offline: shares with their intervals, which class was
// taken for which, and what went wrong. Everything that comes from a sample file is escaped.
func WriteReport(w io.Writer, title string, e Evaluation) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"percent": func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
		"x":       func(f float64) string { return fmt.Sprintf("%.1f", 4*100*f) },
		"width":   func(i Interval) string { return fmt.Sprintf("%.1f", 4*100*(i[1]-i[0])) },
		"class":   className,
		"call": func(c *CallValue) string {
			if c == nil {
				return "no call"
			}
			return c.ToolName + string(c.Arguments)
		},
		"reason": func(r string) string { return strings.ReplaceAll(r, "_", " ") },
	}).Parse(reportPage)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		Title  string
		E      Evaluation
		Rows   []reportRow
		Matrix reportMatrix
	}{title, e, reportRows(e), newMatrix(e.Confusion)})
}

func className(c string) string {
	if c == NoTool {
		return "(no tool)"
	}
	return c
}

// reportRow is one share, of the baseline and learned.
type reportRow struct {
	Name  string
	Bars  []reportBar
	Label string
}

type reportBar struct {
	Who      string
	Share    float64
	Interval Interval
}

func reportRows(e Evaluation) []reportRow {
	var rows []reportRow
	for _, r := range []struct {
		name, label string
		of          func(*Shares) float64
	}{
		{"tool_choice", "right tool, or none where none is meant", func(s *Shares) float64 { return s.ToolChoice }},
		{"exact_call", "tool and every argument right", func(s *Shares) float64 { return s.ExactCall }},
		{"valid_call", "the call was valid, right or not", func(s *Shares) float64 { return s.ValidCall }},
		{"no_tool", "no call where none is meant", func(s *Shares) float64 { return s.NoTool }},
	} {
		row := reportRow{Name: r.name, Label: r.label}
		for _, s := range []struct {
			who string
			*Shares
		}{{"nothing learned", e.Baseline}, {"learned", e.Learned}} {
			if s.Shares != nil {
				row.Bars = append(row.Bars, reportBar{s.who, r.of(s.Shares), s.Intervals[r.name]})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// reportMatrix is the confusion as a table: one row per wanted class, one column per class that was got.
type reportMatrix struct {
	Classes []string
	Rows    []matrixRow
}

type matrixRow struct {
	Want  string
	Cells []matrixCell
}

type matrixCell struct {
	Count int
	Right bool
}

func newMatrix(list []Confusion) reportMatrix {
	var m reportMatrix
	at := map[string]int{}
	see := func(c string) {
		if _, ok := at[c]; !ok {
			at[c] = len(m.Classes)
			m.Classes = append(m.Classes, c)
		}
	}
	for _, c := range list {
		see(c.Want)
	}
	for _, c := range list {
		see(c.Got)
	}
	for i, want := range m.Classes {
		row := matrixRow{Want: want, Cells: make([]matrixCell, len(m.Classes))}
		row.Cells[i].Right = true
		for _, c := range list {
			if c.Want == want {
				row.Cells[at[c.Got]].Count = c.Count
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}
