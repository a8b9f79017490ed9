package fake_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"edge/inference"
	"edge/inference/enginetest"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/internal/sealed"
)

func params() inference.Params {
	p := inference.DefaultParams()
	p.ContextTokens, p.BatchTokens, p.UBatchTokens = 2000, 16, 8
	return p
}

func open(t *testing.T, e *fake.Engine, path string) inference.Model {
	t.Helper()
	m, err := e.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func session(t *testing.T, m inference.Model, p inference.Params) inference.Session {
	t.Helper()
	s, err := m.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func decode(t *testing.T, s inference.Session, b inference.Batch) {
	t.Helper()
	if err := s.Decode(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func tokenize(t *testing.T, m inference.Model, text string) []inference.Token {
	t.Helper()
	tokens, err := m.Tokenize(text, true)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func likeliest(logits []float32, among []inference.Token) inference.Token {
	return slices.MaxFunc(among, func(a, b inference.Token) int {
		switch {
		case logits[a] < logits[b]:
			return -1
		case logits[a] > logits[b]:
			return 1
		}
		return 0
	})
}

// say lets the model write until it ends its turn.
func say(t *testing.T, m inference.Model, s inference.Session, g inference.Grammar) (text string, ended bool) {
	t.Helper()
	everything := make([]inference.Token, m.Info().VocabSize)
	for i := range everything {
		everything[i] = inference.Token(i)
	}
	var b strings.Builder
	for range 300 {
		candidates := everything
		if g != nil {
			candidates = g.Filter(everything)
		}
		if len(candidates) == 0 {
			t.Fatalf("nothing may come after %q", b.String())
		}
		next := likeliest(s.Logits(), candidates)
		if m.IsEnd(next) {
			return b.String(), true
		}
		if g != nil {
			g.Accept(next)
		}
		b.Write(m.Piece(next))
		decode(t, s, inference.Batch{Tokens: []inference.Token{next}})
	}
	return b.String(), false
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		return enginetest.Subject{Model: open(t, fake.New(fake.Options{}), ""), Params: params(), Exact: true, Prefixes: []int{1, 15, 16, 17, 100}}
	})
}

// TestTokensDependOnTheirNeighbours: the tokens of a text aren't those of its halves, as with a real tokenizer.
func TestTokensDependOnTheirNeighbours(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	for _, halves := range [][2]string{{"a.\n", "\nb"}, {"say ", "  twice"}, {`{"tool_`, `name":`}} {
		apart := append(tokenize(t, m, halves[0]), tokenize(t, m, halves[1])...)
		if together := tokenize(t, m, halves[0]+halves[1]); slices.Equal(apart, together) {
			t.Errorf("%q: the tokens %v are the same in halves", halves, together)
		}
	}
}

func TestText(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	const prompt = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi <|x|> 日本<|im_end|>\n<|im_start|>assistant\n"
	tokens := tokenize(t, m, prompt)
	if got := fake.Text(tokens); got != prompt {
		t.Errorf("got %q, want %q", got, prompt)
	}
	if role, content := fake.LastMessage(tokens); role != "user" || content != "hi <|x|> 日本" {
		t.Errorf("last message: got %q, %q", role, content)
	}
	if role, content := fake.LastMessage(tokenize(t, m, "no turns")); role != "" || content != "" {
		t.Errorf("last message of none: got %q, %q", role, content)
	}
}

const question = "<|im_start|>user\nfee for 250<|im_end|>\n<|im_start|>assistant\n"

func TestScript(t *testing.T) {
	const call = `{"tool_name":"fee_quote","arguments":{"amount":250,"note":"é 日本 😀"}}`
	e := fake.New(fake.Options{Script: fake.Replies(
		fake.Reply{When: "fee for 250", Say: call},
		fake.Reply{When: "0.75", Say: "It is 0.75."},
		fake.Reply{When: "silence", Say: ""},
	)})
	m := open(t, e, "")
	for _, tt := range []struct{ name, prompt, want string }{
		{"a call", question, call},
		{"going on with what was forced", question + `{"tool_name":"fee_`, call[len(`{"tool_name":"fee_`):]},
		{"the answer to a result", question + call + "<|im_end|>\n<|im_start|>tool\n{\"fee\":0.75}<|im_end|>\n<|im_start|>assistant\n", "It is 0.75."},
		{"an empty reply", "<|im_start|>user\nsilence<|im_end|>\n<|im_start|>assistant\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := session(t, m, params())
			decode(t, s, inference.Batch{Tokens: tokenize(t, m, tt.prompt)})
			if got, ended := say(t, m, s, nil); got != tt.want || !ended {
				t.Errorf("got %q (ended %v), want %q", got, ended, tt.want)
			}
		})
	}
	t.Run("after a restore", func(t *testing.T) {
		tokens := tokenize(t, m, question)
		baker := session(t, m, params())
		decode(t, baker, inference.Batch{Tokens: tokens[:6]})
		state, err := baker.SaveState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, params())
		if err := s.RestoreState(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		decode(t, s, inference.Batch{Tokens: tokens[6:]})
		if got, _ := say(t, m, s, nil); got != call {
			t.Errorf("got %q, want %q", got, call)
		}
	})
	t.Run("a grammar wins", func(t *testing.T) {
		g, err := m.NewGrammar(`root ::= "{\"tool_name\":\"" ("fee_list" | "other") "\"}"`)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		s := session(t, m, params())
		decode(t, s, inference.Batch{Tokens: tokenize(t, m, question)})
		if got, ended := say(t, m, s, g); got != `{"tool_name":"fee_list"}` || !ended {
			t.Errorf("got %q (ended %v)", got, ended)
		}
	})
}

// TestBabble: without a script the model writes ASCII that comes to an end, under a grammar as well.
func TestBabble(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	for _, grammar := range []string{"", `root ::= "{\"note\":\"" [^"\\\x00-\x1f]* "\",\"n\":[" [0-9]+ ("," [0-9]+)* "]}"`} {
		var g inference.Grammar
		if grammar != "" {
			var err error
			if g, err = m.NewGrammar(grammar); err != nil {
				t.Fatal(err)
			}
			defer g.Close()
		}
		s := session(t, m, params())
		decode(t, s, inference.Batch{Tokens: tokenize(t, m, question)})
		text, ended := say(t, m, s, g)
		if !ended || !utf8.ValidString(text) || len(text) < 3 {
			t.Errorf("grammar %q: got %q (ended %v)", grammar, text, ended)
		}
	}
}

// mean is what a selection head looks at.
func mean(t *testing.T, m inference.Model, request string) []float64 {
	t.Helper()
	s := session(t, m, params())
	decode(t, s, inference.Batch{Tokens: tokenize(t, m, "<|im_start|>user\n")})
	decode(t, s, inference.Batch{Tokens: tokenize(t, m, request), Hidden: true})
	out := make([]float64, m.Info().EmbeddingSize)
	for _, row := range s.Hidden() {
		for d, x := range row {
			out[d] += float64(x) / float64(len(s.Hidden()))
		}
	}
	return out
}

func cosine(a, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return ab / math.Sqrt(aa*bb)
}

func TestHiddenStatesOfLikeRequestsAreAlike(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	weather := mean(t, m, "what is the weather in Porto tomorrow")
	like := cosine(weather, mean(t, m, "Weather for Lisbon tomorrow?"))
	unlike := cosine(weather, mean(t, m, "add milk and eggs to my list"))
	if like < unlike+0.2 {
		t.Errorf("cosine of like requests %.2f, of unlike ones %.2f", like, unlike)
	}
}

func logits(t *testing.T, m inference.Model, p inference.Params, parts ...[]inference.Token) []float32 {
	t.Helper()
	s := session(t, m, p)
	for _, part := range parts {
		decode(t, s, inference.Batch{Tokens: part})
	}
	return slices.Clone(s.Logits())
}

// TestWhatLogitsDependOn: everything that changes a real model's bits, and nothing else.
func TestWhatLogitsDependOn(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	e := fake.New(fake.Options{})
	m := open(t, e, file("a", "weights"))
	tokens := tokenize(t, m, "the fee for 250 is 0.75, says the clerk")
	want := logits(t, m, params(), tokens)
	change := func(f func(*inference.Params)) inference.Params {
		p := params()
		f(&p)
		return p
	}
	for _, tt := range []struct {
		name string
		same bool
		got  []float32
	}{
		{"again", true, logits(t, m, params(), tokens)},
		{"another file of the same bytes", true, logits(t, open(t, e, file("b", "weights")), params(), tokens)},
		{"more room", true, logits(t, m, change(func(p *inference.Params) { p.ContextTokens++ }), tokens)},
		{"more threads", true, logits(t, m, change(func(p *inference.Params) { p.Threads = 4 }), tokens)},
		{"other weights", false, logits(t, open(t, e, file("c", "weightz")), params(), tokens)},
		{"another seed", false, logits(t, open(t, fake.New(fake.Options{Seed: 1}), file("d", "weights")), params(), tokens)},
		{"another token at the start", false, logits(t, m, params(), append([]inference.Token{5}, tokens[1:]...))},
		{"another split", false, logits(t, m, params(), tokens[:5], tokens[5:])},
		{"another n_ubatch", false, logits(t, m, change(func(p *inference.Params) { p.UBatchTokens = 16 }), tokens)},
		{"another KV type", false, logits(t, m, change(func(p *inference.Params) { p.KVTypeK = "q8_0" }), tokens)},
		{"no flash attention", false, logits(t, m, change(func(p *inference.Params) { p.FlashAttention = false }), tokens)},
		{"another RoPE base", false, logits(t, m, change(func(p *inference.Params) { p.RopeFreqBase = 1e6 }), tokens)},
	} {
		if same := slices.Equal(tt.got, want); same != tt.same {
			t.Errorf("%s: same logits: got %v, want %v", tt.name, same, tt.same)
		}
	}
	split := logits(t, m, params(), tokens[:5], tokens[5:])
	for i := range want {
		if d := math.Abs(float64(split[i] - want[i])); d > 0.01 {
			t.Fatalf("another split moved score %d by %v: it should be noise", i, d)
		}
	}
}

// TestRestoreBelievesTheBytes: a flipped bit passes and shows only in what follows, as with the real engine; so it is
// for others to digest states before.
func TestRestoreBelievesTheBytes(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	tokens := tokenize(t, m, "the fee for 250 is 0.75")
	baker := session(t, m, params())
	decode(t, baker, inference.Batch{Tokens: tokens})
	state, err := baker.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := func(b []byte) []float32 {
		s := session(t, m, params())
		if err := s.RestoreState(t.Context(), sealed.Fresh(b, state.Tokens())); err != nil {
			t.Fatal(err)
		}
		decode(t, s, inference.Batch{Tokens: tokens[:1]})
		return slices.Clone(s.Logits())
	}
	flipped := slices.Clone(state.Bytes())
	flipped[len(flipped)-8-3] ^= 1 // in the last row's hash
	if slices.Equal(after(state.Bytes()), after(flipped)) {
		t.Error("a flipped bit changed nothing")
	}
	p := params()
	p.KVTypeK = "q8_0"
	if err := session(t, m, p).RestoreState(t.Context(), state); !fault.Is(err, fault.CodeEngineRestoreFailed) {
		t.Errorf("another KV type: got %v, want %s", err, fault.CodeEngineRestoreFailed)
	}
}

// TestBaseRowsAreKept: the state of a longer prefix starts with the rows of a shorter one.
func TestBaseRowsAreKept(t *testing.T) {
	m := open(t, fake.New(fake.Options{}), "")
	tokens := tokenize(t, m, "the fee for 250 is 0.75")
	s := session(t, m, params())
	var states [][]byte
	for _, part := range [][]inference.Token{tokens[:4], tokens[4:]} {
		decode(t, s, inference.Batch{Tokens: part})
		state, err := s.SaveState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state.Bytes())
	}
	const header, tail = 16, 8
	if base := states[0][header : len(states[0])-tail]; !slices.Equal(base, states[1][header:header+len(base)]) {
		t.Error("the rows of the base changed")
	}
}

func TestFaults(t *testing.T) {
	ctx := t.Context()
	run := func(f fake.Faults) (at string, err error) {
		m, err := fake.New(fake.Options{Faults: f}).Open(ctx, "")
		if err != nil {
			return "open", err
		}
		s, err := m.NewSession(ctx, params())
		if err != nil {
			return "session", err
		}
		defer s.Close()
		for range 2 {
			if err := s.Decode(ctx, inference.Batch{Tokens: []inference.Token{10, 11, 12}}); err != nil {
				return "decode", err
			}
		}
		state, err := s.SaveState(ctx)
		if err != nil {
			return "save", err
		}
		if err := s.Reset(ctx); err != nil {
			return "reset", err
		}
		if err := s.RestoreState(ctx, state); err != nil {
			return "restore", err
		}
		if s.Position() != 6 {
			return "position", nil
		}
		return "", nil
	}
	for _, tt := range []struct {
		faults fake.Faults
		at     string
		code   fault.Code
	}{
		{fake.Faults{}, "", ""},
		{fake.Faults{Open: true}, "open", fault.CodeEngineLoadFailed},
		{fake.Faults{NewSession: true}, "session", fault.CodeEngineLoadFailed},
		{fake.Faults{DecodeCall: 2}, "decode", fault.CodeEngineDecodeFailed},
		{fake.Faults{DecodeCall: 3}, "", ""},
		{fake.Faults{Save: true}, "save", fault.CodeEngineDecodeFailed},
		{fake.Faults{SaveShort: true}, "restore", fault.CodeEngineRestoreFailed},
		{fake.Faults{RestoreHalf: true}, "restore", fault.CodeEngineRestoreFailed},
		{fake.Faults{RestoreForget: true}, "position", ""},
	} {
		if at, err := run(tt.faults); at != tt.at || tt.code != "" && !fault.Is(err, tt.code) || tt.code == "" && err != nil {
			t.Errorf("%+v: failed at %q with %v, want %q with %q", tt.faults, at, err, tt.at, tt.code)
		}
	}
	t.Run("a call's context", func(t *testing.T) {
		call, cancel := context.WithCancel(ctx)
		m := open(t, fake.New(fake.Options{Faults: fake.Faults{BeforeDecode: func(n int) {
			if n == 2 {
				cancel()
			}
		}}}), "")
		s := session(t, m, params())
		for n := 1; n <= 2; n++ {
			err := s.Decode(call, inference.Batch{Tokens: []inference.Token{10}})
			if cancelled := errors.Is(err, context.Canceled); cancelled != (n == 2) {
				t.Errorf("call %d: got %v", n, err)
			}
		}
	})
}

func TestStats(t *testing.T) {
	e := fake.New(fake.Options{})
	m, err := e.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, m, params())
	g, err := m.NewGrammar(`root ::= "a"`)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, s, inference.Batch{Tokens: []inference.Token{10, 11, 12}})
	state, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.RestoreState(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	if got, want := e.Stats(), (fake.Stats{DecodeCalls: 1, DecodedTokens: 3, Saves: 1, Restores: 1, OpenModels: 1, OpenSessions: 1, OpenGrammars: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range []interface{ Close() error }{s, g, g, m, m} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := e.Stats(); got.OpenModels+got.OpenSessions+got.OpenGrammars != 0 {
		t.Errorf("after closing: got %+v", got)
	}
	if _, err := m.NewSession(t.Context(), params()); !fault.Is(err, fault.CodeSessionClosed) {
		t.Errorf("session of a closed model: got %v, want %s", err, fault.CodeSessionClosed)
	}
}

func TestOpenMissingFile(t *testing.T) {
	if _, err := fake.New(fake.Options{}).Open(t.Context(), filepath.Join(t.TempDir(), "none.gguf")); !fault.Is(err, fault.CodeModelNotFound) {
		t.Errorf("got %v, want %s", err, fault.CodeModelNotFound)
	}
}
