package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"edge/chat"
	"edge/internal/digest"
	"edge/tools"
)

const terminalHelp = "/tools lists the tools, /receipt names the last receipt, /quit ends. Ctrl-C stops an answer."

// chatTerminal reads prompts line by line until /quit or the end of input. Answers stream; Ctrl-C stops the one that is
// being written and keeps the conversation.
func (a *app) chatTerminal(ctx context.Context, f chatFlags, first *record) error {
	var stop atomic.Bool
	streamed := false
	progress, done := a.prefixProgress()
	c, err := a.converse(ctx, f, first, chat.Config{
		Progress: progress,
		GoesOn:   true,
		Stop:     stop.Load,
		OnText: func(text string) {
			if !streamed {
				done() // the meter makes way for the answer
			}
			streamed = true
			fmt.Fprint(a.out, plain(text))
		},
	})
	if err != nil {
		return err
	}
	defer c.close()
	first.written = true // each turn leaves a receipt of its own
	interrupts, deaf := a.interrupts()
	defer deaf()

	a.notify(fmt.Sprintf("%s, %s. %s", c.world.File.Name, greeting(c), terminalHelp))
	last := ""
	ended := make(chan struct{})
	defer close(ended)
	lines := readLines(a.in, ended)
	for {
		fmt.Fprint(a.err, "> ")
		line, ok := nextLine(lines, interrupts)
		if !ok {
			a.notify("")
			return nil
		}
		switch prompt := strings.TrimSpace(line); {
		case prompt == "":
			continue
		case prompt == "/quit":
			return nil
		case prompt == "/receipt":
			a.notify("  receipt  " + last)
			continue
		case prompt == "/tools":
			a.sayTools(c)
			continue
		case strings.HasPrefix(prompt, "/"):
			a.notify("  there is no " + strings.Fields(prompt)[0] + ". " + terminalHelp)
			continue
		default:
			stop.Store(false)
			streamed = false
			finished := make(chan struct{})
			go func() {
				select {
				case <-interrupts:
					stop.Store(true)
				case <-finished:
				}
			}()
			var turn *chat.Turn
			turnCtx := a.lasting(ctx)
			err := a.compute(turnCtx, func() (err error) { turn, err = c.Ask(turnCtx, prompt); return err })
			close(finished)
			done()
			if last, err = a.endTurn(c, first, prompt, turn, err, streamed); err != nil {
				return err
			}
		}
	}
}

// endTurn shows what a turn came to and writes its receipt. An error of the turn is shown and the chat goes on.
func (a *app) endTurn(c *conversation, first *record, prompt string, turn *chat.Turn, failed error, streamed bool) (receipt string, err error) {
	r := &record{app: a, kind: "chat", body: map[string]any{}}
	for _, name := range []string{"imprint_id", "tools_file_sha256", "active_set_sha256", "schema_generator_version", "model", "engine", "served"} {
		if value, ok := first.body[name]; ok {
			r.set(name, value)
		}
	}
	r.set("prompt_sha256", digest.SHA256Of([]byte(prompt)))
	if failed != nil {
		a.json = false
		a.fail(failed)
		path, _, err := r.write(failed)
		return path, err
	}
	turn.Timings.LoadMS = c.loadMS
	r.turn(turn)
	if streamed && turn.AnswerSource == chat.FromModel {
		a.say("")
	} else {
		a.say("%s", plain(turn.Answer))
	}
	a.sayHow(turn)
	path, _, err := r.write(nil)
	return path, err
}

func greeting(c *conversation) string {
	text := "no tools"
	if c.tools.set != nil {
		text = fmt.Sprintf("%d tools", len(c.tools.set.Names()))
	}
	if r := c.Imprint(); r != nil {
		text += fmt.Sprintf(", imprint of %d tokens restored in %.0f ms", r.Tokens, r.RestoreMS)
	}
	return text
}

func (a *app) sayTools(c *conversation) {
	if c.tools.set == nil {
		a.notify("  no tools are active; start with --tools FILE")
		return
	}
	for _, t := range c.tools.set.Tools() {
		a.notify(fmt.Sprintf("  %-20s %-8s %s", t.Name, t.ExecutionLevel, tools.EscapeForDisplay(t.Description)))
	}
}

// readLines reads in the background, so that an interrupt is heard while nothing is typed.
func readLines(in io.Reader, ended <-chan struct{}) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				select {
				case lines <- line:
				case <-ended:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// nextLine waits for a line; an interrupt at the prompt ends the chat.
func nextLine(lines <-chan string, interrupts <-chan os.Signal) (string, bool) {
	select {
	case line, ok := <-lines:
		return line, ok
	case <-interrupts:
		return "", false
	}
}
