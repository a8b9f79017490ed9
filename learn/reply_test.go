package learn_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// asked is a session in which a request was read, and the replier that answers.
func asked(t *testing.T, w learn.World, r *learn.Replier, request string) (inference.Session, learn.Plan) {
	t.Helper()
	s := read(t, w, request)
	return s, r.Plan(request, s.Hidden())
}

func read(t *testing.T, w learn.World, request string) inference.Session {
	t.Helper()
	list, err := w.Renderer.Tokens([]chattemplate.Message{{Role: chattemplate.User, Content: request}}, true)
	if err != nil {
		t.Fatal(err)
	}
	p := w.Params
	p.ContextTokens = len(list) + 1000
	s, err := w.Model.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Decode(t.Context(), inference.Batch{Tokens: list, Hidden: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// taught learns a head from requests' own hidden states.
func taught(t *testing.T, w learn.World, examples []learn.Example) *learn.Learned {
	t.Helper()
	var vectors [][]learn.Vector
	var labels []string
	for _, e := range examples {
		s := read(t, w, e.Prompt)
		vectors = append(vectors, learn.Look(s.Hidden()))
		label := learn.NoTool
		if e.Call != nil {
			label = e.Call.ToolName
		}
		labels = append(labels, label)
		s.Close()
	}
	return &learn.Learned{Head: learn.TrainHead(vectors, labels), Examples: examples}
}

func wrote(t *testing.T, w learn.World, r *learn.Replier, s inference.Session, p learn.Plan, d learn.Drawing) string {
	t.Helper()
	d.MaxTokens = 300
	out, err := r.Write(t.Context(), s, p, d)
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

func TestWithoutToolsThereIsOnlyAnAnswer(t *testing.T) {
	w := world(t, fake.New(fake.Options{Script: fake.Replies(fake.Reply{Say: "Hello!"})}))
	r := learn.NewReplier(w, nil, nil)
	s, p := asked(t, w, r, "hi")
	if p.AllowsCall() || r.Any().AllowsCall() || r.NeedsHidden() || p.Choice != nil {
		t.Errorf("got %+v", p)
	}
	if got := wrote(t, w, r, s, p, learn.Drawing{}); got != "Hello!" {
		t.Errorf("got %q", got)
	}
}

func TestWithNothingLearnedTheModelChooses(t *testing.T) {
	const call = `{"tool_name":"order_status","arguments":{"order_id":"A-1"}}`
	w := world(t, fake.New(fake.Options{Script: fake.Replies(fake.Reply{When: "order", Say: call}, fake.Reply{Say: "Hello!"})}))
	r := learn.NewReplier(w, shop(t), nil)
	for request, want := range map[string]string{"the order": call, "hi": "Hello!"} {
		s, p := asked(t, w, r, request)
		if !p.AllowsCall() || r.NeedsHidden() || p.Choice != nil {
			t.Errorf("got %+v", p)
		}
		if got := wrote(t, w, r, s, p, learn.Drawing{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAHeadChooses whatever the model would like to say: the call is of the chosen tool, with values of the request.
func TestAHeadChooses(t *testing.T) {
	for name, script := range map[string]func([]inference.Token) (string, bool){
		"a babbling model":        nil,
		"a model that only talks": fake.Replies(fake.Reply{Say: "I like trains."}),
		"a model that picks the other tool and values of its own": fake.Replies(fake.Reply{Say: `{"tool_name":"calculate_fee","arguments":{"amount":999,"tier":"pro"}}`}),
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, fake.New(fake.Options{Script: script}))
			set := shop(t)
			r := learn.NewReplier(w, set, taught(t, w, shopExamples()))
			if !r.NeedsHidden() {
				t.Error("the head looks at hidden states")
			}
			for request, want := range map[string]string{
				"Status of order Z-88":                    `{"tool_name":"order_status","arguments":{"order_id":"Z-88"}}`,
				"Quote the fee for amount 60, tier basic": `{"tool_name":"calculate_fee","arguments":{"amount":60,"tier":"basic"}}`,
				"What is the fee for 1,300?":              `{"tool_name":"calculate_fee","arguments":{"amount":1300}}`,
			} {
				s, p := asked(t, w, r, request)
				if got := wrote(t, w, r, s, p, learn.Drawing{Temperature: 0.9, Random: rand.New(rand.NewPCG(1, 1))}); got != want {
					t.Errorf("%s: got %s (%+v)", request, got, p.Choice)
				}
			}
			s, p := asked(t, w, r, "Thanks, goodbye")
			if p.AllowsCall() || p.Choice == nil || p.Choice.Class != learn.NoTool {
				t.Errorf("got %+v", p.Choice)
			}
			if got := wrote(t, w, r, s, p, learn.Drawing{}); strings.HasPrefix(got, "{") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestACertainCallIsForced: what is known before anything is drawn is decoded at once, and equals what the grammar
// would have had the model write.
func TestACertainCallIsForced(t *testing.T) {
	engine := fake.New(fake.Options{})
	w := world(t, engine)
	set := shop(t)
	r := learn.NewReplier(w, set, taught(t, w, shopExamples()))
	s, p := asked(t, w, r, "Quote the fee for amount 60, tier pro")
	before := engine.Stats()
	out, err := r.Write(t.Context(), s, p, learn.Drawing{MaxTokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := tools.ParseReply(out.Text)
	if err != nil {
		t.Fatal(err)
	}
	text, err := set.CallText(*reply.Call)
	if err != nil || text != out.Text {
		t.Errorf("got %s, want %s (%v)", out.Text, text, err)
	}
	list, err := w.Model.Tokenize(text, false)
	if err != nil {
		t.Fatal(err)
	}
	calls := engine.Stats().DecodeCalls - before.DecodeCalls
	if out.Forced != len(list)-1 || out.Drawn > 3 || calls != 1+out.Drawn {
		t.Errorf("%d tokens: %d forced, %d drawn, in %d decode calls", len(list), out.Forced, out.Drawn, calls)
	}
}

// TestAnAnswerIsNeverACall: under an answer's grammar a model that insists on a call can't begin one.
func TestAnAnswerIsNeverACall(t *testing.T) {
	w := world(t, fake.New(fake.Options{Script: fake.Replies(fake.Reply{Say: `{"tool_name":"order_status","arguments":{"order_id":"1"}}`})}))
	r := learn.NewReplier(w, shop(t), nil)
	s, _ := asked(t, w, r, "the order")
	if got := wrote(t, w, r, s, r.Answer(), learn.Drawing{}); strings.HasPrefix(strings.TrimSpace(got), "{") {
		t.Errorf("got %q", got)
	}
}

func TestWriteLeavesNothingOpen(t *testing.T) {
	engine := fake.New(fake.Options{})
	w := world(t, engine)
	r := learn.NewReplier(w, shop(t), nil)
	s, p := asked(t, w, r, "hi")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Write(ctx, s, p, learn.Drawing{MaxTokens: 10}); err == nil {
		t.Error("a cancelled Write went on")
	}
	if n := engine.Stats().OpenGrammars; n != 0 {
		t.Errorf("%d grammars are open", n)
	}
}

func TestSuffix(t *testing.T) {
	w := world(t, newEngine())
	messages, err := learn.Contract(shop(t), learn.Profile{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := w.Renderer.Prefix(messages)
	if err != nil {
		t.Fatal(err)
	}
	conversation := append(messages, chattemplate.Message{Role: chattemplate.User, Content: "hi"})
	suffix, err := w.Suffix(conversation, prefix)
	if err != nil || fake.Text(append(prefix, suffix...)) != fake.Text(mustTokens(t, w, conversation)) {
		t.Errorf("%v: %q", err, fake.Text(suffix))
	}
	for name, other := range map[string][]inference.Token{
		"another first token": append([]inference.Token{0}, prefix[1:]...), "another last token": append(prefix[:len(prefix)-1:len(prefix)-1], 0),
		"all of it": mustTokens(t, w, conversation), "more than it": append(mustTokens(t, w, conversation), 5),
	} {
		if _, err := w.Suffix(conversation, other); !fault.Is(err, fault.CodeImprintPrefixMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func mustTokens(t *testing.T, w learn.World, messages []chattemplate.Message) []inference.Token {
	t.Helper()
	list, err := w.Renderer.Tokens(messages, true)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
