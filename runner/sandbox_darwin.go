package runner

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// sandboxProgram is the system's own; it is deprecated and has no successor for programs without a bundle.
const sandboxProgram = "/usr/bin/sandbox-exec"

// canEnforce reports why this platform can't enforce a sandbox at all, before one is tried.
func canEnforce(string) error {
	if _, err := os.Stat(sandboxProgram); err != nil {
		return fmt.Errorf("%s isn't there", sandboxProgram)
	}
	return nil
}

// sandboxLaunch starts the interpreter inside the system's sandbox, which has no report of its own: what it enforces is
// what the probes in the process find.
func sandboxLaunch(c sandboxConfig, dir string) (launch, error) {
	if c.level == userRights || canEnforce("") != nil {
		return launch{path: c.python.Path, args: c.args, static: unconfined()}, nil
	}
	return launch{
		path:  sandboxProgram,
		args:  append([]string{"-p", sandboxProfile(dir), c.python.Path}, c.args...),
		alone: true,
		static: enforced{
			Mechanism: "sandbox-exec",
		},
	}, nil
}

// sandboxProfile allows reading, the private folder, and what an interpreter needs to start. An interpreter of a
// framework starts by executing another program in its own place, so execution stays open; starting a process doesn't.
func sandboxProfile(dir string) string {
	return strings.Join([]string{
		"(version 1)",
		"(deny default)",
		"(allow file-read*)",
		"(allow file-write* (subpath " + strconv.Quote(dir) + "))",
		"(allow file-write-data (literal \"/dev/null\"))",
		"(allow process-exec*)",
		"(deny process-fork)",
		"(deny network*)",
		"(allow signal (target self))",
		"(allow sysctl-read)",
		"(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
	}, "\n")
}

// programsOf is of use to the Linux sandbox only.
func programsOf(string) []string { return nil }

// SandboxMain has nothing to do here: the system's own program makes the sandbox.
func SandboxMain(_, _ []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "edge:", SandboxCommand, "isn't used on this platform")
	return 125
}
