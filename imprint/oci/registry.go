package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"edge/internal/fault"
)

// repository is a repository of a registry. Reading is done here, where sizes, ranges and digests are judged; writing,
// referrers and logins are the library's.
type repository struct {
	repo *remote.Repository
}

func (c *Client) repository(t Target) (*repository, error) {
	client := &auth.Client{Client: c.http(), Cache: auth.NewCache(), ClientID: userAgent}
	client.SetUserAgent(userAgent)
	if c.cfg.DockerConfig != "" {
		store, err := credentials.NewStore(c.cfg.DockerConfig, credentials.StoreOptions{})
		if err != nil {
			return nil, fault.New(fault.CodeInvalidArguments, "%s can't be read: %w", c.cfg.DockerConfig, err).
				WithHint("mend the file, or point DOCKER_CONFIG at another folder")
		}
		client.Credential = credentials.Credential(store)
	}
	return &repository{&remote.Repository{
		Client: client, Reference: t.ref, PlainHTTP: loopback(t.ref.Registry),
		MaxMetadataBytes: maxIndex, ReferrerListMaxPages: 8, SkipReferrersGC: true,
	}}, nil
}

// get asks for a manifest or a blob; from is where a blob is continued. The answer is 200 or, with from, 206.
func (r *repository) get(ctx context.Context, kind, name string, header http.Header) (*http.Response, error) {
	scheme := "https"
	if r.repo.PlainHTTP {
		scheme = "http"
	}
	ref := r.repo.Reference
	address := fmt.Sprintf("%s://%s/v2/%s/%s/%s", scheme, ref.Host(), ref.Repository, kind, name)
	ctx = auth.AppendRepositoryScope(ctx, ref, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := r.repo.Client.Do(req)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent && header.Get("Range") != "":
		return resp, nil
	case code == http.StatusNotFound:
		err = errdef.ErrNotFound
	default:
		err = &errcode.ErrorResponse{Method: req.Method, URL: req.URL, StatusCode: code}
	}
	resp.Body.Close()
	return nil, err
}

func (r *repository) manifest(ctx context.Context, name string) ([]byte, ocispec.Descriptor, error) {
	accept := []string{
		ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	}
	resp, err := r.get(ctx, "manifests", name, http.Header{"Accept": {strings.Join(accept, ", ")}})
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, ocispec.Descriptor{}, fault.New(fault.CodeImprintNotFound, "%s/%s has no %s", r.repo.Reference.Registry, r.repo.Reference.Repository, name).
			WithHint("check the name and the tag; a repository that needs a login may also look like this")
	}
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, ocispec.Descriptor{}, transientError{err}
	case len(raw) > maxManifest:
		return nil, ocispec.Descriptor{}, fault.New(fault.CodeImprintNotFound, "%s is larger than any imprint's manifest", name)
	}
	want := godigest.Digest("")
	if strings.Contains(name, ":") {
		want = godigest.Digest(name)
	} else if said := resp.Header.Get("Docker-Content-Digest"); strings.HasPrefix(said, "sha256:") {
		want = godigest.Digest(said)
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // a wrong one is refused where it matters
	desc, err := checkManifest(raw, mediaType, want)
	return raw, desc, err
}

func (r *repository) open(ctx context.Context, blob ocispec.Descriptor, from int64) (io.ReadCloser, int64, error) {
	header := http.Header{}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, blob.Size-1))
	}
	resp, err := r.get(ctx, "blobs", blob.Digest.String(), header)
	var status *errcode.ErrorResponse
	if from > 0 && errors.As(err, &status) && status.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		from = 0
		resp, err = r.get(ctx, "blobs", blob.Digest.String(), nil)
	}
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, 0, fmt.Errorf("the registry doesn't have %s, which the manifest names", blob.Digest)
	}
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode == http.StatusOK {
		from = 0
	}
	if n := resp.ContentLength; n >= 0 && n != blob.Size-from {
		resp.Body.Close()
		return nil, 0, mismatch("the registry has %d bytes of %s, want %d", n+from, blob.Digest, blob.Size)
	}
	return resp.Body, from, nil
}

// errEnough ends a listing that has given as many as are looked at.
var errEnough = errors.New("enough")

func (r *repository) referrers(ctx context.Context, manifest ocispec.Descriptor, limit int) ([]ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	err := r.repo.Referrers(ctx, manifest, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if len(found) == limit {
				return errEnough
			}
			if mayBeSignature(d) {
				found = append(found, d)
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

func (r *repository) prepare(context.Context) error { return nil }

// has asks the registry. Where it doesn't say, the blob isn't there, and sending it will tell.
func (r *repository) has(ctx context.Context, blob ocispec.Descriptor) bool {
	there, err := r.repo.Blobs().Exists(ctx, blob)
	return err == nil && there
}

func (r *repository) put(ctx context.Context, blob ocispec.Descriptor, body io.Reader) error {
	return r.repo.Blobs().Push(ctx, blob, body)
}

func (r *repository) publish(ctx context.Context, desc ocispec.Descriptor, raw []byte, tag string) error {
	if tag == "" {
		return r.repo.Manifests().Push(ctx, desc, bytes.NewReader(raw))
	}
	return r.repo.Manifests().PushReference(ctx, desc, bytes.NewReader(raw), tag)
}
