package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"edge/models/fetch"
)

// meter shows how a long step goes on: a bar with rate and time left on a terminal, and a plain line every few seconds
// elsewhere, so that a log stays readable.
type meter struct {
	w     io.Writer
	label string
	unit  string
	bytes bool
	bar   *progressbar.ProgressBar // nil: plain lines
	total int64
	done  int64
	began time.Time
	last  time.Time
}

const (
	plainEvery = 3 * time.Second
	// waitEvery is how often a terminal sees that something without a measure goes on.
	waitEvery = time.Second
)

// waitFor says what is waited for, and for how long already, until done is closed. What is there at once isn't mentioned.
func (a *app) waitFor(what string, done <-chan struct{}) {
	every := plainEvery
	if a.terminal {
		every = waitEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	a.sayWaiting(what, time.Now(), done, tick.C)
}

func (a *app) sayWaiting(what string, began time.Time, done <-chan struct{}, tick <-chan time.Time) {
	shown := false
	for {
		select {
		case <-done:
			if shown && a.terminal {
				fmt.Fprint(a.err, clearLine)
			}
			return
		case now := <-tick:
			text := fmt.Sprintf("%s: %s so far", what, now.Sub(began).Round(time.Second))
			if shown = true; a.terminal {
				fmt.Fprint(a.err, clearLine+text)
			} else {
				fmt.Fprintln(a.err, text)
			}
		}
	}
}

const clearLine = "\r\x1b[K"

func (a *app) meter(label, unit string, bytes bool) *meter {
	m := &meter{w: a.err, label: label, unit: unit, bytes: bytes, began: time.Now(), last: time.Now()}
	if a.terminal {
		m.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(label), progressbar.OptionShowBytes(bytes),
			progressbar.OptionSetItsString(unit), progressbar.OptionShowIts(), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return m
}

// transfer is a meter for models.Store.
func (a *app) transfer(label string) fetch.Progress { return a.meter(label, "B", true) }

// Start implements fetch.Progress.
func (m *meter) Start(total int64) {
	m.total, m.done, m.began, m.last = total, 0, time.Now(), time.Now()
	if m.bar != nil {
		m.bar.Reset()
		m.bar.ChangeMax64(max(total, -1))
	}
}

// Add implements fetch.Progress.
func (m *meter) Add(n int64) { m.set(m.done + n) }

func (m *meter) set(done int64) {
	step := done - m.done
	m.done = done
	if m.bar != nil {
		m.bar.Add64(step)
		return
	}
	if now := time.Now(); now.Sub(m.last) >= plainEvery && (m.total <= 0 || done < m.total) { // the end has its own line
		m.last = now
		fmt.Fprintln(m.w, m.line())
	}
}

// line is "reading the tools: 512 of 1813 tokens, 148 tokens/s, 9s left".
func (m *meter) line() string {
	rate := float64(m.done) / max(time.Since(m.began).Seconds(), 1e-3)
	text := m.label + ": " + m.amount(float64(m.done))
	if m.total > 0 {
		text = m.label + ": " + strings.TrimSuffix(m.amount(float64(m.done)), " "+m.unit) + " of " + m.amount(float64(m.total))
	}
	text += fmt.Sprintf(", %s/s", m.amount(rate))
	if m.total > m.done && rate > 0 {
		text += fmt.Sprintf(", %s left", (time.Duration(float64(m.total-m.done)/rate) * time.Second).Round(time.Second))
	}
	return text
}

func (m *meter) amount(n float64) string {
	if !m.bytes {
		digits := 0
		if n < 10 && n != math.Trunc(n) {
			digits = 1
		}
		return strconv.FormatFloat(n, 'f', digits, 64) + " " + m.unit
	}
	for _, unit := range []string{"B", "kB", "MB"} {
		if n < 1000 {
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.1f GB", n)
}

// Done implements fetch.Progress.
func (m *meter) Done() {
	if m.bar != nil {
		m.bar.Finish()
	}
}
