// Package agent runs the agents of a file: each with its own instructions, frozen tools and, where it has learned them,
// its own imprint, all on one loaded model. An agent may be another's tool, and may hand its request over to another.
//
// The invariant it owns: every run ends. Agents that are each other's tools in a circle are refused when the file is
// loaded; how deep runs nest, how often a request is handed over and how often models reply is bounded. A commit call
// of any agent ends the whole run until a person confirms it.
package agent
