package main

import (
	"github.com/spf13/cobra"

	"edge/imprint/oci"
	"edge/internal/digest"
)

// imprintPull is edge.imprint_pull/v1.
type imprintPull struct {
	Schema        string         `json:"schema"`
	OK            bool           `json:"ok"`
	ID            string         `json:"id"`
	Reference     string         `json:"reference"`
	Digest        string         `json:"digest"`
	Path          string         `json:"path"`
	Bytes         int64          `json:"bytes"`
	Present       bool           `json:"present"`
	SignerSHA256  *digest.SHA256 `json:"signer_sha256"`
	ReceiptPath   string         `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256  `json:"receipt_sha256"`
}

func (a *app) imprintPullCommand() *cobra.Command {
	var keyPaths []string
	var opt oci.PullOptions
	c := &cobra.Command{
		Use: "pull SOURCE", Short: "Bring an imprint from a registry or a folder (oci:FOLDER:TAG, or HOST/REPOSITORY:TAG)", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			source, err := oci.ParseTarget(args[0])
			if err != nil {
				return err
			}
			if opt.Trust, err = readTrusted(keyPaths); err != nil {
				return err
			}
			if _, err := a.quota(); err != nil {
				return err
			}
			trusted := []map[string]any{}
			for _, key := range opt.Trust {
				trusted = append(trusted, map[string]any{"key_sha256": key.ID()})
			}
			store, err := a.imprints()
			if err != nil {
				return err
			}
			return a.recorded(c.Context(), "imprint_pull", func(r *record) error {
				r.set("reference", source.String())
				r.set("trusted", trusted)
				r.set("trust_unsigned", opt.TrustUnsigned)
				pulled, err := a.sharing().Pull(c.Context(), store, source, opt)
				if err != nil {
					return err
				}
				p := imprintPull{
					Schema: "edge.imprint_pull/v1", OK: true, ID: pulled.ID.String(), Reference: pulled.Reference, Digest: pulled.Digest, Path: pulled.Path,
					Bytes: pulled.Bytes, Present: pulled.Present, SignerSHA256: signerOf(pulled.Signer),
				}
				r.set("imprint_id", p.ID)
				r.set("digest", p.Digest)
				r.set("signer_sha256", p.SignerSHA256)
				if err := a.holdQuota(c.Context(), store); err != nil {
					return err
				}
				if p.ReceiptPath, p.ReceiptSHA256, err = r.write(nil); err != nil {
					return err
				}
				return a.print(p, func() {
					verb := "pulled"
					if p.Present {
						verb = "here already:"
					}
					a.say("%s %s", verb, p.ID)
					a.say("%s", p.Path)
					if p.SignerSHA256 != nil {
						a.say("signed with the trusted key %s", p.SignerSHA256)
					} else {
						a.say("not checked for a signature: it steers the model, so be sure where it comes from")
					}
				})
			})
		},
	}
	c.Flags().StringArrayVar(&keyPaths, "trust", nil, "an Ed25519 public key (PEM) whose owner's imprints are taken (repeatable)")
	c.Flags().BoolVar(&opt.TrustUnsigned, "trust-unsigned", false, "take an imprint that no trusted key has signed from a registry")
	return c
}
