package scale

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/fault"
	"edge/learn"
)

// Load is what one server is asked.
type Load struct {
	World    learn.World
	Imprint  *imprint.Verified
	Messages []chattemplate.Message // what the imprint's prefix was rendered from
	Prompts  []string               // taken in turn
	Clients  int                    // at once
	Requests int                    // all together
	Tokens   int                    // of each reply
	Clock    func() time.Time
}

// Bounds of a load: it measures, and doesn't attack.
const (
	MaxClients  = 64
	MaxRequests = 1000
)

// Report is what the server did.
type Report struct {
	Clients      int      `json:"clients"`
	Requests     int      `json:"requests"`
	PromptTokens int      `json:"prompt_tokens"`
	CachedTokens *int     `json:"cached_tokens"` // null where the server doesn't say
	HitRate      *float64 `json:"hit_rate"`      // cached tokens by prompt tokens
	FirstMS      Spread   `json:"first_token_ms"`
	PromptMS     *Spread  `json:"prompt_ms"` // as the server says; null where it doesn't
	ColdFirstMS  float64  `json:"cold_first_token_ms"`
	PerSecond    float64  `json:"requests_per_second"`
}

// Spread of some figures.
type Spread struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

func spread(values []float64) Spread {
	slices.Sort(values)
	at := func(q float64) float64 { return values[min(len(values)-1, int(math.Ceil(q*float64(len(values))))-1)] }
	return Spread{at(0.5), at(0.95), values[len(values)-1]}
}

// one is what one request came to.
type one struct {
	first float64
	x     inference.Exchange
	err   error
}

// Run asks once alone, and then from many clients at once. Errors: invalid_arguments; those of the server.
func Run(ctx context.Context, l Load) (*Report, error) {
	if l.Clients < 1 || l.Clients > MaxClients || l.Requests < 1 || l.Requests > MaxRequests || len(l.Prompts) == 0 {
		return nil, fault.New(fault.CodeInvalidArguments, "a load of %d requests by %d clients is out of range: 1 to %d by 1 to %d", l.Requests, l.Clients, MaxRequests, MaxClients)
	}
	cold := l.ask(ctx, l.Prompts[0])
	if cold.err != nil {
		return nil, cold.err
	}
	start := l.Clock()
	results, next := make([]one, l.Requests), make(chan int)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients sync.WaitGroup
	for range l.Clients {
		clients.Go(func() {
			for i := range next {
				if results[i] = l.ask(ctx, l.Prompts[i%len(l.Prompts)]); results[i].err != nil {
					cancel() // the others needn't go on
				}
			}
		})
	}
	for i := range results {
		next <- i
	}
	close(next)
	clients.Wait()
	return l.report(cold, results, l.Clock().Sub(start))
}

func (l Load) report(cold one, results []one, took time.Duration) (*Report, error) {
	r := &Report{Clients: l.Clients, Requests: l.Requests, ColdFirstMS: cold.first, PerSecond: float64(l.Requests) / took.Seconds()}
	var first, prompt []float64
	var all inference.Exchange
	var failed error
	for _, o := range results {
		if o.err != nil && (failed == nil || errors.Is(failed, context.Canceled)) { // the others were only called off
			failed = o.err
		}
		all = all.Add(o.x)
		first = append(first, o.first)
		if o.x.PromptMS != nil {
			prompt = append(prompt, *o.x.PromptMS)
		}
	}
	if failed != nil {
		return nil, failed
	}
	r.PromptTokens, r.CachedTokens, r.FirstMS = all.PromptTokens, all.CachedTokens, spread(first)
	if all.CachedTokens != nil && all.PromptTokens > 0 {
		rate := float64(*all.CachedTokens) / float64(all.PromptTokens)
		r.HitRate = &rate
	}
	if len(prompt) == len(results) {
		s := spread(prompt)
		r.PromptMS = &s
	}
	return r, nil
}

// ask puts one prompt behind the imprint, in a session of its own.
func (l Load) ask(ctx context.Context, prompt string) (o one) {
	prefix := make([]inference.Token, 0, len(l.Imprint.Tokens()))
	for _, t := range l.Imprint.Tokens() {
		prefix = append(prefix, inference.Token(t))
	}
	suffix, err := l.World.Suffix(append(l.Messages[:len(l.Messages):len(l.Messages)], chattemplate.Message{Role: chattemplate.User, Content: prompt}), prefix)
	if err != nil {
		return one{err: err}
	}
	p := l.World.Params
	p.ContextTokens = len(prefix) + len(suffix) + 64*l.Tokens
	session, err := l.World.Model.NewSession(ctx, p)
	if err != nil {
		return one{err: err}
	}
	defer session.Close()
	w, ok := session.(inference.Writer)
	if !ok {
		return one{err: fault.New(fault.CodeInvalidArguments, "the model runs here: edge bench measures it; this is for ollama: and openai: models")}
	}
	if _, err := l.Imprint.Restore(ctx, w); err != nil {
		return one{err: err}
	}
	if err := w.Decode(ctx, inference.Batch{Tokens: suffix}); err != nil {
		return one{err: err}
	}
	start := l.Clock()
	out, err := w.Write(ctx, inference.Ask{MaxTokens: l.Tokens, First: func() { o.first = float64(l.Clock().Sub(start).Microseconds()) / 1000 }})
	o.x, o.err = out.Exchange, err
	return o
}
