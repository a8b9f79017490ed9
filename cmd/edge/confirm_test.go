package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/internal/fault"
)

const payHead = fileHead + `CLOSED = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}

@edge_tool(execution_level="commit", return_direct=True, output_schema=CLOSED)
def pay(amount: int, to: str) -> dict:
    "d"
    with open(os.path.join(os.path.dirname(__file__), "paid"), "a") as f:
        f.write("x")
`

const payTools = payHead + "    return {'ok': True}\n"

func (p place) paid() int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "paid"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return len(text)
}

// offer makes a pending action of pay.
func (p place) offer(arguments string) called {
	p.t.Helper()
	r := p.edge("tools", "call", "pay.py", "pay", "--args", arguments, "--json")
	c := p.object(r)
	if r.status != 0 || c.PendingAction.Token == "" {
		p.t.Fatalf("status %d: %s", r.status, r.stdout)
	}
	return c
}

// confirmRounds says how many rounds 32 whole commands race; the race of the store alone is in package tools.
const confirmRounds = "EDGE_CONFIRM_ROUNDS"

func TestConfirmRace(t *testing.T) {
	const racers = 32
	rounds := 1
	if text := os.Getenv(confirmRounds); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t)
	p.write("pay.py", payTools)
	began := time.Now()
	late := 0
	for round := range rounds {
		action := p.offer(`{"amount":5,"to":"Ann"}`).PendingAction
		confirms := make([]*exec.Cmd, racers)
		var started, all sync.WaitGroup
		started.Add(1)
		for i := range confirms {
			cmd := p.command("tools", "confirm", action.Path, "--token", action.Token, "--json")
			confirms[i] = cmd
			all.Go(func() {
				started.Wait()
				cmd.Run()
			})
		}
		started.Done()
		all.Wait()
		won := 0
		for _, cmd := range confirms {
			switch status := cmd.ProcessState.ExitCode(); status {
			case 0:
				won++
			case fault.Confirm.Exit():
				late++
			default:
				t.Errorf("round %d: exit status %d", round, status)
			}
		}
		if paid := p.paid(); won != 1 || paid != round+1 {
			t.Fatalf("round %d: %d confirmed, and %d payments in all; want 1 and %d", round, won, paid, round+1)
		}
	}
	t.Logf("%d commands × %d rounds: one execution each, %d refused, in %.0f s", racers, rounds, late, time.Since(began).Seconds())
	// Each of them left a receipt, in one chain.
	if r := p.edge("receipts", "verify", "--json"); r.status != 0 {
		t.Errorf("receipts: status %d: %s", r.status, r.stdout)
	}
}

// What a person confirms is what is shown: every argument, whole, with nothing hidden in it.
func TestConfirmShowsTheArguments(t *testing.T) {
	p := newPlace(t)
	p.write("pay.py", payTools)
	long := strings.Repeat("very ", 2000) + "long"
	action := p.offer(fmt.Sprintf(`{"amount":5,"to":"Ann\u202e\u200b\u001b[2J %s"}`, long)).PendingAction
	r := p.edge("tools", "confirm", action.Path, "--token", action.Token)
	if r.status != 0 || p.paid() != 1 {
		t.Fatalf("status %d, paid %d times: %s", r.status, p.paid(), r.stderr)
	}
	for _, want := range []string{"confirmed: pay\n", "\n  amount = 5\n", `  to = "Ann\u{202E}\u{200B}\u001b[2J ` + long + "\"\n"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("%.80q isn't shown in %.300q", want, r.stderr)
		}
	}
}

// Between offer and confirmation nothing that was bound may change.
func TestConfirmIsBound(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p place, action called)
		want   fault.Code
	}{
		{"the file is edited", func(p place, _ called) { p.write("pay.py", payTools+"#\n") }, fault.CodeToolsFileChanged},
		{"the file is broken", func(p place, _ called) { p.write("pay.py", "def (") }, fault.CodeToolsFileChanged},
		{"the file is gone", func(p place, _ called) { os.Remove(filepath.Join(p.dir, "pay.py")) }, fault.CodeToolsFileChanged},
		{"a link to another file takes its place", func(p place, _ called) {
			os.Remove(filepath.Join(p.dir, "pay.py"))
			os.Symlink(p.write("other.py", payTools+"#\n"), filepath.Join(p.dir, "pay.py"))
		}, fault.CodeToolsFileChanged},
		{"arguments are swapped", func(p place, a called) {
			text, err := os.ReadFile(a.PendingAction.Path)
			if err != nil {
				p.t.Fatal(err)
			}
			if err := os.WriteFile(a.PendingAction.Path, []byte(strings.Replace(string(text), `"amount":5`, `"amount":500`, 1)), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}, fault.CodeConfirmationBindingMismatch},
		{"the file is saved again as it was", func(p place, _ called) { p.write("pay.py", payTools) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("pay.py", payTools)
			action := p.offer(`{"amount":5,"to":"Ann"}`)
			c.change(p, action)
			r := p.edge("tools", "confirm", action.PendingAction.Path, "--token", action.PendingAction.Token, "--json")
			want := 0
			if c.want == "" {
				want = 1
			}
			if got := p.object(r); got.Error.Code != c.want || r.status != exitOf(c.want) || p.paid() != want {
				t.Errorf("got %q, status %d, paid %d times; want %q\n%s", got.Error.Code, r.status, p.paid(), c.want, r.stdout)
			}
		})
	}
}
