// Package evolve is an agent that starts with five general tools, makes the tools that it lacks, checks them by running
// them, keeps them, and uses them again: search_tools, web_search, read_webpage, code_interpreter and create_tool.
//
// The invariant: what a planner writes runs only in the runner's sandbox, at the level read (no network, no writing, no
// processes), and gets into the library only after it ran. A library's tool is called only where this task's own search
// found it, or where this task made it. A good tool is never replaced by one that fails the old one's recorded tests.
//
// The package opens no connection and starts no process itself: the web, the interpreter and the planner come in through
// small interfaces, and package evolve/remote is the planner behind an HTTP address.
package evolve
