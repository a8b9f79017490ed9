// Package libffi keeps a missing libffi.so.8 from ending the program before main.
//
// The package github.com/jupiterrider/ffi, which yzma calls the engine through, opens libffi while it is initialised and
// panics where it can't, so that on a system without it no command would work, not even those that say what is missing.
// This package is initialised first: Go takes packages in the order of their import paths, edge/… before github.com/…,
// and everything imported here is imported there too. Where the dynamic linker doesn't find libffi, it lets that
// initialisation pass and has every later attempt to open a library fail with the linker's own words, so that opening
// the engine is engine_load_failed and all the rest works.
//
// Its invariant: what was given in libffi's place is never called, because nothing can be opened that would call it. It
// refuses nothing where libffi is there.
package libffi
