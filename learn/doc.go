// Package learn makes an imprint: it decodes the tool contract, a profile and worked examples into the model's state,
// learns from the examples how to choose among the tools and where arguments come from, and seals both with the
// identity of everything they depend on.
//
// The invariant it owns: what is learned is a function of the model, the tools, the examples and this package's
// version, never of the holdout, the clock, the locale or the machine's load. Methods and sources: docs/learning.md.
package learn
