package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"edge/internal/canon"
)

// toolbox is what a task's calls run on.
type toolbox struct {
	library      *Library
	workbench    *Workbench
	web          Web
	code         Interpreter
	allowCreate  bool
	allowNetwork bool
}

// session is the state of one task: what was shown, found and made in it.
type session struct {
	toolbox
	provenance Provenance

	trajectory []string // names of what was called
	verified   bool     // code_interpreter has printed something
	made       []Record
	unlocked   []string // names, in the order in which they were found or made
	used       []use
}

// use is one run of a library's tool.
type use struct {
	record  Record
	args    map[string]json.RawMessage
	success bool
}

// step is one call with its outcome.
type step struct {
	result  json.RawMessage // canonical
	network bool            // it needed the network, so it can't be repeated without
}

type failure struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
}

func failed(format string, args ...any) failure { return failure{Error: fmt.Sprintf(format, args...)} }

// call runs one call. What goes wrong is a result for the planner; an error ends the task.
func (s *session) call(ctx context.Context, name string, args map[string]json.RawMessage) (step, error) {
	s.trajectory = append(s.trajectory, clip(name, 60))
	result, network, err := s.dispatch(ctx, name, args)
	if err != nil {
		return step{}, err
	}
	raw, err := canon.Marshal(result)
	if err != nil {
		raw, err = canon.Marshal(failed("the result can't be written as JSON: %s", err))
	}
	return step{raw, network}, err
}

func (s *session) dispatch(ctx context.Context, name string, args map[string]json.RawMessage) (result any, network bool, err error) {
	switch name {
	case SearchTools:
		found, err := s.searchTools(text(args["query"]))
		return found, false, err
	case WebSearch:
		return s.webSearch(ctx, args), s.web != nil, ctx.Err()
	case ReadWebpage:
		return s.readWebpage(ctx, args), s.web != nil, ctx.Err()
	case CodeInterpreter:
		packages := texts(args["pip_install"])
		result, err := s.interpret(ctx, text(args["code"]), packages)
		return result, len(packages) > 0 && s.allowNetwork, err
	case CreateTool:
		result, err := s.create(ctx, args)
		return result, false, err
	}
	result, err = s.use(ctx, name, args)
	return result, false, err
}

func (s *session) searchTools(query string) (Found, error) {
	list, err := s.library.List()
	if err != nil {
		return Found{}, err
	}
	found := search(list, query)
	for _, t := range found.Tools {
		s.unlock(t.Name)
	}
	return found, nil
}

func (s *session) unlock(name string) {
	if !slices.Contains(s.unlocked, name) {
		s.unlocked = append(s.unlocked, name)
	}
}

func (s *session) webSearch(ctx context.Context, args map[string]json.RawMessage) any {
	type answer struct {
		Success bool   `json:"success"`
		Query   string `json:"query,omitempty"`
		Error   string `json:"error,omitempty"`
		Count   int    `json:"count"`
		Results []Hit  `json:"results"`
	}
	query := strings.TrimSpace(text(args["query"]))
	switch {
	case query == "":
		return answer{Error: "search query is empty", Results: []Hit{}}
	case s.web == nil:
		return answer{Error: refuseWeb, Results: []Hit{}}
	}
	var count any
	if raw, ok := args["num_results"]; ok && json.Unmarshal(raw, &count) != nil {
		count = nil
	}
	hits, err := s.web.Search(ctx, query, count)
	if err != nil {
		return answer{Error: "search failed: " + clip(err.Error(), 500), Results: []Hit{}}
	}
	return answer{Success: true, Query: query, Count: len(hits), Results: hits}
}

func (s *session) readWebpage(ctx context.Context, args map[string]json.RawMessage) any {
	url := text(args["url"])
	switch {
	case !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://"):
		return failed("invalid url")
	case s.web == nil:
		return failed(refuseWeb)
	}
	page, err := s.web.Read(ctx, url, MaxPageChars)
	if err != nil {
		return failed("fetch failed: %s", clip(err.Error(), 500))
	}
	return struct {
		Success bool `json:"success"`
		Page
	}{true, page}
}

func (s *session) interpret(ctx context.Context, code string, packages []string) (Interpreted, error) {
	var logs []string
	if len(packages) > 0 && !s.allowNetwork {
		for _, p := range packages {
			logs = append(logs, fmt.Sprintf("[pip install %s] refused: the network is off in this run", clip(p, 80)))
		}
		packages = nil
	}
	out, err := s.code.Interpret(ctx, code, packages)
	if err != nil {
		return out, err
	}
	out.PipLogs = append(logs, out.PipLogs...)
	if out.PipLogs == nil {
		out.PipLogs = []string{}
	}
	s.verify(out)
	return out, nil
}

// verify takes note of code that ran and printed something.
func (s *session) verify(out Interpreted) {
	if out.Success && strings.TrimSpace(out.Stdout) != "" {
		s.verified = true
	}
}

func (s *session) create(ctx context.Context, args map[string]json.RawMessage) (any, error) {
	code := text(args["code"])
	sign := invented(code)
	switch {
	case !s.allowCreate:
		return failed(refuseCreate), nil
	case !s.verified:
		return failed(refuseUnverified), nil
	case sign != "":
		return failed(refuseInvented, sign), nil
	}
	p := Proposal{Name: text(args["name"]), Description: text(args["description"]), Parameters: unwrapped(args["parameters"]), Code: code, Provenance: s.provenance}
	if raw := unwrapped(args["test_args"]); len(raw) > 0 && string(raw) != "null" {
		if json.Unmarshal(raw, &p.TestArgs) != nil {
			return failed("test_args must be an object"), nil
		}
	}
	created, err := s.library.Create(ctx, s.workbench, p)
	if err != nil || !created.Success {
		return created, err
	}
	if r, ok := s.library.Get(created.Name); ok {
		s.made = append(s.made, r)
		s.unlock(created.Name)
	}
	return created, nil
}

// use runs a library's tool.
func (s *session) use(ctx context.Context, name string, args map[string]json.RawMessage) (any, error) {
	r, ok := s.library.Get(name)
	switch {
	case !ok:
		return failed("unknown tool: %s", clip(name, 80)), nil
	case r.Quarantined:
		return failed(refuseQuarantine, name, r.FailuresInARow), nil
	case !slices.Contains(s.unlocked, name):
		return failed(refuseLocked, name), nil
	}
	out := s.workbench.Run(ctx, r, args)
	if err := fatal(out.err); err != nil {
		return nil, err
	}
	s.used = append(s.used, use{r, args, out.Success})
	if out.Misused { // the caller's mistake isn't held against the tool
		return out, nil
	}
	return out, s.library.Note(ctx, r, out.Success)
}

// offers are the tools that may be called now: the basic ones, and those of the library that this task has found or made.
func (s *session) offers(ctx context.Context) ([]Offer, error) {
	list := metaOffers(s.allowCreate)
	for _, name := range s.unlocked {
		r, ok := s.library.Get(name)
		if !ok || r.Quarantined {
			continue
		}
		closed, err := s.workbench.Closed(ctx, r)
		if err := fatal(err); err != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		list = append(list, Offer{r.Name, "[tool of the library] " + r.Description, r.Parameters, closed})
	}
	return list, nil
}

// reused reports whether a task was solved with the library alone: it was searched, a tool of it gave a result, and neither
// the web nor create_tool was called.
func (s *session) reused() bool {
	return slices.Contains(s.trajectory, SearchTools) && !slices.Contains(s.trajectory, WebSearch) && !slices.Contains(s.trajectory, CreateTool) &&
		slices.ContainsFunc(s.used, func(u use) bool { return u.success })
}
