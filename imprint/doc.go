// Package imprint is the artifact: one file that holds an engine's computed state for a prefix of tokens, what was
// learned about choosing tools, and the identity of everything both depend on.
//
// # The gate
//
// An imprint is either exactly right or refused by name. The order of the checks is the design, and the types make it
// unavoidable: Open gives an Unverified (steps 1 to 3: prelude, header, size), its Verify compares the identity with the
// live world (4) and digests the very bytes that an engine will get (5), and only the Verified that comes of it has
// Restore (6). There is no other way to make a Verified, and no step repairs anything. A refusal is a *Refusal: it says
// which step decided, and wraps the *fault.Error with the code.
//
// Four outcomes are never mixed: drift (the live identity differs), corrupt (bytes differ from their digest), stale
// (another format or engine version) and missing.
//
// # The file
//
// docs/format/imprint-v1.md is the specification, docs/format/verify_imprint.py a second reader of it, and
// testdata/vectors/imprint-v1 what both are held to. The ID is the digest of the header, which holds every other
// digest and no clock, path or name of a person or machine: writing the same content twice gives the same bytes.
//
// # The store
//
// A Store is a private folder of imprints named by their id. It serves several processes at once under a lock that
// dies with its holder, and it never deletes a file because it looks damaged: that file is evidence.
//
// # Compatibility
//
// A file written by a released edge stays readable, or is refused as stale, forever. Within format version 1 nothing is
// added to the header: a reader that doesn't know a field can't know whether it matters.
//
// The package knows digests, not tools or engines. Its values may be used from one goroutine at a time, apart from
// Store and Verified, which may be shared.
package imprint
