package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/receipts"
)

func (a *app) receiptsCommand() *cobra.Command {
	c := &cobra.Command{Use: "receipts", Short: "Read and check receipts"}
	c.AddCommand(a.receiptShowCommand(), a.receiptVerifyCommand(), a.receiptExportCommand())
	return c
}

func (a *app) receiptShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show PATH", Short: "Show a receipt", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := receipts.Read(args[0])
			if err != nil {
				return err
			}
			return a.print(map[string]any{"schema": "edge.receipt_show/v1", "ok": true, "receipt": r}, func() {
				pretty, err := json.MarshalIndent(r, "", "  ")
				if err == nil {
					a.say("%s", pretty)
				}
			})
		},
	}
}

func (a *app) receiptVerifyCommand() *cobra.Command {
	var f exportCheckFlags
	c := &cobra.Command{
		Use: "verify [PATH]", Short: "Check a receipt, or exported receipts, or without a path the whole chain of receipts", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && (f.given() || receipts.IsExport(args[0])) {
				return a.verifyExport(args[0], f)
			}
			if f.given() {
				return fault.New(fault.CodeInvalidArguments, "--trust and --part are for exported receipts").WithHint("name a file that edge receipts export wrote")
			}
			if len(args) == 1 {
				if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
					return a.verifyChain(args[0])
				}
				return a.verifyReceipt(args[0])
			}
			return a.verifyChain(a.home.Receipts())
		},
	}
	f.register(c)
	return c
}

func (a *app) verifyReceipt(path string) error {
	report, err := receipts.Verify(path, receipts.Options{Check: a.checkNamed})
	if err != nil {
		return err
	}
	value := map[string]any{"schema": "edge.receipt_verify/v1", "ok": true, "path": report.Path, "receipt_sha256": report.SHA256, "findings": orEmpty(report.Findings)}
	return a.print(value, func() { a.sayFindings(report.Findings) })
}

func (a *app) verifyChain(dir string) error {
	report, err := receipts.VerifyChain(dir)
	if err != nil {
		return err
	}
	value := map[string]any{
		"schema": "edge.receipt_chain/v1", "ok": true, "dir": report.Dir, "receipts": report.Receipts, "last_sequence": report.Last,
		"last_receipt_sha256": report.LastSHA256, "findings": orEmpty(report.Findings), "limit": report.Limit,
	}
	return a.print(value, func() {
		a.say("%d receipts, unbroken up to number %d (%s)", report.Receipts, report.Last, report.LastSHA256)
		a.sayFindings(report.Findings)
		a.say("note: %s", report.Limit)
	})
}

func (a *app) sayFindings(list []receipts.Finding) {
	for _, f := range list {
		a.say("%-7s %-10s %s", f.Status, f.Check, f.Message)
	}
}

// checkNamed looks at the artifact that a learning receipt names. One that is gone proves nothing; one that differs
// does.
func (a *app) checkNamed(r *receipts.Receipt) []receipts.Finding {
	var body struct {
		Path string `json:"artifact_path"`
		ID   string `json:"artifact_id"`
	}
	if json.Unmarshal(r.Body, &body) != nil || body.Path == "" {
		return nil
	}
	want, err := digest.ParseBLAKE3(body.ID)
	if err != nil {
		return []receipts.Finding{{Check: "artifact", Status: receipts.Failed, Message: err.Error()}}
	}
	u, err := imprint.Open(body.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []receipts.Finding{{Check: "artifact", Status: receipts.Note, Message: body.Path + " isn't there any more"}}
	case err != nil:
		return []receipts.Finding{{Check: "artifact", Status: receipts.Note, Message: err.Error()}}
	}
	defer u.Close()
	if u.ID() != want {
		return []receipts.Finding{{Check: "artifact", Status: receipts.Note, Message: body.Path + " is another imprint now: " + u.ID().String()}}
	}
	return []receipts.Finding{{Check: "artifact", Status: receipts.Passed, Message: body.Path + " has the recorded id"}}
}
