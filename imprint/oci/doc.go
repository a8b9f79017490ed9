// Package oci carries imprints between machines as OCI artifacts: to and from registries, and folders in the OCI image
// layout.
//
// An artifact is an image manifest whose config is the imprint's header and whose only layer is the imprint's file,
// byte for byte; docs/sharing.md is its specification. Nothing in it depends on a clock, a path or a machine, so the
// same imprint makes the same manifest.
//
// The invariant: what Pull puts into a store has passed, in this order, the digests of the manifest, the trust that was
// asked for, the digest of the file, and the imprint's own gate (steps 1 to 3 and 5). Trust is decided before the file
// is fetched. A length that the other side declares is compared with one that was checked before anything is allocated
// or written by it. Of whatever is refused nothing is left; of a transfer that was interrupted the bytes that came are
// kept in the store's hidden folder, and the next pull goes on from there.
//
// Refused: artifacts of another type; registries over plain http that aren't this machine; and, from a registry, an
// imprint that no trusted key has signed, unless the caller takes unsigned ones.
//
// Only cmd/edge imports this package. It is the only one beside package models that uses the network.
package oci
