// Package receipts keeps canonical, hash-first records of what edge decided and did, and says whether they are still
// what was written.
//
// Its invariants: a receipt is one canonical JSON file whose every byte is covered by a digest; it holds digests of
// contents and never contents; the receipts of one folder form a hash chain, in which each one names the digest of the
// one before it. A receipt is whole or not there, also after kill -9 or a power cut, and the chain goes on from it.
//
// It refuses bodies that carry contents, and reading anything that isn't exactly what was written. What it can't see is
// said where it matters: a chain can't show that its newest receipts were cut off, unless the digest of the newest one
// was kept elsewhere. A receipt claims that the record is unchanged; it doesn't claim that the tool was right.
//
// For others to check, receipts are exported as in-toto statements, signed if a key is given. A statement is a function
// of its receipt and has nothing that isn't in it.
//
// A Store may be used by several goroutines and several processes at once, on a file system of one machine: writers
// take turns by a lock that ends with its process. docs/format/receipt-v1.md is the format; what version 1 wrote will
// be read by every later edge.
package receipts
