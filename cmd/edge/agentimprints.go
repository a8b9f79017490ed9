package main

import (
	"encoding/json"
	"strings"

	"edge/agent"
	"edge/imprint"
	"edge/internal/fault"
	"edge/receipts"
)

// named are the imprints that the flags name, by agent.
func (f *agentFlags) named() (map[string]string, error) {
	named := map[string]string{}
	if f.receipt != "" {
		r, err := receipts.Read(f.receipt)
		if err != nil {
			return nil, err
		}
		var body struct {
			Agents []learnedAgent `json:"agents"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || r.Kind != agentLearnKind || len(body.Agents) == 0 {
			return nil, fault.New(fault.CodeInvalidArguments, "--with-imprints: %s isn't the receipt of an edge agent learn", f.receipt)
		}
		for _, l := range body.Agents {
			named[l.Agent] = l.ArtifactID
		}
	}
	for _, pair := range f.imprints {
		name, id, ok := strings.Cut(pair, "=")
		if !ok || name == "" || id == "" {
			return nil, fault.New(fault.CodeInvalidArguments, "--with-imprint takes NAME=ID, got %q", pair)
		}
		named[name] = id
	}
	return named, nil
}

// openImprints opens the files, and reads none of them through: that is done for those agents that are asked.
func (a *app) openImprints(file *agent.File, named map[string]string) (map[string]*imprint.Unverified, error) {
	open := map[string]*imprint.Unverified{}
	if len(named) == 0 {
		return open, nil
	}
	store, err := a.imprints()
	if err != nil {
		return open, err
	}
	for name, ref := range named {
		one, err := file.Agent(name)
		if err != nil {
			return open, err
		}
		u, err := store.Open(ref)
		if err != nil {
			e := *fault.From(err)
			e.Message, e.Err = "agent "+one.Name+": "+e.Message, err
			return open, &e
		}
		open[one.Name] = u
	}
	return open, nil
}

func closeImprints(open map[string]*imprint.Unverified) {
	for _, u := range open {
		u.Close()
	}
}
