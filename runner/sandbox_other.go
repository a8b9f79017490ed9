//go:build !linux && !darwin && !windows

package runner

import (
	"errors"
	"fmt"
	"io"
)

// canEnforce reports why this platform can't enforce a sandbox at all.
func canEnforce(string) error { return errors.New("edge has no sandbox for this platform") }

// sandboxLaunch starts the interpreter as it is.
func sandboxLaunch(c sandboxConfig, _ string) (launch, error) {
	return launch{path: c.python.Path, args: c.args, static: unconfined()}, nil
}

// programsOf is of use to the Linux sandbox only.
func programsOf(string) []string { return nil }

// SandboxMain has nothing to do here.
func SandboxMain(_, _ []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "edge:", SandboxCommand, "isn't used on this platform")
	return 125
}
