package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Release is an engine as it is published for one platform: a package of the npm registry, and what is taken from it.
type Release struct {
	Platform  string // the package maker's name for it
	OS, Arch  string // Go's names
	Engine    string // the release of llama.cpp
	Package   string // the package's name
	Version   string // the package's version, which isn't the engine's
	Integrity string // the package's digest as npm writes it
	Size      int64  // of the package
	Libraries []Library
	Aliases   []Alias
}

// Library is one shared library, pinned.
type Library struct {
	Name   string        `json:"name"`
	SHA256 digest.SHA256 `json:"sha256"`
	Size   int64         `json:"size"`
}

// Alias is a second name for a library, under which the engine's binding looks for it.
type Alias struct {
	Name   string `json:"name"`
	Target string `json:"target"`
}

// ReleaseFor is the release for an operating system and architecture, as Go names them.
func ReleaseFor(goos, goarch string) (Release, bool) {
	for _, r := range Releases() {
		if r.OS == goos && r.Arch == goarch {
			return r, true
		}
	}
	return Release{}, false
}

// Folder is the name of the release's folder under EDGE_HOME/runtime.
func (r Release) Folder() string { return r.Engine + "-" + r.Platform }

// Spec is the package as the npm client is asked for it.
func (r Release) Spec() string { return r.Package + "@" + r.Version }

// manifestName is the file beside the libraries that says what they are.
const manifestName = "manifest.json"

// manifest is the content of manifest.json, canonical, and fully determined by the release. It is there for people and
// for other programs: nothing is believed because it stands in it.
func (r Release) manifest() ([]byte, error) {
	return canon.Marshal(struct {
		Schema    string    `json:"schema"`
		Engine    string    `json:"engine"`
		Platform  string    `json:"platform"`
		Package   string    `json:"package"`
		Integrity string    `json:"integrity"`
		Libraries []Library `json:"libraries"`
		Aliases   []Alias   `json:"aliases"`
	}{"edge.runtime/v1", "llama.cpp " + r.Engine, r.Platform, r.Spec(), r.Integrity, r.Libraries, r.Aliases})
}

// Runtime is a folder of engine libraries that were found to be the pinned ones.
type Runtime struct {
	Dir     string
	Release Release
	// SHA256 stands for all libraries: it digests the canonical manifest, which holds their digests.
	SHA256 digest.SHA256
}

// VerifyRuntime hashes every library in dir against the digests that are compiled in. The folder must hold them, their
// second names and the manifest, and nothing else, because the engine opens what it finds there. The error is
// runtime_not_found or runtime_digest_mismatch, which lists all that is wrong.
func VerifyRuntime(ctx context.Context, dir string, want Release) (Runtime, error) {
	entries, err := os.ReadDir(dir)
	if notThere(err) {
		return Runtime{}, fault.New(fault.CodeRuntimeNotFound, "no engine libraries for %s in %s", want.Platform, dir)
	}
	if err != nil {
		return Runtime{}, fmt.Errorf("engine libraries: %w", err)
	}
	manifest, err := want.manifest()
	if err != nil {
		return Runtime{}, err
	}
	var wrong findings
	wrong.strangers(entries, want)
	wrong.manifest(filepath.Join(dir, manifestName), manifest)
	wrong.aliases(dir, want.Aliases)
	if err := wrong.libraries(ctx, dir, want.Libraries); err != nil {
		return Runtime{}, err
	}
	if len(wrong) > 0 {
		return Runtime{}, &fault.Error{
			Code:       fault.CodeRuntimeDigestMismatch,
			Message:    fmt.Sprintf("the engine libraries in %s aren't the pinned ones: %s", dir, wrong),
			Mismatches: wrong,
		}
	}
	return Runtime{Dir: dir, Release: want, SHA256: digest.SHA256Of(manifest)}, nil
}

// findings are the files of a runtime folder that aren't as they have to be.
type findings []fault.Mismatch

func (f findings) String() string {
	var parts []string
	for _, m := range f {
		parts = append(parts, fmt.Sprintf("%s: got %s, want %s", m.Field, m.Got, m.Want))
	}
	return strings.Join(parts, "; ")
}

func (f *findings) add(field, want, got string) {
	*f = append(*f, fault.Mismatch{Field: field, Want: want, Got: got})
}

func (f *findings) strangers(entries []os.DirEntry, want Release) {
	known := map[string]bool{manifestName: true}
	for _, l := range want.Libraries {
		known[l.Name] = true
	}
	for _, a := range want.Aliases {
		known[a.Name] = true
	}
	for _, entry := range entries {
		// No library that asks for another by name asks for a hidden file; file managers leave some.
		if !known[entry.Name()] && !strings.HasPrefix(entry.Name(), ".") {
			f.add(entry.Name(), "no such file", "a file")
		}
	}
}

func (f *findings) manifest(path string, want []byte) {
	got, err := readShort(path, int64(len(want))+1)
	if err != nil {
		f.add(manifestName, "a file", "none that can be read")
		return
	}
	if !bytes.Equal(got, want) {
		f.add(manifestName, digest.SHA256Of(want).String(), digest.SHA256Of(got).String())
	}
}

// aliases must be links to exactly their targets: by name, or, where links by name take a privilege, the same file.
func (f *findings) aliases(dir string, aliases []Alias) {
	for _, a := range aliases {
		path := filepath.Join(dir, a.Name)
		if target, err := os.Readlink(path); err == nil {
			if target != a.Target {
				f.add(a.Name, "a link to "+a.Target, "a link to "+target)
			}
			continue
		}
		link, err := os.Lstat(path)
		target, targetErr := os.Lstat(filepath.Join(dir, a.Target))
		if err != nil || targetErr != nil || !os.SameFile(link, target) {
			f.add(a.Name, "a link to "+a.Target, "something else")
		}
	}
}

// libraries hashes the libraries, as many at once as there are processors: this stands in every start of the engine.
func (f *findings) libraries(ctx context.Context, dir string, want []Library) error {
	got := make([]string, len(want))
	errs := make([]error, len(want))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(want)) {
		wg.Go(func() {
			for i := range next {
				got[i], errs[i] = libraryDigest(filepath.Join(dir, want[i].Name), want[i].Size)
			}
		})
	}
	for i := range want {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return fmt.Errorf("engine libraries: %w", err)
	}
	for i, l := range want {
		if got[i] != l.SHA256.String() {
			f.add(l.Name, l.SHA256.String(), got[i])
		}
	}
	return nil
}

// libraryDigest is the file's digest as text, or what keeps it from having one that could be right.
func libraryDigest(path string, size int64) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "something that isn't a plain file", nil
	case info.Size() != size:
		return fmt.Sprintf("a file of %d bytes, not %d", info.Size(), size), nil
	}
	d, err := digest.SHA256File(path)
	return d.String(), err
}
