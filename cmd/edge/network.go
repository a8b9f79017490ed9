package main

import "github.com/spf13/cobra"

// networkFlag gives a command --allow-network, once, whichever of its parts asks for it, and what the user said.
func networkFlag(c *cobra.Command) func() bool {
	const name = "allow-network"
	if c.Flags().Lookup(name) == nil {
		c.Flags().Bool(name, false, "let this command reach other machines: model servers, and tools that need the network")
	}
	return func() bool {
		allowed, err := c.Flags().GetBool(name)
		return err == nil && allowed
	}
}
