package evolve

import (
	"context"
	"encoding/json"
)

// Planner decides the next step of a task. It may be a model behind an address, a local one, or a script.
type Planner interface {
	// Next gives the reply to a conversation, in which the offered tools may be called. Errors are *fault.Error.
	Next(ctx context.Context, conversation []Message, offers []Offer) (Reply, error)
	// Name says which model it is, for records.
	Name() string
}

// The roles of a conversation.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content string
	Calls   []Call // of an assistant's turn
	CallID  string // of a tool's turn: whose result it is
	Tool    string // of a tool's turn: its name
}

// Call is a call as a planner wrote it. Arguments is text that may be anything.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Reply is a planner's turn: calls, or an answer where there are none.
type Reply struct {
	Content string
	Calls   []Call
}

// Offer is a tool that may be called now.
type Offer struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of an object, as function calling has it.
	Parameters json.RawMessage
	// Closed is the same in the words that a grammar can enforce: closed objects, JSON text where anything may stand.
	Closed json.RawMessage
}
