package serve

import (
	"fmt"
	"net"
	"os"
)

// samePeer refuses another user at the other end of a Unix socket, whichever end this is: a server would run commands
// for them, and a client would hand them its environment.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var asked error
	if err := raw.Control(func(fd uintptr) { uid, asked = peerUser(int(fd)) }); err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("serve: the peer is user %d, not %d", uid, os.Geteuid())
	}
	return nil
}
