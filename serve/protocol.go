package serve

import "time"

// Protocol is the version that both sides must speak.
const Protocol = "edge.serve/v1"

// The operations of a request.
const (
	opChat   = "chat"
	opStatus = "status"
	opStop   = "stop"
)

const (
	answerTimeout = 3 * time.Second  // a server answers a request at once, or is as good as gone
	askTimeout    = 10 * time.Second // a client that connects has something to say
)

// Build tells two programs apart: only the very same one may run a client's command.
type Build struct {
	Version    string `json:"version"`
	Engine     string `json:"engine"`
	Executable string `json:"executable"` // size and time of the program's file
}

// Request is what a client wants done.
type Request struct {
	Protocol string   `json:"protocol"`
	Op       string   `json:"op"`
	Build    Build    `json:"build"`
	Token    string   `json:"token,omitempty"` // over TCP
	Args     []string `json:"args,omitempty"`  // flags of the chat, every path absolute
	Environ  []string `json:"environ,omitempty"`
	Terminal bool     `json:"stderr_is_terminal,omitempty"`
	Started  int64    `json:"started_unix_ns,omitempty"` // when the client's process started
}

type accepted struct {
	PID int `json:"pid"`
}

type declined struct {
	Reason string `json:"reason"`
}

type exit struct {
	Status int `json:"status"`
}
