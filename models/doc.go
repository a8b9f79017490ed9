// Package models has everything that edge runs but didn't compile: the engine's libraries and the model files. It knows
// where they come from, what they must digest to, where they lie, and what is true of the ones that are here.
//
// The invariant: a file is used only under a digest that was taken from its bytes. Libraries are hashed against digests
// that are compiled in, each time before they are opened; a model is hashed whole, and that digest is remembered only
// as long as nothing that the operating system says about the file has moved. Downloads become visible when their
// digest was found right, and not before.
//
// Refused: files with other bytes than the pinned ones, runtime folders with one file too many or too few, archives
// that reach outside themselves, models that change while they are read. Nothing here is repaired without being asked.
//
// Optimize writes a model anew in layouts that this machine computes faster, by way of a Bench, and recommends one only
// where it says nearly what the file as it is says. What it makes has a name and a digest of its own.
//
// The network is used by Setup and Pull only. A Store may be used by several goroutines; processes take turns.
package models
