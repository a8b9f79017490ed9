package evolve

import "path/filepath"

// Place is the folders of edge evolve below one folder.
type Place struct{ dir string }

// NewPlace gives the folders below dir.
func NewPlace(dir string) Place { return Place{dir} }

// Library holds the tools.
func (p Place) Library() string { return filepath.Join(p.dir, "library") }

// Trajectories holds what was done for each task.
func (p Place) Trajectories() string { return filepath.Join(p.dir, "trajectories") }

// Learned holds, for each imprint that was learned from the library, its tools file and what was in it.
func (p Place) Learned() string { return filepath.Join(p.dir, "learned") }
