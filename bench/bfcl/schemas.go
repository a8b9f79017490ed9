package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"edge/learn"
	"edge/tools"
)

// schemaReport says of one category what edge makes of its functions and of its ground truth.
type schemaReport struct {
	Category string `json:"category"`
	// Of these functions so many have a grammar, which was written and read back; the others were refused.
	Functions int            `json:"functions"`
	Grammars  int            `json:"grammars"`
	Refused   map[string]int `json:"refused"` // reason → functions
	// Of these requests so many have functions that can be active together.
	Requests        int            `json:"requests"`
	Sets            int            `json:"sets"`
	RefusedRequests map[string]int `json:"refused_requests"`
	// By words alone, among requests whose functions can be active together: how many share none with any of their
	// functions; and how many have a choice of functions, and for how many of these it is the right one.
	Unrelated   int `json:"unrelated"`
	WordChoices int `json:"word_choices"`
	WordsRight  int `json:"words_right"`
	// Truths are the requests that should get a call, and Known those whose function has a grammar. Of these, Whole have
	// all their calls accepted by validator and grammar, and Part some.
	Truths        int              `json:"truths"`
	Known         int              `json:"known"`
	Whole         int              `json:"whole"`
	Part          int              `json:"part"`
	Calls         int              `json:"calls"`
	CallsAccepted int              `json:"calls_accepted"`
	Exceptions    []truthException `json:"exceptions"`
}

// truthException is one call of the ground truth that edge doesn't accept.
type truthException struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Why       string `json:"why"`
	Arguments string `json:"arguments"`
}

// whole is the grammar of a call of any function in the set.
func whole(set *tools.ActiveSet) (string, error) {
	return set.Grammar(tools.GrammarOptions{AllowCall: true})
}

// examine makes the report of a category, and gives the calls of its ground truth for the package's own checker.
func examine(reader *reader, category string, rows []row) (report schemaReport, truths []answered, err error) {
	report = schemaReport{Category: category, Requests: len(rows), Refused: map[string]int{}, RefusedRequests: map[string]int{}, Exceptions: []truthException{}}
	for _, r := range rows {
		sets := map[string]*tools.ActiveSet{}
		for _, f := range r.Functions {
			report.Functions++
			set, err := reader.function(f)
			if err != nil {
				report.Refused[refusal(err)]++
				continue
			}
			report.Grammars++
			sets[f.Name] = set
		}
		if set, err := usable(r.Functions); err != nil {
			report.RefusedRequests[refusal(err)]++
		} else {
			report.Sets++
			report.words(set, r)
		}
		calls, err := report.truth(reader, r, sets)
		if err != nil {
			return report, nil, fmt.Errorf("%s: %w", r.ID, err)
		}
		if len(calls) > 0 {
			truths = append(truths, answered{ID: r.ID, Calls: calls})
		}
	}
	return report, truths, nil
}

// function freezes one function alone and has its grammar read.
func (r *reader) function(f function) (*tools.ActiveSet, error) {
	set, err := freeze([]function{f})
	if err != nil {
		return nil, err
	}
	gbnf, err := whole(set)
	if err != nil {
		return nil, err
	}
	grammar, err := r.model.NewGrammar(gbnf)
	if err != nil {
		return nil, err
	}
	return set, grammar.Close()
}

// usable gives the functions of a request as an active set, or says why they can't all be active together.
func usable(functions []function) (*tools.ActiveSet, error) {
	set, err := freeze(functions)
	if err != nil {
		return nil, err
	}
	_, err = whole(set)
	return set, err
}

// words counts what words alone say of a request.
func (report *schemaReport) words(set *tools.ActiveSet, r row) {
	list := set.Tools()
	scores := learn.NewWording(list).Scores(r.Request)
	best := slices.Max(scores)
	if best == 0 {
		report.Unrelated++
	}
	name, _, ok := r.wanted()
	if !ok || len(list) < 2 {
		return
	}
	report.WordChoices++
	if best > 0 && list[slices.Index(scores, best)].Name == toolName(name) {
		report.WordsRight++
	}
}

// truth puts every call of a request's ground truth to validator and grammar.
func (report *schemaReport) truth(reader *reader, r row, sets map[string]*tools.ActiveSet) (map[string]*judgedCall, error) {
	name, allowed, ok := r.wanted()
	if !ok {
		return nil, nil
	}
	report.Truths++
	set := sets[name]
	if set == nil {
		return nil, nil
	}
	report.Known++
	gbnf, err := whole(set)
	if err != nil {
		return nil, err
	}
	tool, _ := set.Lookup(toolName(name))
	list, err := truthCalls(allowed, tool.Parameters)
	if err != nil {
		return nil, err
	}
	calls := map[string]*judgedCall{}
	accepted := 0
	for i, arguments := range list {
		calls[fmt.Sprint(i)] = &judgedCall{tool.Name, arguments}
		kind, why, err := reader.accept(set, gbnf, tool.Name, arguments)
		if err != nil {
			return nil, err
		}
		if kind == "" {
			accepted++
			continue
		}
		report.Exceptions = append(report.Exceptions, truthException{r.ID, kind, why, compact(arguments)})
	}
	report.Calls += len(list)
	report.CallsAccepted += accepted
	if accepted == len(list) {
		report.Whole++
	} else if accepted > 0 {
		report.Part++
	}
	return calls, nil
}

// schemas makes the reports of all categories, prints them, and writes DIR/schemas.json and DIR/truth/CATEGORY.jsonl.
func schemas(ctx context.Context, o options, out io.Writer) error {
	reader, err := newReader(ctx)
	if err != nil {
		return err
	}
	if o.engine {
		w, err := open(ctx, o.model, o.threads)
		if err != nil {
			return err
		}
		defer w.Close()
		reader.model = w.Model
	}
	var reports []schemaReport
	for _, category := range categories() {
		rows, err := readRows(o.dir, category)
		if err != nil {
			return err
		}
		report, truths, err := examine(reader, category, rows)
		if err != nil {
			return err
		}
		if err := writeLines(filepath.Join(o.dir, "truth", category+".jsonl"), truths); err != nil {
			return err
		}
		report.print(out)
		reports = append(reports, report)
	}
	text, err := json.MarshalIndent(reports, "", " ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(o.dir, "schemas.json"), text)
}

func (report *schemaReport) print(out io.Writer) {
	fmt.Fprintf(out, "%s\n", report.Category)
	fmt.Fprintf(out, "  functions %d: with a grammar %d, refused %d\n", report.Functions, report.Grammars, report.Functions-report.Grammars)
	printCounts(out, report.Refused)
	fmt.Fprintf(out, "  requests %d: functions usable together %d, refused %d\n", report.Requests, report.Sets, report.Requests-report.Sets)
	printCounts(out, report.RefusedRequests)
	fmt.Fprintf(out, "  requests that share no word with a function %d of %d; right function by words alone %d of %d\n",
		report.Unrelated, report.Sets, report.WordsRight, report.WordChoices)
	if report.Truths == 0 {
		return
	}
	fmt.Fprintf(out, "  ground truths %d: function has a grammar %d; of these all calls accepted %d, some %d, none %d\n",
		report.Truths, report.Known, report.Whole, report.Part, report.Known-report.Whole-report.Part)
	fmt.Fprintf(out, "  calls of these %d: accepted %d, not %d\n", report.Calls, report.CallsAccepted, report.Calls-report.CallsAccepted)
	counts := map[string]int{}
	for _, x := range report.Exceptions {
		counts[x.Kind]++
	}
	printCounts(out, counts)
}

func printCounts(out io.Writer, counts map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "    %4d  %s\n", counts[reason], reason)
	}
}
