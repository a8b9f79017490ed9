package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"edge/imprint"
	"edge/inference"
	"edge/internal/digest"
	"edge/learn"
)

// Work is what other programs are given to measure the same: edge.bench_work/v1.
type Work struct {
	Schema      string            `json:"schema"`
	Target      int               `json:"target"` // the length that was asked for
	Model       string            `json:"model"`  // path
	ModelSHA256 digest.SHA256     `json:"model_sha256"`
	Threads     int               `json:"threads"`
	Context     int               `json:"context_tokens"` // room for prefix, request and reply
	ToolsFile   string            `json:"tools_file"`
	Imprint     string            `json:"imprint"`
	Messages    []WorkMessage     `json:"messages"` // what the prefix was rendered from
	Question    string            `json:"question"`
	Prefix      []inference.Token `json:"prefix"`
	Suffix      []inference.Token `json:"suffix"` // the question's
	Requests    []WorkRequest     `json:"requests"`
	JSONSchema  json.RawMessage   `json:"json_schema"` // of a call of any of the tools
}

// WorkMessage is a turn, for programs that render conversations themselves.
type WorkMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// WorkRequest is a request for a tool, with the call that it means.
type WorkRequest struct {
	Prompt    string            `json:"prompt"`
	Suffix    []inference.Token `json:"suffix"`
	ToolName  string            `json:"tool_name"`
	Arguments json.RawMessage   `json:"arguments"`
}

// WriteWork bakes one prefix and writes work.json, the tools file and the imprint into the configuration's folder.
func WriteWork(ctx context.Context, cfg Config, prefixTokens int) (*Work, error) {
	b := newBench(cfg)
	s, err := b.fitting(ctx, prefixTokens)
	if err != nil {
		return nil, err
	}
	if err := b.bake(ctx, s); err != nil {
		return nil, err
	}
	w := &Work{
		Schema: "edge.bench_work/v1", Target: prefixTokens, Model: s.world.File.Path, ModelSHA256: s.world.File.SHA256, Threads: s.world.Params.Threads,
		Context: len(s.prefix) + room, ToolsFile: s.file, Imprint: s.path, Question: question, Prefix: s.prefix, Suffix: s.suffix, Requests: []WorkRequest{},
	}
	for _, m := range s.messages {
		w.Messages = append(w.Messages, WorkMessage{m.Role, m.Content})
	}
	if s.set != nil {
		if w.JSONSchema, err = callSchema(s); err != nil {
			return nil, err
		}
	}
	for _, t := range corpus()[:s.tools] {
		suffix, err := s.ask(t.asked.prompt)
		if err != nil {
			return nil, err
		}
		w.Requests = append(w.Requests, WorkRequest{t.asked.prompt, suffix, t.name, json.RawMessage(t.asked.arguments)})
	}
	raw, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(filepath.Join(b.Dir, "work.json"), raw, 0o600)
}

// callSchema is the JSON Schema of a call of any of the tools, its members in the order in which edge writes them.
func callSchema(s *subject) (json.RawMessage, error) {
	var calls []map[string]any
	for _, t := range s.set.Tools() {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		calls = append(calls, map[string]any{
			"type": "object", "properties": json.RawMessage(fmt.Sprintf(`{"tool_name":{"const":%s},"arguments":%s}`, name, t.Parameters)),
			"required": []string{"tool_name", "arguments"}, "additionalProperties": false,
		})
	}
	return json.Marshal(map[string]any{"oneOf": calls})
}

// MeasureWork measures the calls of a folder that WriteWork has filled, from the imprint that lies there.
func MeasureWork(ctx context.Context, cfg Config) (*Calls, error) {
	raw, err := os.ReadFile(filepath.Join(cfg.Dir, "work.json"))
	if err != nil {
		return nil, err
	}
	var w Work
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("work.json: %w", err)
	}
	b := newBench(cfg)
	s, err := b.fitting(ctx, w.Target)
	if err != nil {
		return nil, err
	}
	if err := b.open(ctx, s, w.Imprint); err != nil {
		return nil, err
	}
	c := b.callsOn([]*subject{s})
	for round := range cfg.Runs {
		if err := c.round(ctx, round); err != nil {
			return nil, err
		}
	}
	return c.result(), nil
}

// open takes a subject's state and what was learned out of an imprint.
func (b *bench) open(ctx context.Context, s *subject, path string) error {
	u, err := imprint.Open(path)
	if err != nil {
		return err
	}
	defer u.Close()
	v, err := u.Verify(ctx, s.identity())
	if err != nil {
		return err
	}
	s.path, s.state = path, v.State()
	s.learned, err = learn.DecodeLearned(v.Learned())
	return err
}
