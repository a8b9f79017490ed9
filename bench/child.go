package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"edge/chat"
)

// Child is what one run of edge came to.
type Child struct {
	Chat       chat.Turn // of a chat's JSON
	Served     bool      // edge serve has computed it
	WallMS     float64   // from the start of the process until its whole output has arrived
	PeakMemory int64     // bytes; 0 where the system doesn't tell
}

// Runner gives a function that runs the program at path with that environment, one process at a time.
func Runner(path string, environ []string) func(ctx context.Context, args ...string) (Child, error) {
	return func(ctx context.Context, args ...string) (Child, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = environ
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		start := time.Now()
		if err := cmd.Start(); err != nil {
			return Child{}, fmt.Errorf("start edge: %w", err)
		}
		peak := watchMemory(cmd.Process.Pid)
		err := cmd.Wait()
		c := Child{WallMS: ms(time.Since(start)), PeakMemory: peak()}
		if err != nil {
			return c, fmt.Errorf("edge %s: %w\n%s%s", strings.Join(args, " "), err, out.Bytes(), problems.Bytes())
		}
		said := struct {
			*chat.Turn
			Served *bool `json:"served"`
		}{&c.Chat, &c.Served}
		if err := json.Unmarshal(out.Bytes(), &said); err != nil {
			return c, fmt.Errorf("edge %s: %w", strings.Join(args, " "), err)
		}
		return c, nil
	}
}

// Server gives a function that starts the program at path as edge serve and waits until it listens.
func Server(path string, environ []string) func(ctx context.Context) (stop func() error, err error) {
	return func(ctx context.Context) (func() error, error) {
		cmd := exec.CommandContext(ctx, path, "serve", "--json")
		cmd.Env = environ
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		if err := json.NewDecoder(out).Decode(&struct{}{}); err != nil {
			return nil, errors.Join(fmt.Errorf("it said %q", problems.String()), cmd.Wait())
		}
		return func() error {
			if cmd.Process.Signal(os.Interrupt) != nil { // not every system has it
				cmd.Process.Kill()
			}
			cmd.Wait() // however it ends then
			return nil
		}, nil
	}
}

// Busy gives a function that keeps a core busy in a process of its own, edge bench --spin.
func Busy(path string, environ []string) func(ctx context.Context) (stop func() error, err error) {
	return func(ctx context.Context) (func() error, error) {
		cmd := exec.CommandContext(ctx, path, "bench", "--spin")
		cmd.Env = environ
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
	}
}

// watchMemory looks at a process's peak of resident memory until the function that it gives is called. The system keeps
// the peak, so that looking now and then is enough. What the kernel tells at a process's end isn't used: it counts what
// the parent had in memory when the process was started.
func watchMemory(pid int) (peak func() int64) {
	path := "/proc/" + strconv.Itoa(pid) + "/status"
	stop, last := make(chan struct{}), make(chan int64, 1)
	go func() {
		most := int64(0)
		for {
			if kb, err := strconv.ParseInt(strings.TrimSuffix(field(os.ReadFile, path, "VmHWM"), " kB"), 10, 64); err == nil {
				most = max(most, kb<<10)
			}
			select {
			case <-stop:
				last <- most
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(stop); return <-last }
}

// Environment is environ with another home for edge, and without what would set its threads.
func Environment(environ []string, home string) []string {
	var out []string
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "EDGE_HOME=") && !strings.HasPrefix(pair, "EDGE_THREADS=") {
			out = append(out, pair)
		}
	}
	return append(out, "EDGE_HOME="+home)
}
