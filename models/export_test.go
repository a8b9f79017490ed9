package models

import "io"

// SetFree makes a disk as full as a test needs it.
func (s *Store) SetFree(free func(dir string) (int64, error)) { s.free = free }

// Bounded is the reader that unpacking goes through.
func Bounded(r io.Reader, limit int64) io.Reader { return &bounded{r, limit} }
