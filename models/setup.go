package models

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"edge/internal/fault"
	"edge/internal/home"
)

// SetupOptions says how Setup goes about it.
type SetupOptions struct {
	// From are files to use in place of downloads: a folder or .tgz with the engine, a .gguf, .whl or folder of wheels
	// with the default model. They have to be the pinned ones too.
	From []string
	// Repair replaces what is damaged. Without it, damage is an error.
	Repair bool
}

// SetupResult is what is here after Setup.
type SetupResult struct {
	Runtime        Runtime
	RuntimeFetched bool // now, and not by an earlier run
	Model          Model
	ModelFetched   bool
}

// Setup makes the engine libraries and the default model present. Where they are, it only checks them, without network
// and without writing. It may be interrupted at any time, and run by several processes at once.
func (s *Store) Setup(ctx context.Context, opts SetupOptions) (res SetupResult, err error) {
	from, err := s.sortSources(opts.From)
	if err != nil {
		return res, err
	}
	if !opts.Repair {
		if res.Runtime, err = s.Runtime(ctx); err == nil {
			res.Model, err = s.Open(ctx, DefaultModel)
		}
		if !fault.Is(err, fault.CodeRuntimeNotFound) && !fault.Is(err, fault.CodeModelNotFound) {
			return res, repairable(err)
		}
	}
	err = s.locked(ctx, func(temp string) (err error) {
		if res.Runtime, res.RuntimeFetched, err = s.ensureRuntime(ctx, temp, from.engine, opts.Repair); err != nil {
			return err
		}
		res.Model, res.ModelFetched, err = s.ensureModel(ctx, temp, DefaultModel, from.model, opts.Repair)
		return err
	})
	return res, err
}

// PullOptions says how Pull goes about it.
type PullOptions struct {
	From   string // a file or folder to use in place of a download, or ""
	Repair bool   // replace a damaged file
}

// Pull makes one model present. fetched is false where it was there already.
func (s *Store) Pull(ctx context.Context, name string, opts PullOptions) (m Model, fetched bool, err error) {
	if _, err := s.pullable(name); err != nil {
		return m, false, err
	}
	if !opts.Repair {
		if m, err = s.Open(ctx, name); err == nil {
			return m, false, nil
		}
		if !fault.Is(err, fault.CodeModelNotFound) {
			return m, false, repairable(err)
		}
	}
	err = s.locked(ctx, func(temp string) (err error) {
		m, fetched, err = s.ensureModel(ctx, temp, name, opts.From, opts.Repair)
		return err
	})
	return m, fetched, err
}

// locked runs do under the one lock of this EDGE_HOME, with a private temporary folder that goes afterwards.
func (s *Store) locked(ctx context.Context, do func(temp string) error) error {
	root := s.cfg.Home.Path()
	for _, dir := range []string{root, s.cfg.Home.Runtime(), s.cfg.Home.Models()} {
		if err := home.Ensure(dir); err != nil {
			return err
		}
	}
	lock := flock.New(filepath.Join(root, "setup.lock"))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		s.cfg.Notify("another edge is setting up " + root + "; waiting for it")
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if err := s.sweep(); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(root, ".setup-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return do(temp)
}

// sweep removes what an interrupted run left. Only the holder of the lock may: nobody else uses these names.
func (s *Store) sweep() error {
	left := filesLike(s.cfg.Home.Path(), ".setup-*")
	left = append(left, filesLike(s.cfg.Home.Runtime(), ".build-*")...)
	left = append(left, filesLike(s.cfg.Home.Runtime(), ".old-*")...)
	err := filepath.WalkDir(s.cfg.Home.Models(), func(path string, _ fs.DirEntry, err error) error {
		if ok, _ := filepath.Match(".*.gguf.*.tmp", filepath.Base(path)); ok {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// ensureRuntime installs the engine unless it is there and whole.
func (s *Store) ensureRuntime(ctx context.Context, temp, from string, repair bool) (Runtime, bool, error) {
	rt, err := s.Runtime(ctx)
	damaged := fault.Is(err, fault.CodeRuntimeDigestMismatch)
	absent := fault.Is(err, fault.CodeRuntimeNotFound) && s.cfg.Release.Platform != ""
	if !absent && !(damaged && repair) {
		return rt, false, err
	}
	if err := s.installRuntime(ctx, temp, from); err != nil {
		return Runtime{}, false, err
	}
	rt, err = s.Runtime(ctx)
	return rt, err == nil, err
}

// ensureModel brings a model's file unless it is there and right.
func (s *Store) ensureModel(ctx context.Context, temp, name, from string, repair bool) (Model, bool, error) {
	m, err := s.open(ctx, name, repair)
	if !fault.Is(err, fault.CodeModelNotFound) && !(damagedModel(err) && repair) {
		return m, false, repairable(err)
	}
	ref, err := s.pullable(name)
	if err != nil {
		return Model{}, false, err
	}
	if err := s.bring(ctx, temp, ref, from); err != nil {
		return Model{}, false, err
	}
	m, err = s.Open(ctx, name)
	return m, err == nil, err
}

func damagedModel(err error) bool {
	return fault.Is(err, fault.CodeModelDigestMismatch) || fault.Is(err, fault.CodeModelFileInvalid)
}

// repairable adds to a damaged model's error how it can be mended.
func repairable(err error) error {
	if damagedModel(err) {
		return fault.From(err).WithHint("replace it with: edge setup --repair, or edge models pull --repair NAME")
	}
	return err
}

// sources are the files given with --from, by what they hold.
type sources struct{ engine, model string }

func (s *Store) sortSources(paths []string) (src sources, err error) {
	for _, given := range paths {
		path, err := filepath.Abs(given)
		if err != nil {
			return src, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return src, fault.New(fault.CodeInvalidArguments, "--from %s: %w", given, err).WithHint("give a folder or file that is there")
		}
		into := &src.model
		switch name := strings.ToLower(filepath.Base(path)); {
		case info.IsDir():
			if s.cfg.Release.Platform == "" {
				break
			}
			if _, ok := libraryFolder(path, s.cfg.Release); ok {
				into = &src.engine
			} else if len(modelFiles(path)) == 0 {
				return src, fault.New(fault.CodeInvalidArguments, "--from %s: neither the engine libraries of %s nor a model is in it", given, s.cfg.Release.Platform).
					WithHint("give the folder of %s, or one with the default model's .gguf or .whl", s.cfg.Release.Spec())
			}
		case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"):
			into = &src.engine
		case strings.HasSuffix(name, ".gguf"), strings.HasSuffix(name, ".whl"):
		default:
			return src, fault.New(fault.CodeInvalidArguments, "--from %s: neither a folder nor a .tgz, .whl or .gguf file", given).
				WithHint("see docs/setup.md for what it takes")
		}
		if *into != "" {
			return src, fault.New(fault.CodeInvalidArguments, "--from was given twice for the same thing: %s and %s", *into, path).
				WithHint("give one for the engine and one for the model")
		}
		*into = path
	}
	return src, nil
}
