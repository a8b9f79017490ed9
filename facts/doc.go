// Package facts keeps short texts in a local file and finds them by words: the store behind local_facts_lookup.
//
// Its invariants: an import takes every line of a file or none, and taking the same file twice changes nothing; a search
// gives the same facts in the same order for the same store; every query finds what it names in any script, Chinese and
// Japanese words of two characters included, and no character of a query is an operator.
//
// It refuses files that aren't facts stores, stores of a newer edge, and lines that it can't read as a fact, with their
// number. A store is one SQLite file; several processes may use it at once, on a file system of one machine.
package facts
