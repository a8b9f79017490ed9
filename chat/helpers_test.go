package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"edge/chat"
	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/runner"
	"edge/tools"
)

// The tools of most tests.
func feeTool() tools.Tool {
	return tools.Tool{Name: "calculate_fee", Description: "Compute the service fee for an amount.", ExecutionLevel: tools.Read, Parameters: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["amount"],"properties":{"amount":{"type":"integer"},"tier":{"type":"string","enum":["basic","pro"],"default":"basic"}}}`)}
}

func orderTool() tools.Tool {
	return tools.Tool{Name: "order_status", Description: "Look up an order.", ExecutionLevel: tools.Read, Parameters: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["order_id"],"properties":{"order_id":{"type":"string"}}}`)}
}

// direct is a tool of the level whose result is delivered as it is.
func direct(name string, level tools.ExecutionLevel) tools.Tool {
	t := orderTool()
	t.Name, t.ExecutionLevel, t.ReturnDirect = name, level, true
	t.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["order_id"],"properties":{"order_id":{"type":"string"},"note":{"type":"string"}}}`)
	return t
}

func freeze(t testing.TB, list ...tools.Tool) *tools.ActiveSet {
	t.Helper()
	set, err := tools.Freeze(tools.Inspection{Path: "/tools.py", GeneratorVersion: "1", FileSHA256: digest.SHA256Of([]byte("tools")), Tools: list}, tools.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func shop(t testing.TB) *tools.ActiveSet {
	t.Helper()
	return freeze(t, feeTool(), orderTool())
}

// hands run calls: a Runner whose functions are Go's.
type hands struct {
	functions map[string]func(arguments string) (result string, err error)
	calls     []string
}

func (h *hands) Call(_ context.Context, req runner.CallRequest) (runner.Result, error) {
	h.calls = append(h.calls, req.Call.ToolName+string(req.Call.Arguments))
	if req.WithUserRights {
		return runner.Result{}, fmt.Errorf("a chat asked for the user's rights")
	}
	out := runner.Result{Duration: 3 * time.Millisecond, SecretVerified: true, Sandbox: json.RawMessage(`{"mechanism":"test"}`)}
	f, ok := h.functions[req.Call.ToolName]
	if !ok {
		return out, fault.New(fault.CodeToolRaised, "tool %s: KeyError", req.Call.ToolName)
	}
	result, err := f(string(req.Call.Arguments))
	out.Canonical = []byte(result)
	return out, err
}

func gives(result string) func(string) (string, error) {
	return func(string) (string, error) { return result, nil }
}

// bench is everything that a chat is made of, to be changed before it is opened.
type bench struct {
	t      *testing.T
	engine *fake.Engine
	cfg    chat.Config
	hands  *hands
	now    time.Time
}

// newBench makes a chat's surroundings around a fake model.
func newBench(t *testing.T, options fake.Options) *bench {
	t.Helper()
	b := &bench{t: t, engine: fake.New(options), hands: &hands{functions: map[string]func(string) (string, error){
		"calculate_fee": gives(`{"fee":0.75}`), "order_status": gives(`{"order_id":"A-17","status":"shipped"}`),
	}}, now: time.Unix(1_800_000_000, 0)}
	m, err := b.engine.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err) // a session or a grammar was left open
		}
	})
	b.cfg = chat.Config{World: worldOf(t, b.engine, m), Clock: b.clock, GoesOn: true}
	return b
}

// script makes the model say the first reply whose part is in the message to be answered.
func script(replies ...fake.Reply) fake.Options {
	return fake.Options{Script: fake.Replies(replies...)}
}

func worldOf(t *testing.T, engine *fake.Engine, m inference.Model) learn.World {
	t.Helper()
	r, err := chattemplate.New(m, m.Info())
	if err != nil {
		t.Fatal(err)
	}
	p := inference.DefaultParams()
	p.BatchTokens, p.UBatchTokens = 64, 32
	return learn.World{Engine: engine.Info(), Model: m, Params: p, Renderer: r, File: learn.ModelFile{
		Name: "fake", SHA256: digest.SHA256Of([]byte("model")), TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte(m.Info().ChatTemplate)),
	}}
}

// clock moves by a millisecond each time it is read.
func (b *bench) clock() time.Time {
	b.now = b.now.Add(time.Millisecond)
	return b.now
}

func (b *bench) with(set *tools.ActiveSet) *bench {
	b.t.Helper()
	pending, err := tools.NewPendingStore(b.t.TempDir(), func() time.Time { return b.now }, bytes.NewReader(bytes.Repeat([]byte{7}, 1000)))
	if err != nil {
		b.t.Fatal(err)
	}
	b.cfg.Dispatcher = &chat.Dispatcher{Set: set, Runner: b.hands, Pending: pending}
	return b
}

// examples are enough for a head that tells the two tools and talk apart.
func examples() []learn.Example {
	call := func(prompt, tool, arguments string) learn.Example {
		return learn.Example{Prompt: prompt, Call: &learn.ExampleCall{ToolName: tool, Arguments: json.RawMessage(arguments)}}
	}
	bye := "You're welcome."
	return []learn.Example{
		call("What is the fee for 250?", "calculate_fee", `{"amount":250}`), call("Quote the fee for amount 100, tier pro", "calculate_fee", `{"amount":100,"tier":"pro"}`),
		call("Where is order A-17?", "order_status", `{"order_id":"A-17"}`), call("Status of order 555", "order_status", `{"order_id":"555"}`),
		{Prompt: "Thanks, goodbye", Answer: &bye},
	}
}

// learned bakes an imprint with the bench's world and tools, lets change have its way with it, and gives its path.
func (b *bench) learned(sample *learn.Sample, change func(*imprint.Content)) string {
	b.t.Helper()
	var set *tools.ActiveSet
	if b.cfg.Dispatcher != nil {
		set = b.cfg.Dispatcher.Set
	}
	out, err := learn.Run(b.t.Context(), learn.Request{World: b.cfg.World, Set: set, Sample: sample, Clock: b.clock})
	if err != nil {
		b.t.Fatal(err)
	}
	if change != nil {
		change(&out.Content)
	}
	path := filepath.Join(b.t.TempDir(), "a.imprint")
	if _, err := imprint.Write(b.t.Context(), path, out.Content); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// from has the chat begin with the imprint.
func (b *bench) from(path string) *bench {
	b.t.Helper()
	u, err := imprint.Open(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { u.Close() })
	b.cfg.Imprint = u
	return b
}

func (b *bench) open() *opened {
	b.t.Helper()
	c, err := chat.Open(b.t.Context(), b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return &opened{c, b}
}

// opened is a chat that checks its own books.
type opened struct {
	*chat.Chat
	b *bench
}

// ask takes a prompt to a turn, whose numbers must be those of the engine.
func (o *opened) ask(prompt string) *chat.Turn {
	o.b.t.Helper()
	before := o.b.engine.Stats().DecodedTokens
	turn, err := o.Ask(o.b.t.Context(), prompt)
	if err != nil {
		o.b.t.Fatalf("%s: %v", prompt, err)
	}
	u, decoded := turn.Usage, o.b.engine.Stats().DecodedTokens-before
	if u.PromptTokens != u.Cached()+u.PrefilledTokens {
		o.b.t.Errorf("%s: prompt tokens aren't cached and prefilled ones: %+v", prompt, u)
	}
	if decoded != u.PrefilledTokens+u.GeneratedTokens+u.ForcedTokens {
		o.b.t.Errorf("%s: the engine decoded %d tokens, the usage says %+v", prompt, decoded, u)
	}
	return turn
}

// said is the text of a session's tokens as a script saw them last.
type said struct{ history string }

// listen gives a script that notes what it was given before it answers.
func (s *said) listen(next func([]inference.Token) (string, bool)) func([]inference.Token) (string, bool) {
	return func(history []inference.Token) (string, bool) {
		s.history = fake.Text(history)
		return next(history)
	}
}
