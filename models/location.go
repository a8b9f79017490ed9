package models

import (
	"runtime"

	"edge/internal/fault"
)

// RuntimeLocation says where the engine's libraries lie and which release they must be, without reading them: whoever
// opens them digests them first. Errors: runtime_not_found where there is no release for this machine.
func (s *Store) RuntimeLocation() (dir string, r Release, err error) {
	if s.cfg.Release.Platform == "" {
		return "", r, fault.New(fault.CodeRuntimeNotFound, "there are no engine libraries for %s on %s", runtime.GOOS, runtime.GOARCH).
			WithHint("use a machine of %s", platforms())
	}
	return s.runtimeDir(), s.cfg.Release, nil
}
