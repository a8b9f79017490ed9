//go:build unix && !linux

package runner

import (
	"os"
	"syscall"
)

// dieWithParent has no counterpart here.
func dieWithParent(*syscall.SysProcAttr, bool) {}

// waitWithoutReaping isn't offered by the standard library here.
func waitWithoutReaping(int) bool { return false }

// shrinkPipe isn't possible here: part of the interpreter's start counts as part of the call.
func shrinkPipe(*os.File) {}
