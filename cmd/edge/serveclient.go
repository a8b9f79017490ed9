package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edge/internal/fault"
	"edge/models"
	"edge/serve"
)

// serveOff is what EDGE_SERVE says to have every chat work alone. Else it is a server's address: the path of a socket,
// or 127.0.0.1:PORT.
const serveOff = "off"

// serveAddress is where a server may be; not ok where none is wanted.
func (a *app) serveAddress() (address string, ok bool) {
	switch named := a.getenv("EDGE_SERVE"); named {
	case serveOff:
		return "", false
	case "":
		return a.serveSocket(), true
	default:
		return named, true
	}
}

// exitStatus is the outcome of a command whose words were said elsewhere.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// throughServer has a running server do the chat. done says that it did, and err how that ended; otherwise the command
// does it alone, and has said why if a server was there.
func (a *app) throughServer(ctx context.Context, c *cobra.Command, oneShot bool) (done bool, err error) {
	address, wanted := a.serveAddress()
	if a.served != nil || !wanted {
		return false, nil
	}
	client, err := serve.Dial(ctx, address, a.serveToken())
	if errors.Is(err, serve.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, a.alone(err)
	}
	defer client.Close()
	request, err := a.request(c)
	if err != nil {
		return false, a.alone(err)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	local := serve.Local{
		In: a.in, Out: a.out, Err: a.err, Interrupts: interrupts,
		Accepted: func(pid int) { a.notify(fmt.Sprintf("served by edge serve (pid %d)", pid)) },
	}
	if oneShot {
		local.Patience = 2
	}
	status, err := client.Chat(request, local)
	var lost *serve.LostError
	switch {
	case err == nil && status == 0:
		return true, nil
	case err == nil:
		return true, exitStatus(status)
	case errors.As(err, new(*serve.DeclinedError)), errors.As(err, &lost) && !lost.Begun && ctx.Err() == nil:
		return false, a.alone(err)
	case lost != nil && lost.Begun:
		a.json = false // the one object was printed
		return true, fault.New(fault.CodeServerLost, "%w", err)
	}
	return true, err
}

// alone says why a server that is there isn't used.
func (a *app) alone(why error) error {
	a.notify(fmt.Sprintf("working alone: %v", why))
	return nil
}

// request is the chat as the server can run it, wherever its own folder is: every path in it is absolute.
func (a *app) request(c *cobra.Command) (r serve.Request, err error) {
	if r.Build, err = buildOf(); err != nil {
		return r, err
	}
	r.Started, r.Terminal = a.started.UnixNano(), a.terminal
	if r.Environ, err = a.absoluteEnviron(); err != nil {
		return r, err
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			absolute, failed := a.absolute(f.Name, v)
			err = errors.Join(err, failed)
			r.Args = append(r.Args, "--"+f.Name+"="+absolute)
		}
	})
	return r, err
}

// absolute gives a flag's value with what it names by a relative path named by an absolute one.
func (a *app) absolute(flag, value string) (string, error) {
	switch flag {
	case "tools", "tools-manifest", "facts-store":
		return filepath.Abs(value)
	case "with-imprint":
		return absoluteImprint(value)
	case "model":
		store, err := a.models()
		if err != nil {
			return "", err
		}
		if ref, err := store.Resolve(value); err == nil && ref.Kind == models.KindFile { // what is wrong with it, the chat says
			return filepath.Abs(value)
		}
	}
	return value, nil
}

// absoluteImprint leaves ids and their beginnings as they are. A word that may be either is for this process to find out.
func absoluteImprint(value string) (string, error) {
	if strings.HasPrefix(value, "blake3:") {
		return value, nil
	}
	_, err := os.Stat(value)
	switch hex := strings.Trim(value, "0123456789abcdef") == ""; {
	case hex && err == nil:
		return "", fmt.Errorf("%s may be an id or a file", value)
	case hex:
		return value, nil
	}
	return filepath.Abs(value)
}

func (a *app) absoluteEnviron() ([]string, error) {
	environ := append([]string(nil), a.environ...)
	environ = append(environ, "EDGE_HOME="+a.home.Path())
	if python := a.getenv("EDGE_PYTHON"); strings.ContainsRune(python, filepath.Separator) {
		path, err := filepath.Abs(python)
		if err != nil {
			return nil, err
		}
		environ = append(environ, "EDGE_PYTHON="+path)
	}
	return environ, nil
}
