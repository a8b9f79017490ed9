// Package fake is a deterministic engine for tests: it has a tokenizer, states, grammars and hidden states, and no model.
//
// What it guarantees: everything that it computes follows from the tokens decoded, the split points and the options, so
// that a restored session can be told from one that only looks restored; and it keeps the contract of package inference
// exactly as far as package enginetest can tell. Beyond that it can be made to say a given text (Options.Script) and to
// fail where real engines have been seen to fail (Options.Faults).
//
// Like the real one, its restore believes the bytes of a state: only their length and layout are checked. It refuses
// what llama.cpp refuses, and grammars that define a rule twice besides.
package fake
