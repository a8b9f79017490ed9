package llamacpp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"edge/inference"
	"edge/internal/digest"
	"edge/internal/fault"
)

// checkFolder makes sure that nothing but the known libraries could be opened: the engine opens every backend that it
// finds in the folder.
func checkFolder(cfg Config) error {
	entries, err := os.ReadDir(cfg.Dir)
	if errors.Is(err, os.ErrNotExist) || len(cfg.Libraries) == 0 {
		return fault.New(fault.CodeRuntimeNotFound, "no engine libraries in %s", cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("engine libraries: %w", err)
	}
	known := map[string]bool{}
	for _, lib := range cfg.Libraries {
		known[lib.Name] = true
	}
	for _, e := range entries {
		if err := checkEntry(cfg.Dir, e, known); err != nil {
			return err
		}
	}
	return nil
}

// checkLibraries digests files of the folder, on all cores.
func checkLibraries(dir string, libraries []inference.Library) error {
	errs := make([]error, len(libraries))
	var all sync.WaitGroup
	for i, lib := range libraries {
		all.Go(func() { errs[i] = checkLibrary(dir, lib) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEntry refuses a library under a name that has no digest. A second name must lead to one that has.
func checkEntry(dir string, e os.DirEntry, known map[string]bool) error {
	switch filepath.Ext(e.Name()) {
	case ".so", ".dylib", ".dll":
	default:
		return nil
	}
	name := e.Name()
	if e.Type()&os.ModeSymlink != 0 {
		target, err := os.Readlink(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("engine libraries: %w", err)
		}
		name = target
	}
	if !known[name] {
		return fault.New(fault.CodeRuntimeDigestMismatch, "%s in %s isn't one of the engine's libraries", e.Name(), dir)
	}
	return nil
}

func checkLibrary(dir string, lib inference.Library) error {
	got, err := digest.SHA256File(filepath.Join(dir, lib.Name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fault.New(fault.CodeRuntimeNotFound, "engine library %s isn't in %s", lib.Name, dir)
	case err != nil:
		return fmt.Errorf("digest engine library: %w", err)
	case got != lib.SHA256:
		return fault.New(fault.CodeRuntimeDigestMismatch, "engine library %s: got sha256 %s, want %s", lib.Name, got, lib.SHA256)
	}
	return nil
}

// pending is a check that is under way.
type pending struct {
	done chan struct{}
	err  error
}

func begin(check func() error) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = check()
	}()
	return p
}

func (p *pending) wait() error {
	<-p.done
	return p.err
}
