package tools_test

import (
	"bufio"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// roundsEnv says how many rounds so many processes race; the issue asks for 200.
const (
	roundsEnv = "EDGE_RACE_ROUNDS"
	racers    = 32
)

func TestClaimRaceOfProcesses(t *testing.T) {
	rounds := 8
	if text := os.Getenv(roundsEnv); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "pending")
	s, err := tools.NewPendingStore(dir, time.Now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for round := range rounds {
		o := create(t, s)
		confirms := make([]*exec.Cmd, racers)
		gates := make([]io.Closer, racers)
		var ready sync.WaitGroup
		for i := range confirms {
			cmd := playing(t, playRace, dir, o.Path, o.Token)
			gate, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			says, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			confirms[i], gates[i] = cmd, gate
			ready.Go(func() { bufio.NewReader(says).ReadString('\n') })
		}
		ready.Wait()
		for _, gate := range gates {
			gate.Close()
		}
		won := 0
		for _, cmd := range confirms {
			cmd.Wait()
			switch code := cmd.ProcessState.ExitCode(); code {
			case 0:
				won++
			case fault.Confirm.Exit():
			default:
				t.Errorf("round %d: exit status %d", round, code)
			}
		}
		if ran := effects(t, o.Path); won != 1 || ran != 1 {
			t.Fatalf("round %d: %d of %d processes confirmed and the action ran %d times; want 1 and 1", round, won, racers, ran)
		}
	}
	t.Logf("%d processes × %d rounds: one execution each, in %.1f s", racers, rounds, time.Since(began).Seconds())
}
