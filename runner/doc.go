// Package runner runs one Python call in a process of its own: it starts the interpreter, hands it the request, holds it
// to its limits and buries it.
//
// The invariant: nothing of a call is left when it returns. On every way out, success included, the process group is
// killed, the process reaped, the private folder removed, and what the tool printed drained; and what a call gave is
// used only if exactly one well-formed answer carried this call's secret.
//
// Refused, never repaired: a file whose bytes aren't the frozen ones, a second or malformed answer, a result beyond
// 64 KiB of canonical JSON, a call that takes longer than its limit, and, where the sandbox is required, a platform that
// can't enforce it.
//
// The process's own words are docs/protocol/tool-runner-v1.md. A Runner is safe for concurrent use; every call has a
// process of its own, and none is used twice.
package runner
