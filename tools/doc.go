// Package tools owns the contract between a model and the user's functions: what a tool is, which tools are active, how
// a call is written, and what may come back.
//
// The invariant: what runs is what was frozen. An ActiveSet is made only by Freeze, never changes, and is named by its
// digest; every call and every result is checked against it, as if no grammar had guided the model. A commit call runs
// at most once, through a PendingStore.
//
// Refused, never repaired: a file with any problem, more than MaxActive tools, schemas that can't be enforced, unknown
// names, arguments of another type, text that is nearly a call, results beyond MaxResultBytes.
//
// Values of this package are safe for concurrent use; the byte slices that they hand out must not be written to.
package tools
