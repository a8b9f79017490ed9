package serve_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/chat"
	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/inference/enginetest"
	"edge/inference/fake"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/serve"
)

// house is a pool around a fake engine.
type house struct {
	t      *testing.T
	engine *fake.Engine
	pool   *serve.Pool
	mu     sync.Mutex
	now    time.Time
	opened int
}

func newHouse(t *testing.T, options fake.Options) *house {
	t.Helper()
	h := &house{t: t, engine: fake.New(options), now: time.Now().Add(time.Hour)} // files are written an hour ago
	h.pool = serve.NewPool(h.clock)
	t.Cleanup(func() {
		if err := h.pool.Close(); err != nil {
			t.Error(err)
		}
		if s := h.engine.Stats(); s.OpenModels+s.OpenSessions+s.OpenGrammars != 0 {
			t.Errorf("left open: %+v", s)
		}
	})
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(time.Millisecond)
	return h.now
}

func (h *house) open(ctx context.Context) (learn.World, io.Closer, error) {
	h.mu.Lock()
	h.opened++
	h.mu.Unlock()
	m, err := h.engine.Open(ctx, "")
	if err != nil {
		return learn.World{}, nil, err
	}
	r, err := chattemplate.New(m, m.Info())
	p := inference.DefaultParams()
	p.BatchTokens, p.UBatchTokens = 64, 32
	return learn.World{Engine: h.engine.Info(), Model: m, Params: p, Renderer: r, File: learn.ModelFile{
		Name: "fake", SHA256: digest.SHA256Of([]byte("model")), TokenizerSHA256: digest.SHA256Of([]byte("tokenizer")), TemplateSHA256: digest.SHA256Of([]byte("template")),
	}}, m, err
}

func key(name string) serve.Key { return serve.Key{Path: name, SHA256: digest.SHA256Of([]byte(name))} }

func (h *house) world(k serve.Key) (learn.World, func()) {
	h.t.Helper()
	w, release, err := h.pool.World(h.t.Context(), k, h.open)
	if err != nil {
		h.t.Fatal(err)
	}
	return w, release
}

// bake writes an imprint of a profile.
func (h *house) bake() string {
	h.t.Helper()
	w, release := h.world(key("a"))
	defer release()
	out, err := learn.Run(h.t.Context(), learn.Request{World: w, Sample: &learn.Sample{Profile: learn.Profile{System: "You are a clerk."}}, Clock: h.clock})
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.t.TempDir(), "a.imprint")
	if _, err := imprint.Write(h.t.Context(), path, out.Content); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// chat opens a chat on an imprint as the server does; close gives everything back.
func (h *house) chat(path string) (c *chat.Chat, end func(), err error) {
	h.t.Helper()
	u, err := imprint.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer u.Close()
	w, release := h.world(key("a"))
	c, err = chat.Open(h.t.Context(), chat.Config{World: w, Imprint: u, Clock: h.clock, GoesOn: true, Gate: h.pool.Verify})
	if err != nil {
		release()
		return nil, nil, err
	}
	return c, func() { c.Close(); release() }, nil
}

func (h *house) ask(c *chat.Chat, prompt string) *chat.Turn {
	h.t.Helper()
	turn, err := c.Ask(h.t.Context(), prompt)
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

// A lent session is a session in every way: it passes the adapters' own suite, the first time and when it was another's.
func TestLentSessionsConform(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		w, release := newHouse(t, fake.Options{}).world(key("a"))
		t.Cleanup(release)
		return enginetest.Subject{Model: w.Model, Params: w.Params, Exact: true}
	})
}

// What was told in one chat can't be reached in the next, whichever session that one gets: the model itself, which sees
// all that its session holds, never sees it.
func TestNothingOfAChatIsInTheNext(t *testing.T) {
	const pin = "7421"
	var mu sync.Mutex
	var seen []string
	options := fake.Options{Script: func(history []inference.Token) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fake.Text(history))
		return "Fine.", true
	}}
	last := func() string {
		mu.Lock()
		defer mu.Unlock()
		return seen[len(seen)-1]
	}
	h := newHouse(t, options)
	path := h.bake()
	var usage chat.Usage
	for round := range 3 {
		c, end, err := h.chat(path)
		if err != nil {
			t.Fatal(err)
		}
		h.ask(c, "My PIN is "+pin+".")
		if !strings.Contains(last(), pin) {
			t.Fatal("the chat itself doesn't hold what it was told")
		}
		h.ask(c, "And thanks.") // with a place to go back to, which is a state of the conversation
		end()

		next, end, err := h.chat(path)
		if err != nil {
			t.Fatal(err)
		}
		turn := h.ask(next, "What is my PIN?")
		if strings.Contains(last(), pin) {
			t.Errorf("round %d: the next chat's session holds the PIN: %q", round, last())
		}
		if diff := cmp.Diff(usage, turn.Usage); round > 0 && diff != "" {
			t.Errorf("round %d: usage differs from before: %s", round, diff)
		}
		usage = turn.Usage
		end()
	}
	// And in a chat without the imprint, of the same size.
	w, release := h.world(key("a"))
	defer release()
	c, err := chat.Open(t.Context(), chat.Config{World: w, Clock: h.clock})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h.ask(c, "What is my PIN?")
	if strings.Contains(last(), pin) || strings.Contains(last(), "clerk") {
		t.Errorf("a chat without an imprint holds %q", last())
	}
}

// A session that was given back computes, for whoever gets it, what a new one computes.
func TestAnothersSessionIsANewOne(t *testing.T) {
	h := newHouse(t, fake.Options{})
	w, release := h.world(key("a"))
	defer release()
	p := w.Params
	p.ContextTokens = 256
	secret, mine := []inference.Token{70, 71, 72}, []inference.Token{80, 81}
	session := func() inference.Session {
		s, err := w.Model.NewSession(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	decode := func(s inference.Session, tokens []inference.Token) []float32 {
		if err := s.Decode(t.Context(), inference.Batch{Tokens: tokens}); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(s.Logits())
	}
	first := session()
	want := decode(first, mine)
	first.Close()
	other := session()
	decode(other, secret)
	other.Close()
	if got := h.engine.Stats().OpenSessions; got != 1 {
		t.Fatalf("%d sessions are open, want the one that is kept", got)
	}
	again := session()
	defer again.Close()
	if again.Position() != 0 || again.Decoded() != 0 || again.Logits() != nil || again.Hidden() != nil {
		t.Errorf("a session that was another's has %d tokens, %d decoded, and logits %t", again.Position(), again.Decoded(), again.Logits() != nil)
	}
	if _, err := again.SaveState(t.Context()); err == nil {
		t.Error("it has a state to save")
	}
	again.Close()
	fresh := session()
	defer fresh.Close()
	if got := decode(fresh, mine); !slices.Equal(got, want) {
		t.Error("it computes something else than a new one")
	}
	// What was closed leads nowhere, though the session lives on.
	if other.Position() != 0 || other.Logits() != nil {
		t.Error("a closed session shows what is another's now")
	}
	if err := other.Decode(t.Context(), inference.Batch{Tokens: mine}); !fault.Is(err, fault.CodeSessionClosed) {
		t.Errorf("decode on a closed session: %v", err)
	}
	if _, err := other.SaveState(t.Context()); !fault.Is(err, fault.CodeSessionClosed) {
		t.Errorf("save on a closed session: %v", err)
	}
}

// Only an imprint's state is put into a session ahead: never a conversation's, though a chat restores those too.
func TestNoConversationIsKept(t *testing.T) {
	h := newHouse(t, fake.Options{})
	w, release := h.world(key("a"))
	defer release()
	p := w.Params
	p.ContextTokens = 256
	s, err := w.Model.NewSession(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Decode(t.Context(), inference.Batch{Tokens: []inference.Token{70, 71, 72}}); err != nil {
		t.Fatal(err)
	}
	said, err := s.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Reset(t.Context()), s.RestoreState(t.Context(), said)); err != nil {
		t.Fatal(err)
	}
	before := h.engine.Stats().Restores
	s.Close()
	h.pool.Settle()
	if got := h.engine.Stats().Restores; got != before {
		t.Error("the conversation was restored into the session that is kept for the next chat")
	}
}

// The second chat on an imprint finds its state standing: nothing is read, digested or restored for it.
func TestSecondChatFindsTheImprintStanding(t *testing.T) {
	h := newHouse(t, fake.Options{})
	path := h.bake()
	var read []int64
	for range 3 {
		c, end, err := h.chat(path)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, c.Imprint().BytesRead)
		h.ask(c, "Hello")
		end()
	}
	if read[1] >= read[0] || read[2] != read[1] {
		t.Errorf("bytes read: %v", read)
	}
	h.pool.Settle()
	before := h.engine.Stats().Restores
	c, end, err := h.chat(path)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if got := h.engine.Stats().Restores; got != before {
		t.Errorf("the chat restored %d times", got-before)
	}
	if got := h.ask(c, "Hello").Usage.Cached(); got != c.Imprint().Tokens {
		t.Errorf("%d tokens were there, want the imprint's %d", got, c.Imprint().Tokens)
	}
}

// Residence is no way around the gate.
func TestGateOfAResidentImprint(t *testing.T) {
	h := newHouse(t, fake.Options{})
	path := h.bake()
	open := func() error {
		c, end, err := h.chat(path)
		if err == nil {
			h.ask(c, "Hello")
			end()
		}
		return err
	}
	for range 2 {
		if err := open(); err != nil {
			t.Fatal(err)
		}
	}
	w, release := h.world(key("a"))
	defer release()
	drifted := w
	drifted.Params.KVTypeK = "q8_0"
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := chat.Open(t.Context(), chat.Config{World: drifted, Imprint: u, Clock: h.clock, Gate: h.pool.Verify}); !fault.Is(err, fault.CodeImprintParamsMismatch) {
		t.Errorf("drift: got %v", err)
	}

	// The same length, the same time of the content: the entry's time tells, and the bytes are looked at.
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(raw)
	damaged[len(damaged)-1] ^= 1
	if err := errors.Join(os.WriteFile(path, damaged, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if err := open(); !fault.Is(err, fault.CodeImprintPayloadMismatch) {
		t.Errorf("damaged after it was verified: got %v", err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(); err != nil {
		t.Errorf("mended: %v", err)
	}
}

// A file that was written a moment ago may be written again without a trace, so it is read each time.
func TestAFreshFileIsNotTrusted(t *testing.T) {
	h := newHouse(t, fake.Options{})
	path := h.bake()
	h.mu.Lock()
	h.now = time.Now() // the file is younger than the file system's clock is fine
	h.mu.Unlock()
	for range 2 {
		_, end, err := h.chat(path)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if _, imprints := h.pool.Status(); len(imprints) != 0 {
			t.Fatalf("%v is kept", imprints)
		}
	}
}

func TestModelsComeAndGo(t *testing.T) {
	h := newHouse(t, fake.Options{})
	a := key("a")
	_, release := h.world(a)
	_, second := h.world(a)
	if h.opened != 1 {
		t.Fatalf("%d loads of one model", h.opened)
	}
	release()
	release() // a second time means nothing
	far := h.now.Add(time.Hour)
	if h.pool.EvictIdle(far) {
		t.Error("a model in use was unloaded")
	}
	second()
	if h.pool.EvictIdle(h.now.Add(-time.Hour)) {
		t.Error("a model that was used a moment ago was unloaded")
	}
	if !h.pool.EvictIdle(far) || h.engine.Stats().OpenModels != 0 {
		t.Errorf("an idle model stays: %+v", h.engine.Stats())
	}
	_, release = h.world(a)
	release()
	if h.opened != 2 {
		t.Errorf("%d loads", h.opened)
	}

	// Another file at the path takes the place of the first.
	changed := a
	changed.SHA256 = digest.SHA256Of([]byte("changed"))
	_, release = h.world(changed)
	release()
	if models, _ := h.pool.Status(); len(models) != 1 || models[0].SHA256 != changed.SHA256 {
		t.Errorf("loaded: %+v", models)
	}
	for _, name := range []string{"b", "c", "d"} {
		_, release := h.world(key(name))
		release()
	}
	if models, _ := h.pool.Status(); len(models) != 2 || models[0].Path != "c" || models[1].Path != "d" {
		t.Errorf("loaded: %+v", models)
	}
}

func TestAModelThatFailsToLoad(t *testing.T) {
	h := newHouse(t, fake.Options{})
	failed := errors.New("no memory")
	if _, _, err := h.pool.World(t.Context(), key("a"), func(context.Context) (learn.World, io.Closer, error) { return learn.World{}, nil, failed }); err != failed {
		t.Fatalf("got %v", err)
	}
	_, release := h.world(key("a")) // it is tried again
	release()

	// Who gives up waiting leaves the model to the next.
	ctx, cancel := context.WithCancel(t.Context())
	begun, goOn := make(chan struct{}), make(chan struct{})
	given := make(chan error, 1)
	go func() {
		_, _, err := h.pool.World(ctx, key("b"), func(ctx context.Context) (learn.World, io.Closer, error) {
			close(begun)
			<-goOn
			return h.open(ctx)
		})
		given <- err
	}()
	<-begun
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	before := h.opened
	_, release = h.world(key("b"))
	release()
	if h.opened > before+1 {
		t.Errorf("it was loaded again")
	}
}

func TestKeptSessionsAreFew(t *testing.T) {
	h := newHouse(t, fake.Options{})
	w, release := h.world(key("a"))
	defer release()
	for size := range 5 {
		p := w.Params
		p.ContextTokens = 256 * (size + 1)
		s, err := w.Model.NewSession(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		s.Close()
	}
	if got := h.engine.Stats().OpenSessions; got != 2 {
		t.Errorf("%d sessions are kept", got)
	}
}
