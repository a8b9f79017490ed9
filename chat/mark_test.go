package chat_test

import (
	"strings"
	"testing"

	"edge/inference/fake"
)

// A reply that is taken back costs only its own turn: the next prompt doesn't decode the whole conversation again, and
// the model reads what stayed in it.
func TestATakenBackReplyCostsOnlyItsTurn(t *testing.T) {
	prefilled := func(goesOn bool) (third int, history string) {
		heard := &said{}
		b := newBench(t, fake.Options{Script: heard.listen(fake.Replies(
			fake.Reply{When: "hello", Say: strings.Repeat("Good day to you. ", 20)},
			fake.Reply{When: "Tool result", Say: "The fee is 99."},
			fake.Reply{When: "fee", Say: `{"tool_name":"calculate_fee","arguments":{"amount":250}}`},
			fake.Reply{When: "thanks", Say: "Fine."},
		))}).with(shop(t))
		b.cfg.GoesOn = goesOn
		c := b.open()
		c.ask("hello")
		if got := c.ask("fee of 250?"); got.AnswerSource != "result" {
			t.Fatalf("the reply wasn't taken back: %+v", got)
		}
		turn := c.ask("thanks")
		if turn.Answer != "Fine." {
			t.Fatalf("got %q", turn.Answer)
		}
		return turn.Usage.PrefilledTokens, heard.history
	}
	kept, keptHistory := prefilled(true)
	lost, lostHistory := prefilled(false)
	if kept >= lost/2 {
		t.Errorf("with a mark %d tokens were decoded, without one %d", kept, lost)
	}
	if keptHistory != lostHistory || strings.Contains(keptHistory, "99") {
		t.Errorf("the model read\n%s\nwith a mark, and without\n%s", keptHistory, lostHistory)
	}
}
