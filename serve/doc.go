// Package serve is the resident engine: one process that keeps a model and imprints loaded and runs chats for clients of
// the same user, over a private socket (docs/protocol/serve-v1.md).
//
// The invariants it owns: one computation at a time, first come first served; a session that held anybody's text is
// emptied before anyone else gets it, and what is put into it ahead of a chat is an imprint's verified state and nothing
// else; nothing that the gate checks is left out for being resident, but that bytes which were verified, and are still
// in memory, are not read again while their file stands untouched. What it refuses: peers of another user, other builds
// of edge, and commands other than a chat.
package serve
