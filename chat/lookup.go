package chat

import (
	"context"
	"encoding/json"
	"time"

	"edge/facts"
	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// LookupName is the built-in tool's name, unless a manifest gives it one of the developer's.
const LookupName = "local_facts_lookup"

const (
	lookupDescription = "Look up facts in the user's own local store."
	lookupLimit       = 5
	// lookupVersion stands for the schema below, which no Python generated.
	lookupVersion    = "builtin-1"
	lookupParameters = `{"additionalProperties":false,"properties":{"query":{"type":"string"}},"required":["query"],"type":"object"}`
)

// Lookup is the built-in fact lookup: a read tool that edge itself runs, without Python.
type Lookup struct {
	store *facts.Store
}

// NewLookup reads from store, which the caller closes.
func NewLookup(store *facts.Store) *Lookup { return &Lookup{store} }

// LookupSet freezes the built-in tool under a name and a description; empty ones are the built-in's own. source is what
// names it: the store, or the manifest.
func LookupSet(source, name, description string) (*tools.ActiveSet, error) {
	if name == "" {
		name = LookupName
	}
	if description == "" {
		description = lookupDescription
	}
	sum := digest.SHA256Of([]byte(name + "\n" + description + "\n" + lookupParameters))
	return tools.Freeze(tools.Inspection{
		Path: source, FileSHA256: sum, GeneratorVersion: lookupVersion,
		Tools: []tools.Tool{{
			Name: name, Description: description, Parameters: json.RawMessage(lookupParameters),
			ExecutionLevel: tools.Read, Permissions: []string{"read_local"},
		}},
	}, tools.Selection{})
}

var _ Runner = (*Lookup)(nil)

// Call implements Runner. No match is a result as any other: {"matches":[]}.
func (l *Lookup) Call(ctx context.Context, req runner.CallRequest) (runner.Result, error) {
	start := time.Now()
	var args struct {
		Query string `json:"query"`
	}
	if err := canon.Unmarshal(req.Call.Arguments, &args); err != nil {
		return runner.Result{}, fault.New(fault.CodeInvalidToolArgs, "tool %s: %w", req.Call.ToolName, err)
	}
	found, err := l.store.Search(ctx, args.Query, lookupLimit)
	if err != nil {
		return runner.Result{Duration: time.Since(start)}, fault.From(err)
	}
	matches := make([]map[string]any, len(found))
	for i, m := range found {
		matches[i] = map[string]any{"text": m.Text}
		if m.Source != "" {
			matches[i]["source"] = m.Source
		}
	}
	result, err := canon.Marshal(map[string]any{"matches": matches})
	return runner.Result{Canonical: result, Duration: time.Since(start), Sandbox: json.RawMessage(`{"mechanism":"builtin"}`)}, err
}
