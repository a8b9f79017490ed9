package serve

import "golang.org/x/sys/unix"

// peerUser asks the kernel who is at the other end of a Unix socket.
func peerUser(fd int) (uid int, err error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(c.Uid), nil
}
