package llamacpp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// What the engine does with a damaged state is why there is a gate. TestFlippedStates flips one bit of a state at a time,
// gives it to llama.cpp alone, and gives an imprint with the very same damage to the gate:
//
//	EDGE_DAMAGE=full go test -v -run TestFlippedStates ./inference/llamacpp
//
// Without EDGE_DAMAGE fewer bits are flipped. The engine does it in a process of its own that may die of it.

const (
	flipsEnv    = "EDGE_FLIPS_TEST_FROM" // be the process that flips bits, from this one on
	flipTokens  = 48
	flipHeader  = 200     // bytes at the state's beginning: counts, positions, types
	flipMemory  = 6 << 30 // bytes of addresses that the process may have
	flipTimeout = 5 * time.Minute
)

// flips are the bits to flip: of random places of a state, and then of its beginning.
func flips(bytes int) (bits []int, random int) {
	count, stride := 300, 16
	if os.Getenv("EDGE_DAMAGE") == "full" {
		count, stride = 2000, 1
	}
	source := rand.New(rand.NewPCG(11, 11))
	for range count {
		bits = append(bits, source.IntN(8*bytes))
	}
	for bit := 0; bit < 8*flipHeader; bit += stride {
		bits = append(bits, bit)
	}
	return bits, count
}

// What became of a flipped bit.
const (
	flipRefused = "llama.cpp refused it"
	flipNoticed = "accepted, but other counts or positions than the state's"
	flipUnfit   = "accepted, and then nothing could be decoded"
	flipSame    = "accepted, same scores"
	flipScores  = "accepted, other scores"
	flipToken   = "accepted, another token"
	flipNaN     = "accepted, scores that are no numbers"
	flipCrash   = "the process died"
)

func outcomes() []string {
	return []string{flipRefused, flipNoticed, flipUnfit, flipSame, flipScores, flipToken, flipNaN, flipCrash}
}

func TestFlippedStates(t *testing.T) {
	if from := os.Getenv(flipsEnv); from != "" {
		flipping(t, from)
		return
	}
	state := flipState(t, zoo(t, "llama"))
	bits, random := flips(len(state.Bytes()))
	alone := flipAll(t, bits)
	gate := throughTheGate(t, state, bits)

	report := func(name string, from, to int) (accepted int) {
		counts := map[string]int{}
		for _, o := range alone[from:to] {
			counts[o]++
		}
		accepted = to - from - counts[flipRefused] - counts[flipCrash]
		t.Logf("%s, %d bits of %d bytes", name, to-from, len(state.Bytes()))
		t.Logf("  llama.cpp alone accepted %d", accepted)
		for _, o := range outcomes() {
			if counts[o] > 0 {
				t.Logf("    %d %s", counts[o], o)
			}
		}
		t.Logf("  as an imprint, edge accepted %d", gate[to]-gate[from])
		return accepted
	}
	// If llama.cpp ever refuses what is damaged, the pages that say otherwise have to change.
	if report("random bits of a state", 0, random) < random/2 {
		t.Error("llama.cpp refuses most flipped bits now")
	}
	report(fmt.Sprintf("bits of a state's first %d bytes", flipHeader), random, len(bits))
	if n := gate[len(bits)]; n > 0 {
		t.Errorf("the gate accepted %d damaged imprints", n)
	}
}

// throughTheGate gives, for each n, how many of the first n flips an imprint was accepted with.
func throughTheGate(t *testing.T, state sealed.State, bits []int) []int {
	t.Helper()
	sum := digest.SHA256Of([]byte("x"))
	tokens := make([]uint32, state.Tokens())
	path := filepath.Join(t.TempDir(), "x.imprint")
	_, err := imprint.Write(t.Context(), path, imprint.Content{
		Identity: imprint.Identity{
			Model: imprint.Model{SHA256: sum, Architecture: "llama"}, TokenizerSHA256: sum, ChatTemplateSHA256: sum,
			Engine: imprint.Engine{Name: "llama.cpp", Version: "test"},
			Params: imprint.Params{KVTypeK: "f16", KVTypeV: "f16", NBatch: 512, NUBatch: 512}, PromptFormatVersion: "1",
		},
		Tokens: tokens, State: state,
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, state.Bytes())
	if at < 0 || checked(t, path) != nil {
		t.Fatalf("the state is at %d of the imprint; undamaged: %v", at, checked(t, path))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	accepted := []int{0}
	for _, bit := range bits {
		place := at + bit/8
		set := func(b byte) {
			if _, err := f.WriteAt([]byte{b}, int64(place)); err != nil {
				t.Fatal(err)
			}
		}
		set(raw[place] ^ 1<<(bit%8))
		n := accepted[len(accepted)-1]
		switch err := checked(t, path); {
		case err == nil:
			n++
		case !fault.Is(err, fault.CodeImprintPayloadMismatch):
			t.Errorf("bit %d: %v", bit, err)
		}
		accepted = append(accepted, n)
		set(raw[place])
	}
	return accepted
}

func checked(t *testing.T, path string) error {
	u, err := imprint.Open(path)
	if err != nil {
		return err
	}
	defer u.Close()
	return u.CheckIntegrity(t.Context())
}

// flipAll gives the outcome of every flip by llama.cpp alone.
func flipAll(t *testing.T, bits []int) (got []string) {
	t.Helper()
	for len(got) < len(bits) {
		ctx, cancel := context.WithTimeout(t.Context(), flipTimeout)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFlippedStates$")
		cmd.Env = append(os.Environ(), flipsEnv+"="+strconv.Itoa(len(got)))
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		began, before := false, len(got)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch outcome := lines.Text(); {
			case outcome == "ready":
				began = true
			case slices.Contains(outcomes(), outcome):
				got = append(got, outcome)
			}
		}
		err = cmd.Wait()
		cancel()
		if !began {
			t.Fatalf("the process that flips bits didn't start: %v\n%s", err, &problems)
		}
		if len(got) < len(bits) {
			got = append(got, flipCrash)
			words := strings.Fields(problems.String())
			t.Logf("bit %d: %v: %s", bits[len(got)-1], err, strings.Join(words[:min(len(words), 20)], " "))
		}
		if len(got) == before {
			t.Fatal("nothing was flipped")
		}
	}
	return got
}

func flipPrefix() []inference.Token {
	tokens := make([]inference.Token, flipTokens)
	for i := range tokens {
		tokens[i] = inference.Token((i*37 + 11) % 128)
	}
	return tokens
}

func flipSession(t *testing.T, m inference.Model) inference.Session {
	t.Helper()
	p := params()
	p.ContextTokens = 2 * flipTokens
	s, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func flipState(t *testing.T, m inference.Model) sealed.State {
	t.Helper()
	s := flipSession(t, m)
	defer s.Close()
	if err := s.Decode(t.Context(), inference.Batch{Tokens: flipPrefix()}); err != nil {
		t.Fatal(err)
	}
	state, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// flipping is the process that may die: it prints the outcome of each flip, a line each.
func flipping(t *testing.T, from string) {
	first, err := strconv.Atoi(from)
	if err != nil {
		t.Fatal(err)
	}
	m := zoo(t, "llama")
	state := flipState(t, m)
	want, outcome := flipScoresOf(t, m, state)
	if outcome != "" {
		t.Fatalf("undamaged: %s", outcome)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: flipMemory, Max: flipMemory}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	bits, _ := flips(len(state.Bytes()))
	for _, bit := range bits[first:] {
		raw := bytes.Clone(state.Bytes())
		raw[bit/8] ^= 1 << (bit % 8)
		got, outcome := flipScoresOf(t, m, sealed.Fresh(raw, state.Tokens()))
		if outcome == "" {
			outcome = compareScores(got, want)
		}
		fmt.Println(outcome)
	}
}

// flipScoresOf restores a state into a new session, and gives the scores after one token more; or says why there are none.
func flipScoresOf(t *testing.T, m inference.Model, state sealed.State) (scores []float32, outcome string) {
	s := flipSession(t, m)
	defer s.Close()
	switch err := s.RestoreState(t.Context(), state); {
	case err == nil:
	case strings.Contains(err.Error(), "took 0 of"):
		return nil, flipRefused
	default: // this is edge's adapter, which looks at what the engine did
		return nil, flipNoticed
	}
	if err := s.Decode(t.Context(), inference.Batch{Tokens: []inference.Token{7}}); err != nil {
		return nil, flipUnfit
	}
	return slices.Clone(s.Logits()), ""
}

func compareScores(got, want []float32) string {
	best := func(scores []float32) int { return slices.Index(scores, slices.Max(scores)) }
	switch {
	case slices.ContainsFunc(got, func(v float32) bool { return math.IsNaN(float64(v)) }):
		return flipNaN
	case slices.Equal(got, want):
		return flipSame
	case best(got) != best(want):
		return flipToken
	}
	return flipScores
}
