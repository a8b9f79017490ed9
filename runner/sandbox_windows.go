package runner

import (
	"errors"
	"fmt"
	"io"
)

// canEnforce reports why this platform can't enforce a sandbox at all. A job object bounds processes; it confines
// neither files nor the network.
func canEnforce(string) error {
	return errors.New("windows offers edge no way to confine files and the network")
}

// sandboxLaunch starts the interpreter in its job object, which newGroup makes.
func sandboxLaunch(c sandboxConfig, _ string) (launch, error) {
	return launch{
		path:   c.python.Path,
		args:   c.args,
		alone:  c.level == confined,
		static: enforced{Mechanism: "job-object", FS: "none", Net: "none"},
	}, nil
}

// programsOf is of use to the Linux sandbox only.
func programsOf(string) []string { return nil }

// SandboxMain has nothing to do here: the job object is made by the parent.
func SandboxMain(_, _ []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "edge:", SandboxCommand, "isn't used on this platform")
	return 125
}
