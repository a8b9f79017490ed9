package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models/fetch"
)

// Config says where a Store works and how it speaks. Home is required; the zero value of anything else is good.
type Config struct {
	Home home.Dir
	// Release is the engine; the default is the one for this machine.
	Release Release
	// Catalogue is what names mean; the default is Catalogue().
	Catalogue []Entry
	// HuggingFace is the address of that service, HuggingFaceToken a login to it.
	HuggingFace, HuggingFaceToken string
	// HTTP makes requests; the default follows the environment's proxy settings.
	HTTP *http.Client
	// Environ is the environment of the package clients; the default is this process's.
	Environ []string
	// NPM and Python are the package clients; the default is to look for npm, and for python3 and python, on PATH.
	NPM, Python string
	Now         func() time.Time
	// Notify is told, in a sentence, what the user should know while waiting.
	Notify func(message string)
	// Progress begins to show one transfer or check.
	Progress func(label string) fetch.Progress
}

// Store is the engine and the models of one EDGE_HOME.
type Store struct {
	cfg   Config
	fetch *fetch.Client
	free  func(dir string) (int64, error) // freeSpace, except in tests
}

// New makes a Store. Nothing is created on disk.
func New(cfg Config) (*Store, error) {
	if cfg.Home == "" {
		return nil, errors.New("models: no home folder")
	}
	if cfg.Release.Platform == "" {
		// A machine without a release can still list models and be told so by doctor.
		cfg.Release, _ = ReleaseFor(runtime.GOOS, runtime.GOARCH)
	}
	if cfg.Catalogue == nil {
		cfg.Catalogue = Catalogue()
	}
	if cfg.HuggingFace == "" {
		cfg.HuggingFace = "https://huggingface.co"
	}
	cfg.HuggingFace = strings.TrimSuffix(cfg.HuggingFace, "/")
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) fetch.Progress { return fetch.Silent{} }
	}
	s := &Store{cfg: cfg, free: freeSpace}
	s.fetch = fetch.New(fetch.Config{
		HTTP:   cfg.HTTP,
		Free:   func(dir string) (int64, error) { return s.free(dir) },
		Notify: cfg.Notify,
	})
	return s, nil
}

// Model is a model file that is here, and was found to be what it is taken for.
type Model struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Pinned bool   `json:"pinned"` // its digest is a pinned one, and not only its own
	Identity
}

// Open finds the file that a name stands for and takes its identity, without network. The error is model_not_found,
// model_file_invalid or, where the digest isn't the pinned one, model_digest_mismatch.
func (s *Store) Open(ctx context.Context, name string) (Model, error) {
	return s.open(ctx, name, false)
}

// Verify is Open, but reads the whole file however little reason there is to.
func (s *Store) Verify(ctx context.Context, name string) (Model, error) {
	return s.open(ctx, name, true)
}

func (s *Store) open(ctx context.Context, name string, fresh bool) (Model, error) {
	ref, err := s.Resolve(name)
	if err != nil {
		return Model{}, err
	}
	path, want, err := s.locate(ref)
	if err != nil {
		return Model{}, err
	}
	id, err := s.identify(ctx, path, fresh)
	if notThere(err) {
		return Model{}, s.absent(ref, path)
	}
	if err != nil {
		return Model{}, err
	}
	if !want.IsZero() && id.SHA256 != want {
		return Model{}, digestMismatch(path, want, id.SHA256)
	}
	return Model{Name: ref.Name, Path: path, Pinned: !want.IsZero(), Identity: id}, nil
}

func digestMismatch(path string, want, got digest.SHA256) *fault.Error {
	err := fault.New(fault.CodeModelDigestMismatch, "%s: got sha256 %s, want %s", path, got, want)
	err.Mismatches = []fault.Mismatch{{Field: "model_sha256", Want: want.String(), Got: got.String()}}
	return err
}

// locate is where the file has to be, and the digest that it has to have: zero for a file of the user's own.
func (s *Store) locate(ref Reference) (path string, want digest.SHA256, err error) {
	switch ref.Kind {
	case KindFile:
		return ref.Path, digest.SHA256{}, nil
	case KindCatalogue:
		if !ref.Entry.SHA256.IsZero() {
			return s.entryPath(ref.Entry), ref.Entry.SHA256, nil
		}
		ref.HuggingFace = ref.Entry.HuggingFace
	case KindRequantized:
		return s.madeModel(ref.Name)
	case KindOllama, KindOpenAI:
		return "", want, fmt.Errorf("models: %s isn't a file", ref.Name)
	}
	pins, err := s.loadPins()
	if err != nil {
		return "", want, err
	}
	pin, ok := pins.find(ref.HuggingFace)
	if !ok {
		return "", want, s.absent(ref, s.cfg.Home.Models())
	}
	return filepath.Join(s.cfg.Home.Models(), filepath.FromSlash(pin.File)), pin.SHA256, nil
}

func (s *Store) entryPath(e Entry) string { return filepath.Join(s.cfg.Home.Models(), e.Name+".gguf") }

func (s *Store) absent(ref Reference, where string) error {
	switch {
	case ref.Kind == KindFile:
		return fault.New(fault.CodeModelNotFound, "there is no model file %s", where).WithHint("check the path given to --model")
	case ref.Kind == KindRequantized:
		return fault.New(fault.CodeModelNotFound, "the model %s isn't here: no %s", ref.Name, where).WithHint("make it again with: edge models optimize --model NAME")
	case ref.Name == DefaultModel:
		return fault.New(fault.CodeModelNotFound, "the model %s isn't here: no %s", ref.Name, where).WithHint("fetch it with: edge setup")
	}
	return fault.New(fault.CodeModelNotFound, "the model %s isn't in %s", ref.Name, s.cfg.Home.Models()).WithHint("fetch it with: edge models pull %s", ref.Name)
}

// Runtime verifies the engine libraries of this Store's release; see VerifyRuntime.
func (s *Store) Runtime(ctx context.Context) (Runtime, error) {
	if s.cfg.Release.Platform == "" {
		return Runtime{}, fault.New(fault.CodeRuntimeNotFound, "there are no engine libraries for %s on %s", runtime.GOOS, runtime.GOARCH).
			WithHint("use --model ollama:NAME, or a machine of %s", platforms())
	}
	return VerifyRuntime(ctx, s.runtimeDir(), s.cfg.Release)
}

func (s *Store) runtimeDir() string {
	return filepath.Join(s.cfg.Home.Runtime(), s.cfg.Release.Folder())
}

func platforms() string {
	var names []string
	for _, r := range Releases() {
		names = append(names, r.Platform)
	}
	return strings.Join(names, ", ")
}

// Listed is one line of the list of models.
type Listed struct {
	Name    string        `json:"name"`
	Title   string        `json:"title,omitempty"`
	License string        `json:"license,omitempty"`
	Size    int64         `json:"size,omitempty"`   // of the file that is here, or that would be fetched; 0: not known
	SHA256  digest.SHA256 `json:"sha256,omitzero"`  // the pinned one
	Path    string        `json:"path,omitempty"`   // of the file that is here
	Source  string        `json:"source,omitempty"` // where it is fetched from
	Default bool          `json:"default"`
	// Of a requantised model: Source is what it was made of, with that file's digest, and Layout what it was made to.
	Layout       Layout        `json:"layout,omitempty"`
	SourceSHA256 digest.SHA256 `json:"source_sha256,omitzero"`
}

// List is the catalogue, the models that were pulled or requantised, and the other GGUF files in the models folder.
// Nothing is hashed.
func (s *Store) List() ([]Listed, error) {
	pins, err := s.loadPins()
	if err != nil {
		return nil, err
	}
	var list []Listed
	shown := map[string]bool{}
	add := func(l Listed, path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			l.Path, l.Size = path, info.Size()
			shown[path] = true
		}
		list = append(list, l)
	}
	for _, e := range s.cfg.Catalogue {
		l := Listed{Name: e.Name, Title: e.Title, License: e.License, Size: e.Size, SHA256: e.SHA256, Default: e.Name == DefaultModel, Source: e.source()}
		path := s.entryPath(e)
		if pin, ok := pins.find(e.HuggingFace); ok && e.SHA256.IsZero() {
			path, l.SHA256, l.Size = filepath.Join(s.cfg.Home.Models(), filepath.FromSlash(pin.File)), pin.SHA256, pin.Size
		}
		add(l, path)
	}
	for _, pin := range pins.Pins {
		if path := filepath.Join(s.cfg.Home.Models(), filepath.FromSlash(pin.File)); !shown[path] {
			add(Listed{Name: pin.Name, Size: pin.Size, SHA256: pin.SHA256, Source: pin.Source}, path)
		}
	}
	layouts, err := s.loadLayouts()
	if err != nil {
		return nil, err
	}
	for _, r := range layouts.Runs {
		if r.Made == nil {
			continue
		}
		if path := filepath.Join(s.cfg.Home.Models(), r.Made.File); !shown[path] {
			add(Listed{
				Name: r.Made.Name, Size: r.Made.Size, SHA256: r.Made.SHA256, Source: r.Source.Name, Layout: r.Made.Layout, SourceSHA256: r.Source.SHA256,
			}, path)
			shown[path] = true
		}
	}
	return append(list, s.others(shown)...), nil
}

// others are the files that the user put into the folder.
func (s *Store) others(shown map[string]bool) (list []Listed) {
	for _, path := range filesLike(s.cfg.Home.Models(), "*.gguf") {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !shown[path] && filepath.Base(path)[0] != '.' {
			list = append(list, Listed{Name: path, Path: path, Size: info.Size()})
		}
	}
	return list
}

// filesLike are the entries of dir whose names match the pattern; unlike filepath.Glob, it takes dir as it is, whatever
// characters are in it. A folder that can't be read has none.
func filesLike(dir, pattern string) (found []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if ok, err := filepath.Match(pattern, entry.Name()); err == nil && ok {
			found = append(found, filepath.Join(dir, entry.Name()))
		}
	}
	return found
}

func (e Entry) source() string {
	if len(e.Wheels) > 0 {
		return "pip: " + e.Wheels[0].Requirement
	}
	return e.HuggingFace.reference().Name
}

// notThere is for a path that names nothing, be it for want of the file or because something else stands on the way.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readShort reads a file that is expected to be short, and no more than limit bytes of one that isn't.
func readShort(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
