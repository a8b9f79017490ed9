//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package imprint

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock if nobody has it. It belongs to the open file, so closing that releases it.
func tryLock(f *os.File) (held bool, err error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
