package runner

import (
	"errors"
	"os"
)

// bareKernelCommand is SandboxCommand on a kernel without Landlock.
const bareKernelCommand = "__bare_kernel"

// playOtherParts makes the test binary one of the programs that tests need.
func playOtherParts() {
	if len(os.Args) < 4 {
		return
	}
	switch os.Args[1] {
	case bareKernelCommand:
		os.Exit(sandboxMain(os.Args[3:], os.Environ(), os.Stderr, func(sandboxOrder) (int, error) {
			return 0, errors.New("landlock: not here")
		}))
	case hangCommand:
		hang(os.Args[2], SandboxMode(os.Args[3]))
	}
}
