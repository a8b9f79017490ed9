package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"edge/chat"
	"edge/inference"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
	"edge/tools"
)

// functionTool is a tool as one of edgestudio.agents arrives.
func functionTool(name string) tools.Tool {
	t := orderTool()
	t.Name, t.Surface = name, tools.FromFunction
	t.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["output"],"properties":{"output":{"type":"string"}}}`)
	return t
}

func callOf(tool, id string) string {
	return `{"tool_name":"` + tool + `","arguments":{"order_id":"` + id + `"}}`
}

func ranTools(h *hands) string {
	var names []string
	for _, c := range h.calls {
		names = append(names, c[:strings.IndexByte(c, '{')])
	}
	return strings.Join(names, " ")
}

func TestToolChoice(t *testing.T) {
	willing := script(fake.Reply{When: "Tool result", Say: "It is shipped as A-17."}, fake.Reply{Say: "Hello!"}, fake.Reply{Say: orderCall("A-17")})
	for _, c := range []struct {
		choice, ran, answer string
	}{
		{"", "", "Hello!"},
		{chat.ChoiceAuto, "", "Hello!"},
		{chat.ChoiceNone, "", "Hello!"},
		{chat.ChoiceRequired, "order_status", "It is shipped as A-17."},
		{"order_status", "order_status", "It is shipped as A-17."},
	} {
		t.Run(c.choice, func(t *testing.T) {
			b := newBench(t, willing).with(shop(t))
			b.cfg.Policy.Choice = c.choice
			turn := b.open().ask("order A-17")
			if turn.Answer != c.answer || ranTools(b.hands) != c.ran || turn.FinishReason != chat.FinishAnswer {
				t.Errorf("ran %q: %+v", b.hands.calls, turn)
			}
		})
	}
}

// TestARequiredChoiceIsResetByTheCall and holds again for the next prompt.
func TestARequiredChoiceIsResetByTheCall(t *testing.T) {
	b := newBench(t, script(fake.Reply{When: "Tool result", Say: "Shipped: A-17."}, fake.Reply{Say: orderCall("A-17")})).with(shop(t))
	b.cfg.Policy.Choice = chat.ChoiceRequired
	o := b.open()
	for i := range 2 {
		if turn := o.ask("order A-17"); turn.Answer != "Shipped: A-17." || turn.Replies != 2 || len(b.hands.calls) != i+1 {
			t.Errorf("ran %q: %+v", b.hands.calls, turn)
		}
	}
}

func TestAChoiceThatIsKeptEndsAtTheCallLimit(t *testing.T) {
	for _, choice := range []string{chat.ChoiceRequired, "calculate_fee"} {
		// Whatever the model would rather say, the grammar asks for a call.
		b := newBench(t, script(fake.Reply{When: "Tool result", Say: "0.75"}, fake.Reply{Say: feeCall(1)})).with(freeze(t, feeTool()))
		b.cfg.Policy = chat.Policy{Choice: choice, KeepChoice: true}
		turn := b.open().ask("go on")
		if turn.FinishReason != chat.FinishCallLimit || len(b.hands.calls) != chat.MaxCalls {
			t.Errorf("%s: ran %q: %+v", choice, b.hands.calls, turn)
		}
	}
}

func TestALearnedHeadAndTheChoice(t *testing.T) {
	replies := script(fake.Reply{When: "Tool result of order_status", Say: "A-17 is shipped."}, fake.Reply{When: "Tool result of calculate_fee", Say: "It is 0.75."}, fake.Reply{Say: "Bye."})
	for _, c := range []struct {
		choice, prompt, ran string
		selected            bool
	}{
		{chat.ChoiceAuto, "Thanks, goodbye", "", true},
		{chat.ChoiceRequired, "Where is order A-17?", "order_status", true},
		{chat.ChoiceRequired, "What is the fee for 250?", "calculate_fee", true},
		{chat.ChoiceNone, "Where is order A-17?", "", false},
		{"order_status", "Where is order A-17?", "order_status", false},
	} {
		b := newBench(t, replies).with(shop(t))
		b.from(b.learned(&learn.Sample{Examples: examples()}, nil))
		b.cfg.Policy.Choice = c.choice
		turn := b.open().ask(c.prompt)
		if ranTools(b.hands) != c.ran || (turn.Selection != nil) != c.selected {
			t.Errorf("%s, %s: ran %q: %+v", c.choice, c.prompt, b.hands.calls, turn)
		}
		if c.choice == chat.ChoiceRequired && (turn.Selection == nil || turn.Selection.Tool == nil || *turn.Selection.Tool != c.ran) {
			t.Errorf("%s: selected %+v", c.prompt, turn.Selection)
		}
	}
}

func TestWhatEndsATurn(t *testing.T) {
	text := "it is decided"
	no := errors.New("no")
	for name, c := range map[string]struct {
		policy         chat.Policy
		answer, source string
		reason         string
		ran            string
	}{
		"run again":   {chat.Policy{}, "Both are shipped.", chat.FromModel, chat.FinishAnswer, "find track"},
		"first":       {chat.Policy{StopAtFirst: true}, "shipped", chat.FromResult, chat.FinishDirect, "find"},
		"a name":      {chat.Policy{StopAt: []string{"track"}}, "shipped", chat.FromResult, chat.FinishDirect, "find track"},
		"both names":  {chat.Policy{StopAt: []string{"track", "find"}}, "shipped", chat.FromResult, chat.FinishDirect, "find"},
		"a function":  {chat.Policy{Decide: decides(runner.Decision{IsFinalOutput: true, FinalOutput: &text}, nil)}, text, chat.FromFunction, chat.FinishDirect, "find"},
		"no text":     {chat.Policy{Decide: decides(runner.Decision{IsFinalOutput: true}, nil)}, "", chat.FromFunction, chat.FinishDirect, "find"},
		"not yet":     {chat.Policy{Decide: decides(runner.Decision{}, nil)}, "Both are shipped.", chat.FromModel, chat.FinishAnswer, "find track"},
		"two replies": {chat.Policy{MaxTurns: 2}, "I stopped without an answer: the limit of replies is reached (2).", chat.FromEdge, chat.FinishTurnLimit, "find track"},
		"none at all": {chat.Policy{MayReply: func() bool { return false }}, "I stopped without an answer: the limit of replies is reached (0).", chat.FromEdge, chat.FinishTurnLimit, ""},
		"an error":    {chat.Policy{Decide: decides(runner.Decision{}, no)}, "", "", "", "find"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fake.Options{Script: func(history []inference.Token) (string, bool) {
				said := fake.Text(history)
				switch {
				case strings.HasSuffix(said, "again<|im_end|>\n<|im_start|>assistant\n"):
					return "Well.", true
				case strings.Contains(said, "Tool result of track"):
					return "Both are shipped.", true
				case strings.Contains(said, "Tool result of find"):
					return callOf("track", "1"), true
				}
				return callOf("find", "1"), true
			}}).with(freeze(t, functionTool("find"), functionTool("track")))
			b.hands.functions = map[string]func(string) (string, error){"find": gives(`{"output":"shipped"}`), "track": gives(`{"output":"shipped"}`)}
			b.cfg.Policy = c.policy
			o := b.open()
			if c.reason == "" {
				if _, err := o.Ask(t.Context(), "find it"); !errors.Is(err, no) {
					t.Errorf("got %v", err)
				}
				return
			}
			turn := o.ask("find it")
			if turn.Answer != c.answer || turn.AnswerSource != c.source || turn.FinishReason != c.reason || ranTools(b.hands) != c.ran {
				t.Errorf("ran %q: %+v", b.hands.calls, turn)
			}
			if c.policy.MayReply == nil {
				o.ask("and again") // the conversation goes on
			}
		})
	}
}

func decides(d runner.Decision, err error) func(context.Context, []runner.Output) (runner.Decision, error) {
	return func(_ context.Context, results []runner.Output) (runner.Decision, error) {
		if len(results) != 1 || results[0].Output != "shipped" {
			return runner.Decision{}, errors.New("not the call's result")
		}
		return d, err
	}
}

func TestPoliciesThatCantBe(t *testing.T) {
	for says, p := range map[string]chat.Policy{
		`"nope", which is no active tool; the active tools are calculate_fee, order_status`: {Choice: "nope"},
		`stop at "nope"`:  {StopAt: []string{"order_status", "nope"}},
		"at most -1 repl": {MaxTurns: -1},
	} {
		b := newBench(t, script(fake.Reply{Say: "x"})).with(shop(t))
		b.cfg.Policy = p
		if _, err := chat.Open(t.Context(), b.cfg); !fault.Is(err, fault.CodeInvalidArguments) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	b := newBench(t, script(fake.Reply{Say: "x"}))
	b.cfg.Policy.Choice = chat.ChoiceRequired
	if _, err := chat.Open(t.Context(), b.cfg); !fault.Is(err, fault.CodeInvalidArguments) || !strings.Contains(err.Error(), "there are no tools") {
		t.Errorf("without tools: %v", err)
	}
}

// tellers fail in words for every order but A-17.
type tellers struct{ *hands }

func (h tellers) Call(ctx context.Context, req runner.CallRequest) (runner.Result, error) {
	out, err := h.hands.Call(ctx, req)
	if !strings.Contains(string(req.Call.Arguments), "A-17") {
		out.Canonical = []byte(`{"output":"An error occurred while running the tool. Please try again. Error: no such order"}`)
		out.Told = &runner.Told{Kind: "KeyError"}
	}
	return out, err
}

func TestAnErrorThatIsToldGoesBackToTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		then           string
		answer, source string
		statuses       string
	}{
		"tries again":         {callOf("find", "A-17"), "It is shipped.", chat.FromModel, "told ok"},
		"says what went awry": {"There is no such order, the tool says.", "There is no such order, the tool says.", chat.FromModel, "told"},
		"says nothing of it":  {"It is on its way.", "I couldn't do that: find failed: An error occurred while running the tool. Please try again. Error: no such order", chat.FromResult, "told"},
		"same again":          {callOf("find", "B"), "I couldn't do that: find failed: An error occurred while running the tool. Please try again. Error: no such order", chat.FromResult, "told"},
	} {
		for _, restored := range []bool{false, true} {
			heard := &said{}
			b := newBench(t, fake.Options{Script: heard.listen(func(history []inference.Token) (string, bool) {
				text := fake.Text(history)
				switch {
				case strings.Contains(text, `Tool result of find: {"output":"shipped"}`):
					return "It is shipped.", true
				case strings.Contains(text, "Error: no such order"):
					return c.then, true
				}
				return callOf("find", "B"), true
			})}).with(freeze(t, functionTool("find")))
			b.hands.functions = map[string]func(string) (string, error){"find": gives(`{"output":"shipped"}`)}
			b.cfg.Dispatcher.Runner = tellers{b.hands}
			if restored {
				b.from(b.learned(&learn.Sample{}, nil))
			}
			b.cfg.Policy.Choice = chat.ChoiceRequired
			turn := b.open().ask("find order B please")
			var statuses []string
			for _, call := range turn.ToolCalls {
				statuses = append(statuses, call.Status)
			}
			if turn.Answer != c.answer || turn.AnswerSource != c.source || turn.FinishReason != chat.FinishAnswer || strings.Join(statuses, " ") != c.statuses {
				t.Errorf("%s, restored %v: ran %q: %+v", name, restored, b.hands.calls, turn)
			}
			first := turn.ToolCalls[0]
			if first.Told == nil || first.Told.Kind != "KeyError" || *first.ErrorCode != fault.CodeToolRaised || first.Error != "" || first.ResultSHA256 == nil {
				t.Errorf("%s: the record of the error: %+v", name, first)
			}
		}
	}
}

// TestALongTextMayBeToldInOtherWords: only a word of it has to be there, and no number that isn't in it.
func TestALongTextMayBeToldInOtherWords(t *testing.T) {
	const weather = `{"output":"city='Tokyo' temperature_range='14-20C' conditions='Sunny with wind all day long.'"}`
	for says, source := range map[string]string{
		"It's sunny and windy in Tokyo, up to 20C.": chat.FromModel,
		"I looked it up.":            chat.FromResult,
		"Sunny, 35 degrees.":         chat.FromResult,
		"The order_status of Tokyo.": chat.FromResult, // the city was in the question
	} {
		b := newBench(t, script(fake.Reply{When: "Tool result", Say: says}, fake.Reply{Say: callOf("find", "Tokyo")})).with(freeze(t, functionTool("find")))
		b.hands.functions = map[string]func(string) (string, error){"find": gives(weather)}
		turn := b.open().ask("weather of Tokyo")
		if turn.AnswerSource != source || source == chat.FromResult && turn.Answer != "The result of find is city='Tokyo' temperature_range='14-20C' conditions='Sunny with wind all day long.'." {
			t.Errorf("%s: got %s: %q", says, turn.AnswerSource, turn.Answer)
		}
	}
}
