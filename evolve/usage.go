package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"edge/internal/canon"
	"edge/internal/digest"
)

// Note counts one run of a tool. After MaxFailures failures in a row the tool is quarantined: it is named by a search and
// not offered any more.
func (l *Library) Note(ctx context.Context, r Record, success bool) error {
	shut := false
	err := l.change(ctx, r, func(now *Record) {
		now.Uses++
		if success {
			now.Successes++
			now.FailuresInARow = 0
			return
		}
		now.Failures++
		now.FailuresInARow++
		shut = !now.Quarantined && now.FailuresInARow >= MaxFailures
		now.Quarantined = now.Quarantined || shut
	})
	if shut && l.notify != nil {
		l.notify(fmt.Sprintf("the tool %s has failed %d times in a row and isn't offered any more; see: edge evolve tools test %s", r.Name, MaxFailures, r.Name))
	}
	return err
}

// Exemplify keeps a request that one call of the tool answered. The newest stay.
func (l *Library) Exemplify(ctx context.Context, r Record, request string, args map[string]json.RawMessage) error {
	raw, err := canon.Marshal(args)
	if err != nil || len([]rune(request)) > maxNotedChars || len(raw) > 4<<10 {
		return nil // too long to learn from
	}
	return l.change(ctx, r, func(now *Record) {
		now.Examples = slices.DeleteFunc(now.Examples, func(e Example) bool { return e.Request == request })
		now.Examples = append(now.Examples, Example{request, raw})
		now.Examples = now.Examples[max(0, len(now.Examples)-maxNoted):]
	})
}

// Attest notes the receipt of the run that made a tool.
func (l *Library) Attest(ctx context.Context, r Record, path string, sum digest.SHA256) error {
	return l.change(ctx, r, func(now *Record) {
		now.Provenance.ReceiptPath, now.Provenance.ReceiptSHA256 = path, &sum
	})
}

// TestReport is how a tool did in its own tests.
type TestReport struct {
	Name        string   `json:"name"`
	Passed      int      `json:"passed"`
	Failed      int      `json:"failed"`
	Reasons     []string `json:"reasons"`
	Lifted      bool     `json:"lifted"` // out of quarantine
	Quarantined bool     `json:"quarantined"`
}

// Test runs a tool's recorded tests again. A quarantined tool that has tests and passes them all is offered again.
func (l *Library) Test(ctx context.Context, w *Workbench, r Record) (TestReport, error) {
	report := TestReport{Name: r.Name, Reasons: []string{}, Quarantined: r.Quarantined}
	for _, t := range r.Tests {
		ran := w.passes(ctx, r, t)
		if err := fatal(ran.err); err != nil {
			return report, err
		}
		if ran.Success {
			report.Passed++
			continue
		}
		report.Failed++
		report.Reasons = append(report.Reasons, ran.Error)
	}
	if r.Quarantined && report.Failed == 0 && report.Passed > 0 {
		report.Lifted, report.Quarantined = true, false
		return report, l.change(ctx, r, func(now *Record) { now.Quarantined, now.FailuresInARow = false, 0 })
	}
	return report, nil
}
