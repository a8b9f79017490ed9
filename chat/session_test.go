package chat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"edge/chat"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// TestALongConversationKeepsItsState: the session is made larger several times, and what the model says is what one
// session with room for all of it would have said, decoded with the same split points.
func TestALongConversationKeepsItsState(t *testing.T) {
	b := newBench(t, fake.Options{})
	b.cfg.MaxTokens = 60
	c := b.open()
	const turns = 14
	var got []string
	for i := range turns {
		turn := c.ask(fmt.Sprintf("This is request number %d, and it says %s", i, strings.Repeat("quite a lot ", 3*i)))
		got = append(got, turn.Answer)
		if i > 0 && turn.Usage.PrefilledTokens > 60+40*i {
			t.Errorf("turn %d decoded %d tokens: what was decoded before was lost", i, turn.Usage.PrefilledTokens)
		}
	}
	if s := b.engine.Stats(); s.Restores < 2 {
		t.Errorf("the session was made larger %d times: this test needs a longer conversation", s.Restores)
	}

	w := b.cfg.World
	p := w.Params
	p.ContextTokens = 30000
	session, err := w.Model.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	messages, _ := learn.Contract(nil, learn.Profile{}, nil)
	prefix, err := w.Renderer.Prefix(messages)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(tokens []inference.Token, err error) {
		if err == nil {
			err = session.Decode(t.Context(), inference.Batch{Tokens: tokens})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	decode(prefix, nil)
	replier := learn.NewReplier(w, nil, nil)
	for i := range turns {
		messages = append(messages, chattemplate.Message{Role: chattemplate.User, Content: fmt.Sprintf("This is request number %d, and it says %s", i, strings.Repeat("quite a lot ", 3*i))})
		if i == 0 {
			decode(w.Suffix(messages, prefix))
		} else {
			decode(w.Renderer.After(messages, len(messages)-2))
		}
		out, err := replier.Write(t.Context(), session, replier.Answer(), learn.Drawing{MaxTokens: 60})
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSpace(out.Text); got[i] != want {
			t.Fatalf("turn %d: got %q, want %q", i, got[i], want)
		}
		messages = append(messages, chattemplate.Message{Role: chattemplate.Assistant, Content: out.Text})
	}
}

// TestContextFull: nothing is decoded for a prompt that doesn't fit, also in mid-conversation, and the next one works.
func TestContextFull(t *testing.T) {
	long := strings.Repeat("far too long ", 1000)
	for name, set := range map[string]bool{"imprint": true, "prompt": false} {
		t.Run(name, func(t *testing.T) {
			options := script(fake.Reply{When: "hello", Say: "Hi there!"})
			options.ContextLength = 1500
			b := newBench(t, options).with(shop(t))
			if set {
				b.from(b.learned(&learn.Sample{}, nil))
			}
			c := b.open()
			for _, when := range []string{"at first", "then"} {
				before := b.engine.Stats()
				_, err := c.Ask(t.Context(), long)
				if !fault.Is(err, fault.CodeContextFull) || !strings.Contains(err.Error(), "1500") {
					t.Errorf("%s: got %v", when, err)
				}
				if s := b.engine.Stats(); s.DecodedTokens != before.DecodedTokens {
					t.Errorf("%s: %d tokens were decoded", when, s.DecodedTokens-before.DecodedTokens)
				}
				turn := c.ask("hello")
				if turn.Answer != "Hi there!" {
					t.Errorf("%s: got %+v", when, turn)
				}
			}
		})
	}
}

// TestTheToolsAreNeverShiftedAway is A41: a conversation that fills the context ends in context_full, with the contract
// still where it was.
func TestTheToolsAreNeverShiftedAway(t *testing.T) {
	options := script(fake.Reply{Say: "Yes, and here is some more of what I have to say about it."})
	options.ContextLength = 1200
	heard := &said{}
	options.Script = heard.listen(options.Script)
	b := newBench(t, options).with(shop(t))
	c := b.open()
	var err error
	for i := 0; i < 50 && err == nil; i++ {
		_, err = c.Ask(t.Context(), fmt.Sprintf("Tell me about number %d, please", i))
		if !strings.Contains(heard.history, `"calculate_fee"`) || !strings.Contains(heard.history, "about number 0,") {
			t.Fatalf("turn %d: the beginning is gone: %s", i, heard.history)
		}
	}
	if !fault.Is(err, fault.CodeContextFull) {
		t.Errorf("got %v", err)
	}
}

// TestACancelledTurnIsntPartOfTheConversation wherever the cancellation comes.
func TestACancelledTurnIsntPartOfTheConversation(t *testing.T) {
	replies := []fake.Reply{
		{When: "Tool result", Say: "It is 0.75."}, {When: "fee", Say: feeCall(5)}, {When: "hello", Say: "Hi there!"}, {When: "who", Say: "Ada."},
	}
	steps := func() int { // decode calls of the turn that will be cancelled
		b := newBench(t, script(replies...)).with(shop(t))
		c := b.open()
		c.ask("hello")
		before := b.engine.Stats().DecodeCalls
		c.ask("the fee")
		return b.engine.Stats().DecodeCalls - before
	}()
	for step := 1; step <= steps; step += 9 {
		heard := &said{}
		ctx, cancel := context.WithCancel(t.Context())
		at := 0
		options := fake.Options{Script: heard.listen(fake.Replies(replies...)), Faults: fake.Faults{BeforeDecode: func(call int) {
			if call == at {
				cancel()
			}
		}}}
		b := newBench(t, options).with(shop(t))
		c := b.open()
		c.ask("hello")
		at = b.engine.Stats().DecodeCalls + step
		if _, err := c.Ask(ctx, "the fee"); !errors.Is(err, context.Canceled) {
			t.Fatalf("step %d: got %v", step, err)
		}
		turn := c.ask("who?")
		if turn.Answer != "Ada." || strings.Contains(heard.history, "the fee") || !strings.Contains(heard.history, "hello<|im_end|>\n<|im_start|>assistant\nHi there!<|im_end|>\n<|im_start|>user\nwho?") {
			t.Errorf("step %d: %+v after %s", step, turn, heard.history)
		}
	}
}

// TestCancelledWhileAToolRuns: the runner ends the tool, and the turn is cancelled and not failed.
func TestCancelledWhileAToolRuns(t *testing.T) {
	b := newBench(t, script(fake.Reply{When: "fee", Say: feeCall(5)}, fake.Reply{Say: "Fine."})).with(shop(t))
	ctx, cancel := context.WithCancel(t.Context())
	b.hands.functions["calculate_fee"] = func(string) (string, error) {
		cancel()
		return "", fault.New(fault.CodeCancelled, "cancelled")
	}
	c := b.open()
	if _, err := c.Ask(ctx, "the fee"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if turn := c.ask("ok?"); turn.Answer != "Fine." {
		t.Errorf("then: %+v", turn)
	}
}

// TestAnEngineThatFails: the turn is an error, and the next one begins anew from the imprint, or from the contract.
func TestAnEngineThatFails(t *testing.T) {
	for _, restored := range []bool{true, false} {
		t.Run(fmt.Sprintf("restored %t", restored), func(t *testing.T) {
			replies := []fake.Reply{{When: "hello", Say: "Hi there!"}, {When: "who", Say: "Ada."}, {When: "count", Say: "one two three"}}
			path := ""
			if restored {
				path = newBench(t, script(replies...)).with(shop(t)).learned(&learn.Sample{}, nil)
			}
			open := func(faults fake.Faults, heard *said) (*bench, *opened) {
				b := newBench(t, fake.Options{Script: heard.listen(fake.Replies(replies...)), Faults: faults}).with(shop(t))
				if restored {
					b.from(path)
				}
				return b, b.open()
			}
			b, c := open(fake.Faults{}, &said{})
			c.ask("hello")
			next := b.engine.Stats().DecodeCalls + 1
			heard := &said{}
			b, c = open(fake.Faults{DecodeCall: next}, heard)
			first := c.ask("hello")
			if _, err := c.Ask(t.Context(), "count"); !fault.Is(err, fault.CodeEngineDecodeFailed) {
				t.Fatalf("got %v", err)
			}
			turn := c.ask("who?")
			if turn.Answer != "Ada." || strings.Contains(heard.history, "count") || !strings.Contains(heard.history, "Hi there!") {
				t.Errorf("then: %+v after %s", turn, heard.history)
			}
			wantCached := 0
			if restored {
				wantCached = first.Usage.Cached()
			}
			if turn.Usage.Cached() != wantCached {
				t.Errorf("the new session: %+v, the first: %+v", turn.Usage, first.Usage)
			}
		})
	}
}

func TestUsageOfARestoredChat(t *testing.T) {
	b := newBench(t, script(fake.Reply{When: "hello", Say: "Hi there!"})).with(shop(t))
	path := b.learned(&learn.Sample{Profile: learn.Profile{System: "You bill."}}, nil)
	baked := b.engine.Stats()
	b.from(path)
	c := b.open()
	if s := b.engine.Stats(); s.DecodedTokens != baked.DecodedTokens || s.Restores != baked.Restores+1 {
		t.Errorf("opening decoded %d tokens and restored %d times", s.DecodedTokens-baked.DecodedTokens, s.Restores-baked.Restores)
	}
	report := c.Imprint()
	if c.Mode() != chat.ModeImprint || report == nil || !report.Restored || report.ID != b.cfg.Imprint.ID().String() || report.BytesRead <= 0 {
		t.Errorf("got %+v", report)
	}
	turn := c.ask("hello")
	if turn.Mode != chat.ModeImprint || turn.Imprint.Tokens != report.Tokens || turn.Usage.Cached() != report.Tokens || turn.Usage.PrefilledTokens > 60 {
		t.Errorf("got %+v with %+v", turn.Usage, turn.Imprint)
	}
}

// TestARestoredChatSaysWhatALiveOneSays, to the letter: the state is the same and so are the split points.
func TestARestoredChatSaysWhatALiveOneSays(t *testing.T) {
	sample := &learn.Sample{}
	restored := newBench(t, fake.Options{}).with(shop(t))
	restored.from(restored.learned(sample, nil))
	live := newBench(t, fake.Options{}).with(shop(t))
	r, l := restored.open(), live.open()
	for _, prompt := range []string{"hello", "tell me more", "and more"} {
		a, b := r.ask(prompt), l.ask(prompt)
		if a.Answer != b.Answer || len(a.ToolCalls) != len(b.ToolCalls) {
			t.Errorf("%s: restored %q, live %q", prompt, a.Answer, b.Answer)
		}
	}
}

// TestTwoChatsFromOneImprintKnowNothingOfEachOther is A45.
func TestTwoChatsFromOneImprintKnowNothingOfEachOther(t *testing.T) {
	heard := &said{}
	b := newBench(t, fake.Options{Script: heard.listen(fake.Replies(fake.Reply{Say: "Fine."}))}).with(shop(t))
	path := b.learned(&learn.Sample{}, nil)
	b.from(path).open().ask("my PIN is 4711")
	b.from(path).open().ask("hello")
	if strings.Contains(heard.history, "4711") {
		t.Errorf("the second chat knows: %s", heard.history)
	}
}

// TestTheHeadChooses: with an imprint that has a head, a request gets the chosen tool's call with its own values, and
// one call is all.
func TestTheHeadChooses(t *testing.T) {
	b := newBench(t, fake.Options{}).with(shop(t))
	b.from(b.learned(&learn.Sample{Examples: examples()}, nil))
	c := b.open()
	turn := c.ask("Status of order Z-9")
	if len(turn.ToolCalls) != 1 || turn.ToolCalls[0].ToolName != "order_status" || string(turn.ToolCalls[0].Arguments) != `{"order_id":"Z-9"}` {
		t.Errorf("got %+v", turn.ToolCalls)
	}
	if s := turn.Selection; s == nil || s.Tool == nil || *s.Tool != "order_status" || s.Score <= 0 {
		t.Errorf("selection: %+v", s)
	}
	if turn.Usage.ForcedTokens == 0 {
		t.Errorf("what is certain is decoded at once: %+v", turn.Usage)
	}
	turn = c.ask("Thanks, goodbye")
	if len(turn.ToolCalls) != 0 || turn.Selection == nil || turn.Selection.Tool != nil {
		t.Errorf("got %+v with %+v", turn.ToolCalls, turn.Selection)
	}
}

// TestTheHeadLooksAtTheRequestAlone, whatever was said before it: earlier turns that are decoded again, the words that
// end a failed or pending call, a result.
func TestTheHeadLooksAtTheRequestAlone(t *testing.T) {
	commit := direct("order_status", tools.Commit)
	for name, last := range map[string]tools.Tool{"after an answer that was replaced": orderTool(), "after a pending action": commit} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fake.Options{}).with(freeze(t, feeTool(), last))
			b.from(b.learned(&learn.Sample{Examples: examples()}, nil))
			alone := map[string]*chat.Selection{}
			requests := []string{"Thanks, goodbye", "What is the fee for 250?", "Status of order 555"}
			for _, request := range requests {
				alone[request] = b.open().ask(request).Selection
			}
			c := b.open()
			c.ask("Where is order A-17? I want to know the status of order A-17, where is it?")
			for _, request := range requests {
				got, want := c.ask(request).Selection, alone[request]
				if (got.Tool == nil) != (want.Tool == nil) || got.Tool != nil && *got.Tool != *want.Tool {
					t.Errorf("%s: got %+v, alone %+v", request, got, want)
				}
			}
		})
	}
}

func TestTemperatureAndSeed(t *testing.T) {
	say := func(temperature float64, seed uint64) string {
		b := newBench(t, fake.Options{})
		b.cfg.Temperature, b.cfg.Seed, b.cfg.MaxTokens = temperature, seed, 40
		c := b.open()
		return c.ask("hello").Answer + "|" + c.ask("and").Answer
	}
	if a, b := say(0, 1), say(0, 2); a != b {
		t.Errorf("greedy: %q and %q", a, b)
	}
	if a, b := say(0.9, 1), say(0.9, 1); a != b {
		t.Errorf("one seed: %q and %q", a, b)
	}
	if a, b := say(0.9, 1), say(0.9, 2); a == b {
		t.Errorf("two seeds: %q twice", a)
	}
}

func TestCloseMoreThanOnce(t *testing.T) {
	b := newBench(t, script(fake.Reply{Say: "Fine."})).with(shop(t))
	b.from(b.learned(&learn.Sample{}, nil))
	c := b.open()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := b.engine.Stats().OpenSessions; n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

// TestProgressOfTheContract is heard where the contract is decoded in front of the user.
func TestProgressOfTheContract(t *testing.T) {
	b := newBench(t, script(fake.Reply{Say: "Fine."})).with(shop(t))
	var heard []int
	b.cfg.Progress = func(done, total int) { heard = append(heard, done, total) }
	b.open().ask("hello")
	if n := len(heard); n < 4 || heard[n-2] != heard[n-1] || !slices.IsSorted(heard[:2]) {
		t.Errorf("heard %v", heard)
	}
}
