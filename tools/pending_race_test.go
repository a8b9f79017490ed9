package tools_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/fault"
	"edge/tools"
)

func TestClaimRace(t *testing.T) {
	s := store(t, t.TempDir(), newClock())
	for round := range 50 {
		o := create(t, s)
		won := race(32, func() error {
			_, err := claim(s, o.Path, o.Token)
			if err != nil && !fault.Is(err, fault.CodeConfirmationAlreadyClaimed) {
				t.Errorf("round %d: %v", round, err)
			}
			return err
		})
		if won != 1 {
			t.Fatalf("round %d: claimed %d times", round, won)
		}
	}
}

// race runs f n times at once and counts its successes.
func race(n int, f func() error) (won int) {
	var mu sync.Mutex
	var ready, all sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for range n {
		all.Go(func() {
			ready.Done()
			<-start
			if f() == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	ready.Wait()
	close(start)
	all.Wait()
	return won
}

const claimEnv = "EDGE_TEST_CLAIM"

// TestMain lets this test binary stand for another edge process: with claimEnv set it claims and does nothing else.
func TestMain(m *testing.M) {
	args := strings.Split(os.Getenv(claimEnv), "\n")
	if len(args) != 3 {
		os.Exit(m.Run())
	}
	s, err := tools.NewPendingStore(args[0], time.Now, rand.Reader)
	if err == nil {
		_, err = claim(s, args[1], args[2])
	}
	if err != nil {
		os.Exit(fault.From(err).Class().Exit())
	}
	os.Exit(0)
}

func TestClaimRaceOfProcesses(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir, newClock())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 10 {
		o := create(t, s)
		won := race(8, func() error {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), claimEnv+"="+strings.Join([]string{dir, o.Path, o.Token}, "\n"))
			err := cmd.Run()
			if err != nil && cmd.ProcessState.ExitCode() != fault.Confirm.Exit() {
				t.Errorf("round %d: %v", round, err)
			}
			return err
		})
		if won != 1 {
			t.Fatalf("round %d: claimed by %d processes", round, won)
		}
	}
}
