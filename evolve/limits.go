package evolve

import "time"

// The limits of one task and of what it leaves behind.
const (
	MaxSteps        = 20   // replies of the planner
	MaxNudges       = 2    // reminders to keep a verified solution
	MaxCallsInReply = 8    // calls of one reply that run; the others are answered with a refusal
	MaxResultChars  = 8000 // of a call's result, as the planner sees it
	MaxPageChars    = 6000 // of a page's text
	MaxStderrChars  = 3000 // of what a failed tool printed: its end
	MaxCodeBytes    = 64 << 10
	MaxSchemaBytes  = 16 << 10
	MaxParameters   = 32
	MaxDescription  = 1000 // characters
	MaxLibrary      = 256  // tools
	MaxFailures     = 3    // in a row; then a tool is quarantined
	MaxLearned      = 8    // tools that go into one imprint
	maxNoted        = 8    // tests and examples that a record keeps
	maxListedCalls  = 64   // calls of one reply that stay in the conversation
	maxNotedChars   = 400  // of a request that is kept as an example
)

// ToolTimeout bounds one run of a tool.
const ToolTimeout = 60 * time.Second
