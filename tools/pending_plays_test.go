package tools_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// This test binary stands for other edge processes, which race, are killed, and find that the disk is full: with playEnv
// set it does what is named there with a store of pending actions, and nothing else.
const playEnv = "EDGE_TEST_PENDING"

// Plays; the first argument is always the store's folder.
const (
	playCreate  = "create"  // prints path and token
	playConfirm = "confirm" // path, token: one more line in path.effect is the action's effect
	playRace    = "race"    // the same; says when the action was found free, and claims when its input ends
	playPrune   = "prune"   // with a clock by which everything has expired
)

func TestMain(m *testing.M) {
	if text := os.Getenv(playEnv); text != "" {
		runtime.LockOSThread() // one thread has all the system calls that matter
		if err := play(strings.Split(text, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(fault.From(err).Class().Exit())
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// playing is the command that does args.
func playing(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", playEnv+"="+strings.Join(args, "\n"))
	return cmd
}

func play(args []string) error {
	clock := time.Now
	if args[0] == playPrune {
		clock = func() time.Time { return time.Now().Add(tools.PendingLifetime + time.Minute) }
	}
	s, err := tools.NewPendingStore(args[1], clock, rand.Reader)
	if err != nil {
		return err
	}
	switch args[0] {
	case playCreate:
		set, err := tools.Freeze(inspection(pay()), tools.Selection{})
		if err != nil {
			return err
		}
		b, err := set.Bind(tools.Call{ToolName: "pay", Arguments: []byte(`{"amount":5,"to":"Ann"}`)})
		if err != nil {
			return err
		}
		o, err := s.Create(b)
		if err == nil {
			_, err = fmt.Println(o.Path, o.Token)
		}
		return err
	case playPrune:
		_, err := s.Prune(true)
		return err
	}
	checked, err := open(s, args[2], args[3])
	if args[0] == playRace {
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	}
	if err != nil {
		return err
	}
	claimed, err := s.Claim(checked)
	if err != nil {
		return err
	}
	return errors.Join(effect(args[2]+".effect"), s.Finish(claimed, digest.SHA256{}))
}

func effect(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
}

// effects counts how often the action at path ran.
func effects(t testing.TB, path string) int {
	t.Helper()
	text, err := os.ReadFile(path + ".effect")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(text)
}
