package serve

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"edge/internal/atomicfile"
	"edge/internal/fault"
	"edge/internal/home"
)

// Places are where a server is found.
type Places struct {
	Socket    string // path of the Unix socket
	Port      int    // of 127.0.0.1; 0: none, −1: any that is free
	TokenFile string // where the port's token is written
}

// Listeners are a server's open doors.
type Listeners struct {
	unix  net.Listener
	tcp   net.Listener // nil without a port
	token string
	lock  *flock.Flock
	at    Places
}

// maxSocketPath is what fits into a socket's address (sun_path), with its end.
const maxSocketPath = 103

// Listen opens the socket, mode 0600, and the port where one is asked for. A socket that a killed server left behind is
// replaced, under a lock that lives as long as its holder, and only after nobody has answered at it.
//
// Errors: server_already_running, path_not_writable, invalid_arguments for a socket that can't be private.
func Listen(at Places) (_ *Listeners, err error) {
	if len(at.Socket) > maxSocketPath {
		return nil, fault.New(fault.CodeInvalidArguments, "the socket's path is %d bytes long, and %d fit: %s", len(at.Socket), maxSocketPath, at.Socket).
			WithHint("name a shorter one with --socket")
	}
	if err := privateFolder(filepath.Dir(at.Socket)); err != nil {
		return nil, err
	}
	l := &Listeners{at: at, lock: flock.New(at.Socket+".lock", flock.SetPermissions(0o600))}
	held, err := l.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("serve: lock: %w", err)
	}
	if !held {
		return nil, running(at.Socket)
	}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err := clearSocket(at.Socket); err != nil {
		return nil, err
	}
	if l.unix, err = net.Listen("unix", at.Socket); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := os.Chmod(at.Socket, 0o600); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if at.Port == 0 {
		return l, nil
	}
	if l.tcp, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(max(at.Port, 0)))); err != nil {
		return nil, fault.New(fault.CodeInvalidArguments, "--port: %w", err).WithHint("name a free port")
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	l.token = hex.EncodeToString(secret)
	return l, atomicfile.WriteBytes(at.TokenFile, 0o600, []byte(l.token+"\n"))
}

func running(socket string) error {
	return fault.New(fault.CodeServerAlreadyRunning, "a server listens at %s already", socket)
}

// privateFolder makes the folder, mode 0700, or makes sure that nobody else can put another socket into it.
func privateFolder(dir string) error {
	if err := home.Ensure(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if permissionsCount() && info.Mode().Perm()&0o022 != 0 {
		return fault.New(fault.CodeInvalidArguments, "others can write to %s: mode %o", dir, info.Mode().Perm()).
			WithHint("take that right away (chmod 700), or name a socket in a private folder with --socket")
	}
	return nil
}

// clearSocket removes a socket at which nobody answers.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("serve: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fault.New(fault.CodeInvalidArguments, "%s is there, and it is no socket", path).WithHint("name another with --socket")
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		conn.Close()
		return running(path)
	}
	return os.Remove(path)
}

// Port is the loopback port that is open; 0 without one.
func (l *Listeners) Port() int {
	if l.tcp == nil {
		return 0
	}
	return l.tcp.Addr().(*net.TCPAddr).Port
}

// all are the open doors.
func (l *Listeners) all() []net.Listener {
	list := []net.Listener{l.unix}
	if l.tcp != nil {
		list = append(list, l.tcp)
	}
	return list
}

// closeAll lets nobody in any more; the socket is gone, and the lock is still held.
func (l *Listeners) closeAll() error {
	var err error
	for _, door := range l.all() {
		err = errors.Join(err, ignoreClosed(door.Close()))
	}
	return err
}

// Close shuts the doors, removes socket and token, and lets go of the lock last.
func (l *Listeners) Close() error {
	var err error
	if l.tcp != nil {
		err = errors.Join(ignoreClosed(l.tcp.Close()), ignoreClosed(os.Remove(l.at.TokenFile)))
	}
	if l.unix != nil {
		err = errors.Join(err, ignoreClosed(l.unix.Close())) // this removes the socket
	}
	return errors.Join(err, l.lock.Unlock())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
