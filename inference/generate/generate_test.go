package generate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"edge/inference"
	"edge/inference/fake"
	"edge/inference/generate"
	"edge/internal/fault"
)

// writer is a session in which a model is about to write, and the counts of its engine.
type writer struct {
	inference.Model
	inference.Session
	engine *fake.Engine
}

// write opens a session after a turn of the user. A script says what the model writes; "" lets it babble.
func write(t *testing.T, options fake.Options, script string) writer {
	t.Helper()
	if script != "" {
		options.Script = func([]inference.Token) (string, bool) { return script, true }
	}
	w := writer{engine: fake.New(options)}
	var err error
	if w.Model, err = w.engine.Open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	p := inference.DefaultParams()
	p.ContextTokens = 2000
	if w.Session, err = w.Model.NewSession(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Session.Close() })
	prompt, err := w.Tokenize("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Session.Decode(t.Context(), inference.Batch{Tokens: prompt}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w writer) grammar(t *testing.T, gbnf string) inference.Grammar {
	t.Helper()
	g, err := w.NewGrammar(gbnf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func (w writer) text(t *testing.T, o generate.Options) generate.Result {
	t.Helper()
	if o.MaxTokens == 0 {
		o.MaxTokens = 200
	}
	r, err := generate.Text(t.Context(), w.Model, w.Session, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// admitted reports whether the grammar takes the whole text.
func (w writer) admitted(t *testing.T, gbnf, text string) bool {
	t.Helper()
	g := w.grammar(t, gbnf)
	list, err := w.Tokenize(text, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range list {
		if len(g.Filter([]inference.Token{token})) == 0 {
			return false
		}
		g.Accept(token)
	}
	return len(g.Filter([]inference.Token{w.Info().EOS})) == 1
}

func TestTextUntilTheTurnEnds(t *testing.T) {
	w := write(t, fake.Options{}, "The fee is 0.75.")
	before, position := w.engine.Stats(), w.Position()
	firsts := 0
	r := w.text(t, generate.Options{First: func() { firsts++ }})
	if r.Text != "The fee is 0.75." || !r.Ended || r.Stopped || r.Forced != 0 {
		t.Errorf("got %+v", r)
	}
	if firsts != 1 {
		t.Errorf("First was called %d times", firsts)
	}
	decoded := w.engine.Stats().DecodedTokens - before.DecodedTokens
	if list, _ := w.Tokenize(r.Text, false); r.Drawn != len(list) || decoded != r.Drawn || w.Position()-position != r.Drawn {
		t.Errorf("drawn %d, decoded %d, position moved by %d, want %d: the end of the turn isn't decoded", r.Drawn, decoded, w.Position()-position, len(list))
	}
}

func TestMaxTokens(t *testing.T) {
	w := write(t, fake.Options{}, "one two three four five six seven")
	if r := w.text(t, generate.Options{MaxTokens: 3}); r.Ended || r.Stopped || r.Drawn != 3 || !strings.HasPrefix("one two three", r.Text) {
		t.Errorf("got %+v", r)
	}
}

func TestStopEndsBeforeTheNextToken(t *testing.T) {
	w := write(t, fake.Options{}, "one two three four five six seven")
	asked := 0
	r := w.text(t, generate.Options{Stop: func() bool { asked++; return asked > 4 }})
	if !r.Stopped || r.Ended || r.Drawn != 4 {
		t.Errorf("got %+v", r)
	}
	if r := w.text(t, generate.Options{Stop: func() bool { return true }}); !r.Stopped || r.Drawn != 0 || r.Text != "" {
		t.Errorf("stopped at once: got %+v", r)
	}
}

// TestGrammarHolds: whatever the model would like to say, greedy or not, what it says is admitted.
func TestGrammarHolds(t *testing.T) {
	grammars := map[string]string{
		"call":   `root ::= "{\"tool_name\":\"fee\",\"arguments\":{\"amount\":" [0-9]+ "}}"`,
		"answer": `root ::= [^{ ] [a-z ]*`,
		"choice": `root ::= "yes" | "no" | "日本" | "😀"`,
		"nested": `root ::= "[" root* "]" | "x"`,
	}
	for name, gbnf := range grammars {
		for _, script := range []string{"", "Certainly! {\"tool_name\":\"fee\"", "{}", "😀😀"} {
			for _, temperature := range []float64{0, 0.8, 5} {
				for seed := range uint64(3) {
					w := write(t, fake.Options{Seed: seed}, script)
					r := w.text(t, generate.Options{Grammar: w.grammar(t, gbnf), Temperature: temperature, Random: rand.New(rand.NewPCG(seed, 1))})
					if r.Ended && !w.admitted(t, gbnf, r.Text) {
						t.Errorf("%s, script %q, temperature %g: %q isn't admitted", name, script, temperature, r.Text)
					}
				}
			}
		}
	}
}

func TestGrammarThatLetsNothingThrough(t *testing.T) {
	w := write(t, fake.Options{}, "abc")
	r, err := generate.Text(t.Context(), w.Model, w.Session, generate.Options{Grammar: &stuck{after: 2}, MaxTokens: 10})
	if !fault.Is(err, fault.CodeInvalidToolCall) || r.Text != "ab" || r.Drawn != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// stuck is a grammar that comes to a dead end.
type stuck struct{ after int }

func (g *stuck) Filter(list []inference.Token) []inference.Token {
	if g.after == 0 {
		return nil
	}
	return list
}
func (g *stuck) Accept(inference.Token) { g.after-- }
func (g *stuck) Close() error           { return nil }

func TestForcedTextIsDecodedInOneBatch(t *testing.T) {
	const gbnf = `root ::= "{\"tool_name\":\"fee\",\"arguments\":{\"amount\":" [0-9]+ "}}"`
	const forced = `{"tool_name":"fee","arguments":{"amount":`
	w := write(t, fake.Options{}, forced+"80}}")
	before := w.engine.Stats()
	var heard strings.Builder
	r := w.text(t, generate.Options{Grammar: w.grammar(t, gbnf), Forced: forced, OnText: func(s string) { heard.WriteString(s) }})
	after := w.engine.Stats()
	if r.Text != forced+"80}}" || heard.String() != r.Text || !r.Ended {
		t.Errorf("got %+v, heard %q", r, heard.String())
	}
	list, _ := w.Tokenize(forced, false)
	if r.Forced != len(list)-1 {
		t.Errorf("forced %d of %d tokens; the last one is left to be drawn", r.Forced, len(list))
	}
	if calls := after.DecodeCalls - before.DecodeCalls; calls != 1+r.Drawn {
		t.Errorf("%d decode calls for %d drawn tokens: the forced ones took more than one", calls, r.Drawn)
	}
	if n := after.DecodedTokens - before.DecodedTokens; n != r.Forced+r.Drawn {
		t.Errorf("%d tokens decoded, want %d forced and %d drawn", n, r.Forced, r.Drawn)
	}
}

// TestForcedTextYieldsToTheGrammar: what the grammar doesn't admit isn't forced, and what comes then is drawn under it.
func TestForcedTextYieldsToTheGrammar(t *testing.T) {
	const gbnf = `root ::= "abc" [0-9]+`
	for _, forced := range []string{"abcxyz", "xyz", "x", "abc1"} {
		w := write(t, fake.Options{}, "abc12")
		r := w.text(t, generate.Options{Grammar: w.grammar(t, gbnf), Forced: forced})
		if r.Ended && !w.admitted(t, gbnf, r.Text) {
			t.Errorf("forced %q: got %q", forced, r.Text)
		}
	}
}

// TestForcedTextCountsAsReply: MaxTokens bounds the whole reply, so that a caller can keep to the room there is.
func TestForcedTextCountsAsReply(t *testing.T) {
	const forced = `{"a":"some text that is long"`
	w := write(t, fake.Options{}, forced+strings.Repeat(" and more", 50))
	if r := w.text(t, generate.Options{Forced: forced, MaxTokens: 40}); r.Ended || r.Forced+r.Drawn != 40 {
		t.Errorf("%d forced and %d drawn, want 40 together", r.Forced, r.Drawn)
	}
	w = write(t, fake.Options{}, forced)
	if r := w.text(t, generate.Options{Forced: forced, MaxTokens: 5}); r.Ended || r.Forced+r.Drawn != 5 || !strings.HasPrefix(forced, r.Text) {
		t.Errorf("%d forced and %d drawn, want 5 together: %q", r.Forced, r.Drawn, r.Text)
	}
}

// TestOnTextHearsWholeCharacters: tokens may be parts of a character.
func TestOnTextHearsWholeCharacters(t *testing.T) {
	for _, script := range []string{"ab", "naïve ☃ 😀 e\u0301 日本", "👩‍👩‍👧", "cut \xf0\x9f", "\xff\xfe x"} {
		w := write(t, fake.Options{}, script)
		var heard []string
		r := w.text(t, generate.Options{OnText: func(s string) { heard = append(heard, s) }})
		if got := strings.Join(heard, ""); got != script || r.Text != script {
			t.Errorf("%q: heard %q, got %q", script, got, r.Text)
		}
		for i, part := range heard {
			if utf8.ValidString(script) && !utf8.ValidString(part) {
				t.Errorf("%q: part %d is %q", script, i, part)
			}
			if part == "" {
				t.Errorf("%q: part %d is empty", script, i)
			}
		}
	}
}

func TestRepeatable(t *testing.T) {
	babble := func(temperature float64, seed uint64) string {
		w := write(t, fake.Options{}, "")
		return w.text(t, generate.Options{Temperature: temperature, Random: rand.New(rand.NewPCG(seed, seed)), MaxTokens: 30}).Text
	}
	if a, b := babble(0, 1), babble(0, 2); a != b {
		t.Errorf("greedy: %q and %q", a, b)
	}
	if a, b := babble(1, 1), babble(1, 1); a != b {
		t.Errorf("one seed: %q and %q", a, b)
	}
	different := map[string]bool{}
	for seed := range uint64(5) {
		different[babble(1, seed)] = true
	}
	if len(different) < 4 {
		t.Errorf("five seeds gave %d texts", len(different))
	}
}

func TestErrorsOfTheSession(t *testing.T) {
	t.Run("nothing decoded", func(t *testing.T) {
		m, err := fake.New(fake.Options{}).Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		p := inference.DefaultParams()
		p.ContextTokens = 100
		s, err := m.NewSession(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := generate.Text(t.Context(), m, s, generate.Options{MaxTokens: 1}); !fault.Is(err, fault.CodeInternal) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("decode fails in mid-reply", func(t *testing.T) {
		w := write(t, fake.Options{Faults: fake.Faults{DecodeCall: 4}}, "abcdefgh")
		r, err := generate.Text(t.Context(), w.Model, w.Session, generate.Options{MaxTokens: 10})
		if !fault.Is(err, fault.CodeEngineDecodeFailed) || r.Text != "abc" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("cancelled in mid-reply", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := write(t, fake.Options{Faults: fake.Faults{BeforeDecode: func(call int) {
			if call == 4 {
				cancel()
			}
		}}}, "abcdefgh")
		if _, err := generate.Text(ctx, w.Model, w.Session, generate.Options{MaxTokens: 10}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("forced text can't be tokenized", func(t *testing.T) {
		w := write(t, fake.Options{}, "abc")
		if _, err := generate.Text(t.Context(), w.Model, w.Session, generate.Options{Forced: "a\x00b", MaxTokens: 10}); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("got %v", err)
		}
	})
}

// scored is a session whose scores are given; it decodes nothing.
type scored struct {
	inference.Session
	logits []float32
	drawn  []inference.Token
}

func (s *scored) Logits() []float32 { return s.logits }
func (s *scored) Decode(_ context.Context, b inference.Batch) error {
	s.drawn = append(s.drawn, b.Tokens...)
	return nil
}

// numbered is a tokenizer of which no token ends anything.
type numbered struct{ inference.Tokenizer }

func (numbered) Piece(t inference.Token) []byte { return []byte{byte(t)} }
func (numbered) IsEnd(inference.Token) bool     { return false }

// only admits some tokens.
type only []inference.Token

func (o only) Filter(list []inference.Token) []inference.Token {
	return slices.DeleteFunc(slices.Clone(list), func(t inference.Token) bool { return !slices.Contains(o, t) })
}
func (only) Accept(inference.Token) {}
func (only) Close() error           { return nil }

func draw(t *testing.T, logits []float32, o generate.Options) []inference.Token {
	t.Helper()
	s := &scored{logits: logits}
	o.MaxTokens = max(o.MaxTokens, 1)
	if _, err := generate.Text(t.Context(), numbered{}, s, o); err != nil {
		t.Fatal(err)
	}
	return s.drawn
}

// TestGreedyTakesTheBestAdmitted also where the best admitted one is far down, and the lower id among equals.
func TestGreedyTakesTheBestAdmitted(t *testing.T) {
	const size = 500
	random := rand.New(rand.NewPCG(7, 7))
	logits := make([]float32, size)
	for round := range 200 {
		for i := range logits {
			logits[i] = float32(random.IntN(40)) - 20 // many equals
		}
		allowed := only{}
		for range 1 + random.IntN(5) {
			allowed = append(allowed, inference.Token(random.IntN(size)))
		}
		var o generate.Options
		want := inference.Token(0)
		if round%2 == 0 {
			o.Grammar = allowed
			want = slices.Min(allowed)
		}
		for i := range size {
			token := inference.Token(i)
			if (o.Grammar == nil || slices.Contains(allowed, token)) && logits[token] > logits[want] {
				want = token
			}
		}
		if got := draw(t, logits, o); got[0] != want {
			t.Fatalf("round %d: got %d (%g), want %d (%g)", round, got[0], logits[got[0]], want, logits[want])
		}
	}
}

func TestTemperatureWeighsByScore(t *testing.T) {
	logits := make([]float32, 100)
	logits[10], logits[20], logits[30] = 6, 6, 5
	seen := map[inference.Token]int{}
	o := generate.Options{Temperature: 0.5, Random: rand.New(rand.NewPCG(1, 1)), MaxTokens: 4000}
	for _, token := range draw(t, logits, o) {
		seen[token]++
	}
	// exp(1/0.5) ≈ 7.4: 10 and 20 get about 47 % each, 30 gets about 6 %, and what lies 6 lower next to nothing.
	for token, within := range map[inference.Token][2]int{10: {1750, 2000}, 20: {1750, 2000}, 30: {180, 330}, 40: {0, 5}} {
		if n := seen[token]; n < within[0] || n > within[1] {
			t.Errorf("token %d: %d of 4000, want %v", token, n, within)
		}
	}
	o = generate.Options{Temperature: 0.5, Random: rand.New(rand.NewPCG(1, 1)), MaxTokens: 50, Grammar: only{30, 99}}
	for _, token := range draw(t, logits, o) {
		if token != 30 && token != 99 {
			t.Fatalf("%d isn't admitted", token)
		}
	}
}

func TestTemperatureIsGreedyInTheLimit(t *testing.T) {
	logits := []float32{1, 3, 2.99}
	o := generate.Options{Temperature: 1e-6, Random: rand.New(rand.NewPCG(1, 1)), MaxTokens: 20}
	if diff := cmp.Diff(slices.Repeat([]inference.Token{1}, 20), draw(t, logits, o)); diff != "" {
		t.Error(diff)
	}
}
