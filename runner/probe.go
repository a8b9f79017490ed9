package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// ProbeReport is what a process under this runner's sandbox found to be enforced.
type ProbeReport struct {
	// Enforced is the block that receipts hold, as canonical JSON.
	Enforced json.RawMessage
	// Confined says that everything which a read tool must not do was denied.
	Confined bool
}

// Probe runs an empty tools file and tells what its process was kept from. Errors as for Inspect.
func (r *Runner) Probe(ctx context.Context) (ProbeReport, error) {
	dir, err := os.MkdirTemp(r.cfg.TempDir, "edge-probe-*")
	if err != nil {
		return ProbeReport{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.py")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return ProbeReport{}, err
	}
	ran, err := r.exchange(ctx, "probe", r.levelFor(false), request{Op: opInspect, Path: path})
	if err != nil {
		return ProbeReport{}, err
	}
	return ProbeReport{Enforced: ran.sandbox, Confined: allDenied(ran.sandbox) == nil}, nil
}
