package models

import "io"

// SetFree makes a disk as full as a test needs it.
func (s *Store) SetFree(free func(dir string) (int64, error)) { s.free = free }

// HasLibFFI is hasLibFFI for another root of the file system.
func HasLibFFI(root, arch string) bool { return hasLibFFI(root, arch) }

// Bounded is the reader that unpacking goes through.
func Bounded(r io.Reader, limit int64) io.Reader { return &bounded{r, limit} }
