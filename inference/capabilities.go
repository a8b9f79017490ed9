package inference

import (
	"slices"
	"strings"
)

// Capabilities say what a backend can do for edge. What one can't is done another way or refused by name; nothing is
// pretended.
type Capabilities struct {
	State     bool // a computed state is saved and restored bit for bit; otherwise a prefix is replayed as text
	Slots     bool // the server keeps computed states in files of its own, which edge proves by digest
	Hidden    bool // gives hidden states of the tokens that it decodes
	Logits    bool // gives the scores of every token, so that edge draws them
	Grammar   bool // holds a reply to a grammar (GBNF)
	Schema    bool // holds a reply to a JSON schema
	Streaming bool // a reply is heard while it is written
	Cached    bool // says how much of a prompt it held already
	Durations bool // says how long it took for prompt and reply
	Proven    bool // its model is known by the digest of its content
}

// Backend is one line of the table.
type Backend struct {
	Name, Title string
	Can         Capabilities
}

// The backends' names.
const (
	BackendLlamaCpp    = "llama.cpp"
	BackendOllama      = "ollama"
	BackendLlamaServer = "llama-server"
	BackendVLLM        = "vllm"
	BackendOpenAI      = "openai"
)

// Backends is the one table of what each backend can do. Adapters, their conformance suite and docs/backends.md read it.
func Backends() []Backend {
	return []Backend{
		{BackendLlamaCpp, "embedded llama.cpp", Capabilities{State: true, Hidden: true, Logits: true, Grammar: true, Streaming: true, Cached: true, Durations: true, Proven: true}},
		{BackendOllama, "Ollama", Capabilities{Schema: true, Streaming: true, Durations: true, Proven: true}},
		{BackendLlamaServer, "llama-server", Capabilities{Slots: true, Grammar: true, Schema: true, Streaming: true, Cached: true, Durations: true, Proven: true}},
		{BackendVLLM, "vLLM", Capabilities{Schema: true, Streaming: true, Cached: true}},
		{BackendOpenAI, "other OpenAI-compatible servers", Capabilities{Schema: true, Streaming: true}},
	}
}

// Can gives what the backend of that name can do.
func Can(name string) Capabilities {
	all := Backends()
	i := slices.IndexFunc(all, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return Capabilities{}
	}
	return all[i].Can
}

// BackendTable writes the table in Markdown, as docs/backends.md has it.
func BackendTable() string {
	var b strings.Builder
	all := Backends()
	head, rule := "| |", "|---|"
	for _, backend := range all {
		head += " " + backend.Title + " |"
		rule += "---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
	for _, row := range []struct {
		what string
		can  func(Capabilities) bool
	}{
		{"restores the computed state bit for bit", func(c Capabilities) bool { return c.State }},
		{"restores a slot's file that edge has proven", func(c Capabilities) bool { return c.Slots }},
		{"hidden states for the learned head", func(c Capabilities) bool { return c.Hidden }},
		{"scores of every token", func(c Capabilities) bool { return c.Logits }},
		{"replies held to a grammar", func(c Capabilities) bool { return c.Grammar }},
		{"replies held to a JSON schema", func(c Capabilities) bool { return c.Schema }},
		{"streaming", func(c Capabilities) bool { return c.Streaming }},
		{"says how many prompt tokens were cached", func(c Capabilities) bool { return c.Cached }},
		{"says how long prompt and reply took", func(c Capabilities) bool { return c.Durations }},
		{"model known by its content", func(c Capabilities) bool { return c.Proven }},
	} {
		b.WriteString("| " + row.what + " |")
		for _, backend := range all {
			mark := "–"
			if row.can(backend.Can) {
				mark = "yes"
			}
			b.WriteString(" " + mark + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
