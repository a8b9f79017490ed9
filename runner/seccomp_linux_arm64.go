package runner

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// x32Bit has no meaning here.
	x32Bit = 0
)

// deniedSyscallsOfArch is empty: this architecture has no older spellings.
func deniedSyscallsOfArch() []uintptr { return nil }

func writingSyscallsOfArch() []uintptr { return nil }

func writingRulesOfArch() []argRule { return nil }
