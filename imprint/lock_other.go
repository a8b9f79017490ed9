//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package imprint

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock that dies with its holder, two processes could spoil each other's work.
func tryLock(*os.File) (held bool, err error) {
	return false, errors.New("this platform has no file locks that edge knows")
}
