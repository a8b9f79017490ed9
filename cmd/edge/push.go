package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"edge/imprint/oci"
	"edge/internal/digest"
	"edge/internal/dsse"
)

// sharing makes the client of push and pull.
func (a *app) sharing() *oci.Client {
	return oci.New(oci.Config{
		DockerConfig: a.dockerConfig(),
		Progress:     func(label string) oci.Progress { return a.transfer(label) },
		Notify:       a.notify,
	})
}

// dockerConfig is the path of the file in which Docker and its like keep logins, or "" where there is no home.
func (a *app) dockerConfig() string {
	if dir := a.getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := a.getenv(name); dir != "" {
			return filepath.Join(dir, ".docker", "config.json")
		}
	}
	return ""
}

// imprintPush is edge.imprint_push/v1.
type imprintPush struct {
	Schema        string         `json:"schema"`
	OK            bool           `json:"ok"`
	ID            string         `json:"id"`
	Reference     string         `json:"reference"`
	Digest        string         `json:"digest"`
	Path          string         `json:"path"`
	Bytes         int64          `json:"bytes"`
	SignerSHA256  *digest.SHA256 `json:"signer_sha256"`
	ReceiptPath   string         `json:"receipt_path"`
	ReceiptSHA256 digest.SHA256  `json:"receipt_sha256"`
}

func (a *app) imprintPushCommand() *cobra.Command {
	var keyPath string
	var opt oci.PushOptions
	c := &cobra.Command{
		Use: "push REF TARGET", Short: "Send an imprint to a registry or a folder (oci:FOLDER:TAG, or HOST/REPOSITORY:TAG)", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			target, err := oci.ParseTarget(args[1])
			if err != nil {
				return err
			}
			if keyPath != "" {
				key, err := dsse.ReadPrivateKey(keyPath)
				if err != nil {
					return err
				}
				opt.Sign = &key
			}
			store, err := a.imprints()
			if err != nil {
				return err
			}
			u, err := store.Open(args[0])
			if err != nil {
				return err
			}
			defer u.Close()
			return a.recorded(c.Context(), "imprint_push", func(r *record) error {
				r.set("imprint_id", u.ID())
				r.set("reference", target.String())
				pushed, err := a.sharing().Push(c.Context(), u, target, opt)
				if err != nil {
					return err
				}
				p := imprintPush{
					Schema: "edge.imprint_push/v1", OK: true, ID: pushed.ID.String(), Reference: pushed.Reference, Digest: pushed.Digest, Path: u.Path(),
					Bytes: pushed.Bytes, SignerSHA256: signerOf(pushed.Signer),
				}
				r.set("digest", p.Digest)
				r.set("signer_sha256", p.SignerSHA256)
				if p.ReceiptPath, p.ReceiptSHA256, err = r.write(nil); err != nil {
					return err
				}
				return a.print(p, func() {
					a.say("pushed %s", p.ID)
					a.say("to     %s (%s)", p.Reference, p.Digest)
					if p.SignerSHA256 != nil {
						a.say("signed with key %s", p.SignerSHA256)
					}
				})
			})
		},
	}
	c.Flags().StringVar(&keyPath, "sign", "", "an Ed25519 private key (PEM, PKCS #8) that vouches for the imprint; edge imprint keygen makes one")
	c.Flags().StringVar(&opt.Subject, "subject", "", "tag or digest, in the same place, of the manifest of the imprint's model")
	return c
}

// signerOf is nil where nobody signed.
func signerOf(id digest.SHA256) *digest.SHA256 {
	if id.IsZero() {
		return nil
	}
	return &id
}
