package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"edge/inference"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

// model is one model of the server.
type model struct {
	*Engine
	entry entry
	file  string // the model's file, where it lies here
	sum   digest.SHA256

	mu   sync.Mutex
	slot *served.Slot // what was restored last
}

// Chat implements served.Server.
func (m *model) Chat(ctx context.Context, r served.Request, hear func(string) error) (ended bool, x inference.Exchange, err error) {
	if err := m.same(ctx); err != nil {
		return false, x, err
	}
	body := m.request(r)
	restored := m.restore(ctx, r.Slot)
	if restored {
		body["id_slot"] = slotID
	}
	ctx, cancel := context.WithCancel(ctx) // a reply that isn't wanted any more is ended at the server, too
	defer cancel()
	response, err := m.send(ctx, http.MethodPost, "/v1/chat/completions", body, r.Prefix)
	if err != nil {
		return false, x, err
	}
	defer response.Body.Close()
	s := stream{model: m, hear: hear}
	err = s.read(ctx, response)
	if err != nil && !served.Stopped(err) {
		return false, x, err
	}
	x = s.exchange()
	// That a restore was answered well proves nothing: what counts is how much wasn't read again.
	x.SlotRestored = restored && x.CachedTokens != nil && *x.CachedTokens >= r.Slot.Tokens-slotSlack
	return s.finish == "stop", x, err
}

// same makes sure that the server still has the model that was opened.
func (m *model) same(ctx context.Context) error {
	list, err := m.list(ctx)
	if err != nil {
		return err
	}
	changed := func(got string) error {
		e := fault.New(fault.CodeServedModelChanged, "%s at %s is another model now", m.entry.ID, m.root.Host)
		e.Mismatches = []fault.Mismatch{{Field: "model", Want: m.sum.String(), Got: got}}
		return e
	}
	for _, now := range list {
		if now.ID != m.entry.ID {
			continue
		}
		if claims := m.claims(now); !bytes.Equal(claims, m.claims(m.entry)) {
			return changed(digest.SHA256Of(claims).String())
		}
		if m.file == "" {
			return nil
		}
		if sum, err := m.cfg.Hash(ctx, m.file); err != nil || sum != m.sum {
			return changed(sum.String())
		}
		return nil
	}
	return changed("absent")
}

func (m *model) request(r served.Request) map[string]any {
	body := map[string]any{
		"model": m.entry.ID, "messages": r.Messages, "max_tokens": r.MaxTokens, "temperature": r.Temperature, "seed": int(r.Seed >> 33),
		"stream": true, "stream_options": map[string]any{"include_usage": true},
	}
	if m.backend != inference.BackendOpenAI {
		body["chat_template_kwargs"] = map[string]any{"enable_thinking": false}
	}
	if m.backend == inference.BackendLlamaServer {
		body["cache_prompt"], body["timings_per_token"] = true, true // counted also where edge ends the reply
	}
	switch {
	case r.Grammar != "":
		body["grammar"] = r.Grammar
	case len(r.Schema) > 0:
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "call", "schema": r.Schema, "strict": true}}
	}
	return body
}

// chunk is one event of a reply.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          *struct {
			CachedTokens *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Timings *struct {
		CacheN      *int    `json:"cache_n"`
		PromptN     int     `json:"prompt_n"`
		PromptMS    float64 `json:"prompt_ms"`
		PredictedN  int     `json:"predicted_n"`
		PredictedMS float64 `json:"predicted_ms"`
	} `json:"timings"`
}

// stream reads the events of one reply.
type stream struct {
	model  *model
	hear   func(string) error
	finish string
	done   bool
	last   chunk // its usage and timings
}

func (s *stream) read(ctx context.Context, response *http.Response) error {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, longestReply)
	for !s.done && lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			if text, isError := strings.CutPrefix(lines.Text(), "error:"); isError {
				return s.model.refused("", []byte(text))
			}
			continue
		}
		if err := s.event(strings.TrimSpace(data)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lines.Err() != nil:
		return served.Trouble(ctx, s.model.root, lines.Err(), true)
	case !s.done || s.finish == "":
		return fault.New(fault.CodeServedStreamCut, "%s: the reply ended before it was done", s.model.root.Host)
	}
	return nil
}

func (s *stream) event(data string) error {
	if data == "[DONE]" {
		s.done = true
		return nil
	}
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return fault.New(fault.CodeServedReply, "%s: an event of the reply isn't JSON", s.model.root.Host)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return s.model.refused("", []byte(data))
	}
	if c.Usage != nil {
		s.last.Usage = c.Usage
	}
	if c.Timings != nil {
		s.last.Timings = c.Timings
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != nil {
			s.finish = *choice.FinishReason
		}
		if err := s.hear(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

// exchange puts together what was said; a count of cached tokens that the server's other numbers contradict is unknown.
func (s *stream) exchange() (x inference.Exchange) {
	t, u := s.last.Timings, s.last.Usage
	if t != nil {
		x.PromptTokens, x.GeneratedTokens, x.PromptMS, x.GenerateMS = t.PromptN, t.PredictedN, &t.PromptMS, &t.PredictedMS
		if t.CacheN != nil {
			x.PromptTokens += *t.CacheN
			x.CachedTokens = t.CacheN
		}
	}
	if u == nil {
		return x
	}
	if t != nil && t.CacheN != nil && u.PromptTokens != x.PromptTokens {
		x.CachedTokens = nil
	}
	x.PromptTokens, x.GeneratedTokens = u.PromptTokens, u.CompletionTokens
	if u.Details == nil || u.Details.CachedTokens == nil {
		return x
	}
	switch said := u.Details.CachedTokens; {
	case *said < 0 || *said > u.PromptTokens, t != nil && (x.CachedTokens == nil || *x.CachedTokens != *said):
		x.CachedTokens = nil
	default:
		x.CachedTokens = said
	}
	return x
}
