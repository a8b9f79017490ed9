package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
	"edge/receipts"
)

// receiptExport is edge.receipt_export/v1.
type receiptExport struct {
	Schema        string            `json:"schema"`
	OK            bool              `json:"ok"`
	Receipts      int               `json:"receipts"`
	PredicateType string            `json:"predicate_type"`
	SignerSHA256  *digest.SHA256    `json:"signer_sha256"`
	Path          *string           `json:"path"` // null: the lines are in Statements
	SHA256        digest.SHA256     `json:"sha256"`
	Statements    []json.RawMessage `json:"statements,omitempty"`
}

func (a *app) receiptExportCommand() *cobra.Command {
	var all bool
	var keyPath, out string
	c := &cobra.Command{
		Use: "export [RECEIPT]...", Short: "Write receipts as in-toto statements, one to a line, signed if a key is given", Args: cobra.ArbitraryArgs,
		Example: "  edge receipts export --all --sign key --out receipts.intoto.jsonl",
		RunE: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return fault.New(fault.CodeInvalidArguments, "name the receipts to export, or give --all").WithHint("see: edge receipts export --help")
			}
			if err := checkOut(out); err != nil {
				return err
			}
			result := receiptExport{Schema: "edge.receipt_export/v1", OK: true, PredicateType: receipts.PredicateType}
			var signer *dsse.PrivateKey
			if keyPath != "" {
				key, err := dsse.ReadPrivateKey(keyPath)
				if err != nil {
					return err
				}
				signer, result.SignerSHA256 = &key, signerOf(key.Public().ID())
			}
			if all { // a chain that isn't whole isn't vouched for
				report, err := receipts.VerifyChain(a.home.Receipts())
				if err != nil {
					return err
				}
				args = report.Paths
			}
			var lines bytes.Buffer
			var err error
			if result.Receipts, err = receipts.Export(&lines, args, signer); err != nil {
				return err
			}
			result.SHA256 = digest.SHA256Of(lines.Bytes())
			if out == "" {
				for line := range bytes.Lines(lines.Bytes()) {
					result.Statements = append(result.Statements, json.RawMessage(line))
				}
				return a.print(result, func() { a.out.Write(lines.Bytes()) })
			}
			if err := atomicfile.WriteBytes(out, 0o600, lines.Bytes()); err != nil {
				return err
			}
			result.Path = &out
			return a.print(result, func() { a.say("%d receipts in %s (sha256 %s)", result.Receipts, out, result.SHA256) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every receipt of EDGE_HOME, if their chain is unbroken")
	c.Flags().StringVar(&keyPath, "sign", "", "an Ed25519 private key (PEM, PKCS #8); edge imprint keygen makes one")
	c.Flags().StringVar(&out, "out", "", "the file to write (default: standard output)")
	return c
}

// exportCheckFlags are the flags of receipts verify that are about exported receipts.
type exportCheckFlags struct {
	trust []string
	part  bool
}

func (f *exportCheckFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.trust, "trust", nil, "the public key of whoever must have signed every exported receipt (repeatable)")
	c.Flags().BoolVar(&f.part, "part", false, "the exported receipts are chosen ones: others may be missing before and between them")
}

func (f *exportCheckFlags) given() bool { return len(f.trust) > 0 || f.part }

func (a *app) verifyExport(path string, f exportCheckFlags) error {
	trusted, err := readTrusted(f.trust)
	if err != nil {
		return err
	}
	report, err := receipts.VerifyExport(path, receipts.ExportOptions{Trust: trusted, Part: f.part})
	if err != nil {
		return err
	}
	value := struct {
		Schema string `json:"schema"`
		OK     bool   `json:"ok"`
		*receipts.ExportReport
	}{"edge.receipt_export_verify/v1", true, report}
	return a.print(value, func() {
		a.say("%d receipts, the last with number %d (%s)", report.Receipts, report.Last, report.LastSHA256)
		a.sayFindings(report.Findings)
		a.say("note: %s", report.Limit)
	})
}
