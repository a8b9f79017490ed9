package main

import (
	"crypto/rand"

	"github.com/spf13/cobra"

	"edge/internal/dsse"
)

func (a *app) imprintKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "keygen FILE", Short: "Make a pair of keys for signing: FILE, which stays with you, and FILE" + dsse.PublicSuffix, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := dsse.GenerateKey(args[0], rand.Reader)
			if err != nil {
				return err
			}
			value := map[string]any{
				"schema": "edge.imprint_keygen/v1", "ok": true, "path": args[0], "public_path": args[0] + dsse.PublicSuffix, "key_sha256": key.ID(),
			}
			return a.print(value, func() {
				a.say("private key  %s (keep it to yourself)", args[0])
				a.say("public key   %s (give it to those who pull)", args[0]+dsse.PublicSuffix)
				a.say("key id       %s", key.ID())
			})
		},
	}
}

// readTrusted reads the public keys that --trust names.
func readTrusted(paths []string) (keys []dsse.PublicKey, err error) {
	for _, path := range paths {
		key, err := dsse.ReadPublicKey(path)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
