package inference

import (
	"context"
	"encoding/json"
)

// Ask is what a Writer is asked for.
type Ask struct {
	Schema      json.RawMessage // the reply is one JSON text that follows it; nil: words
	Grammar     string          // the same in GBNF, for a server that takes it; may be empty
	MaxTokens   int
	Temperature float64 // 0: the most likely token
	Seed        uint64
	OnText      func(string) // hears the text as it comes; may be nil
	First       func()       // called when the first text is there; may be nil
	Stop        func() bool  // asked between pieces of text; true ends the reply; may be nil
}

// Written is one reply.
type Written struct {
	Text     string
	Ended    bool // the model ended its turn; false: MaxTokens was reached first, or
	Stopped  bool // Ask.Stop said so
	Exchange Exchange
}

// Exchange is what a server said of a request, or of several added up. What it doesn't say is null: unknown isn't 0.
type Exchange struct {
	Backend         string   `json:"backend"`
	Requests        int      `json:"requests"`
	PromptTokens    int      `json:"prompt_tokens"`
	GeneratedTokens int      `json:"generated_tokens"`
	CachedTokens    *int     `json:"cached_tokens"`
	LoadMS          *float64 `json:"load_ms"`     // the server loading the model
	PromptMS        *float64 `json:"prompt_ms"`   // reading the prompt; a hit shows as a small part of a cold run's
	GenerateMS      *float64 `json:"generate_ms"` // writing the reply
	Unfinished      int      `json:"unfinished"`  // requests that edge ended before the server had counted; their tokens aren't in here
	SlotRestored    bool     `json:"slot_restored"`
	ModelProven     bool     `json:"model_proven"` // the model is known by the digest of its content
}

// Add gives the sum of two exchanges with one server.
func (e Exchange) Add(o Exchange) Exchange {
	if e.Requests == 0 {
		return o
	}
	if o.Requests == 0 {
		return e
	}
	e.Requests += o.Requests
	e.PromptTokens += o.PromptTokens
	e.GeneratedTokens += o.GeneratedTokens
	e.CachedTokens = sum(e.CachedTokens, o.CachedTokens)
	e.LoadMS, e.PromptMS, e.GenerateMS = sum(e.LoadMS, o.LoadMS), sum(e.PromptMS, o.PromptMS), sum(e.GenerateMS, o.GenerateMS)
	e.Unfinished += o.Unfinished
	e.SlotRestored = e.SlotRestored || o.SlotRestored
	e.ModelProven = e.ModelProven && o.ModelProven
	return e
}

func sum[N int | float64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	s := *a + *b
	return &s
}

// Keeper is a session whose server can keep what it computed for the tokens so far. The next SaveState names it.
type Keeper interface {
	Keep(ctx context.Context) error
}

// Writer is a session of a served model: the server draws a whole reply. What it wrote is then part of the session.
type Writer interface {
	Session
	Write(ctx context.Context, a Ask) (Written, error)
	// Served says what is known of the server without asking it anything: an Exchange of no requests.
	Served() Exchange
}
