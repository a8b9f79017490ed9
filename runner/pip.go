package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// pipTimeout is how long one installation may take.
const pipTimeout = 180 * time.Second

// InstallWheels has pip install one requirement, which the caller has checked, into folder. It uses the network and the
// user's own settings, so the user's registries and proxies. Only wheels are taken: they are unpacked, and no code of a
// package runs. The error holds the end of what pip said.
func (r *Runner) InstallWheels(ctx context.Context, folder, requirement string) error {
	ctx, cancel := context.WithTimeout(ctx, pipTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.python.Path, "-I", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--only-binary", ":all:", "--upgrade", "--target", folder, "--", requirement)
	cmd.Env = append(append([]string(nil), r.cfg.Environ...), "PIP_NO_COMPILE=1")
	cmd.WaitDelay = time.Second
	said := &tail{chars: 500}
	cmd.Stdout, cmd.Stderr = said, said
	g, err := newGroup(cmd, launch{})
	if err != nil {
		return err
	}
	defer g.close()
	cmd.Cancel = func() error { g.kill(); return nil }
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := g.adopt(cmd.Process); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.text(folder)))
	}
	return nil
}
