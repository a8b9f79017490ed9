package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestWaitingIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		terminal bool
		ticks    int
		want     string
	}{
		"at once":                {false, 0, ""},
		"at once, on a terminal": {true, 0, ""},
		"plain":                  {false, 2, "loading m: 3s so far\nloading m: 6s so far\n"},
		"terminal":               {true, 2, clearLine + "loading m: 3s so far" + clearLine + "loading m: 6s so far" + clearLine},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{err: &out, terminal: test.terminal}
			done, tick, ended := make(chan struct{}), make(chan time.Time), make(chan struct{})
			began := time.Unix(100, 0)
			go func() {
				defer close(ended)
				a.sayWaiting("loading m", began, done, tick)
			}()
			for i := range test.ticks {
				tick <- began.Add(time.Duration(i+1) * 3 * time.Second)
			}
			close(done)
			<-ended
			if out.String() != test.want {
				t.Errorf("got %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestAMetersLine(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out}
	m := a.meter("reading the tools", "tokens", false)
	m.Start(400)
	m.began, m.last = m.began.Add(-10*time.Second), m.last.Add(-10*time.Second)
	m.set(100)
	if line := out.String(); !strings.HasPrefix(line, "reading the tools: 100 of 400 tokens, 10.0 tokens/s, ") || !strings.HasSuffix(line, " left\n") {
		t.Errorf("got %q", line)
	}
}
