package runner

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// x32Bit marks the calls of the x32 table, which shares this architecture's number.
	x32Bit = 0x40000000
)

// deniedSyscallsOfArch are the older spellings that only this architecture has.
func deniedSyscallsOfArch() []uintptr {
	return []uintptr{
		unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN,
		unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
	}
}

func writingSyscallsOfArch() []uintptr {
	return []uintptr{
		unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK,
	}
}

func writingRulesOfArch() []argRule {
	return []argRule{{unix.SYS_OPEN, 1, writingFlags, []uint32{unix.O_RDONLY}, false}}
}
