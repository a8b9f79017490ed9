// Package chat is the loop between a user, a model and tools: freeze → restore or prefill → decode → validate → run →
// answer. It is deterministic and fails closed: whatever isn't exactly right isn't run, or its result isn't used, and
// the record says why.
//
// The invariant it owns: a tool runs only by way of Dispatcher, which validates the call against the frozen set as if
// nothing had been enforced while decoding, and which never runs a commit tool.
package chat
