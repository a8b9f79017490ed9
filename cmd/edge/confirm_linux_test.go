package main

import (
	"strings"
	"testing"

	"edge/internal/fault"
)

// A crash between claim and end leaves the action claimed, and the message says so; so does a tool that fails.
func TestConfirmAfterACutOff(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		then       string
	}{
		{"killed with its command", "    os.kill(EDGE, 9)\n    import time; time.sleep(60)\n", -1, "it hasn't recorded an end: it is running, or was cut off"},
		{"raised", "    raise ValueError('secret-4711')\n", fault.Tool.Exit(), "it ended at "},
		{"ended its process", "    os._exit(3)\n", fault.Tool.Exit(), "it ended at "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			// The supervisor's parent is edge itself.
			p.write("pay.py", strings.Replace(payHead, "    with open", "    EDGE = int(open('/proc/%d/stat' % os.getppid()).read().rsplit(')', 1)[1].split()[1])\n    with open", 1)+c.body)
			action := p.offer(`{"amount":5,"to":"Ann"}`).PendingAction
			r := p.edge("tools", "confirm", action.Path, "--token", action.Token, "--json")
			if r.status != c.status || p.paid() != 1 || strings.Contains(r.stdout, "4711") {
				t.Fatalf("status %d, paid %d times: %s%s", r.status, p.paid(), r.stdout, r.stderr)
			}
			r = p.edge("tools", "confirm", action.Path, "--token", action.Token)
			if r.status != fault.Confirm.Exit() || p.paid() != 1 || !strings.Contains(r.stderr, c.then) || !strings.Contains(r.stderr, "[confirmation_already_claimed]") {
				t.Errorf("again: status %d, paid %d times: %s", r.status, p.paid(), r.stderr)
			}
		})
	}
}
