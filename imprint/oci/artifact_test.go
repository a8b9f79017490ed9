package oci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/imprint/oci"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// object is JSON as a test changes it.
type object = map[string]any

// forge makes a folder like the one that an imprint is pushed to, whose manifest was changed, with digests and sizes
// that are right again.
func forge(t *testing.T, m made, change func(manifest object, dir string)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	pushed := push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
	var manifest object
	if err := json.Unmarshal(slurp(t, blob(dir, pushed.Digest)), &manifest); err != nil {
		t.Fatal(err)
	}
	change(manifest, dir)
	raw, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return list(t, dir, raw, "application/vnd.oci.image.manifest.v1+json")
}

// list makes a manifest the only one of a folder, and gives how it is pulled.
func list(t *testing.T, dir string, manifest []byte, mediaType string) string {
	t.Helper()
	sum := "sha256:" + digest.SHA256Of(manifest).String()
	spit(t, blob(dir, sum), manifest)
	spit(t, filepath.Join(dir, "index.json"), fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%q,"size":%d,`+
		`"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}`, mediaType, sum, len(manifest)))
	return "oci:" + dir + ":v1"
}

// part stores bytes in a folder and gives their descriptor.
func part(t *testing.T, dir, mediaType string, raw []byte) object {
	t.Helper()
	sum := "sha256:" + digest.SHA256Of(raw).String()
	spit(t, blob(dir, sum), raw)
	return object{"mediaType": mediaType, "digest": sum, "size": len(raw)}
}

func layer(manifest object) object { return manifest["layers"].([]any)[0].(object) }

func TestOtherArtifacts(t *testing.T) {
	m, other := makeImprint(t, 1), makeImprint(t, 2)
	flipped := func(at int) []byte {
		raw := bytes.Clone(m.raw)
		raw[at] ^= 1
		return raw
	}
	for _, test := range []struct {
		name   string
		change func(manifest object, dir string)
		want   fault.Code
	}{
		{"nothing is changed", func(object, string) {}, ""},
		{"members that nobody knows", func(m object, _ string) { m["x"] = 1; layer(m)["urls"] = []string{"http://registry.invalid/"} }, ""},
		{"another kind", func(m object, _ string) { m["artifactType"] = "application/vnd.example.sbom" }, fault.CodeImprintNotFound},
		{"a container image", func(m object, _ string) {
			delete(m, "artifactType")
			m["config"].(object)["mediaType"] = "application/vnd.oci.image.config.v1+json"
		}, fault.CodeImprintNotFound},
		{"another version", func(m object, _ string) { m["artifactType"] = "application/vnd.edge.imprint.v2" }, fault.CodeImprintFormatUnsupported},
		{"another config", func(m object, _ string) { m["config"].(object)["mediaType"] = "application/json" }, fault.CodeImprintHeaderMalformed},
		{"no layer", func(m object, _ string) { m["layers"] = []any{} }, fault.CodeImprintHeaderMalformed},
		{"two layers", func(m object, _ string) { m["layers"] = append(m["layers"].([]any), layer(m)) }, fault.CodeImprintHeaderMalformed},
		{"another layer", func(m object, _ string) { layer(m)["mediaType"] = "application/octet-stream" }, fault.CodeImprintHeaderMalformed},
		{"another schema", func(m object, _ string) { m["schemaVersion"] = 1 }, fault.CodeImprintNotFound},
		{"it says that it is an index", func(m object, _ string) { m["mediaType"] = "application/vnd.oci.image.index.v1+json" }, fault.CodeImprintNotFound},
		{"a digest of another kind", func(m object, _ string) { layer(m)["digest"] = "sha512:" + strings.Repeat("0", 128) }, fault.CodeImprintHeaderMalformed},
		{"a digest that is a path", func(m object, _ string) { layer(m)["digest"] = "sha256:../../../../etc/passwd" }, fault.CodeImprintHeaderMalformed},
		{"a negative size", func(m object, _ string) { layer(m)["size"] = -1 }, fault.CodeImprintHeaderMalformed},
		{"no size", func(m object, _ string) { delete(layer(m), "size") }, fault.CodeImprintHeaderMalformed},
		{"a larger size", func(m object, _ string) { layer(m)["size"] = layer(m)["size"].(float64) + 1 }, fault.CodeImprintTrailingData},
		{"an enormous size", func(m object, _ string) { layer(m)["size"] = float64(1 << 52) }, fault.CodeImprintTrailingData},
		{"a smaller size", func(m object, _ string) { layer(m)["size"] = 100 }, fault.CodeImprintTruncated},
		{"an enormous header", func(m object, _ string) { m["config"].(object)["size"] = float64(1 << 52) }, fault.CodeImprintHeaderMalformed},
		{"a smaller header", func(m object, _ string) { m["config"].(object)["size"] = 100 }, fault.CodeDownloadDigestMismatch},
		{"a header that isn't one", func(manifest object, dir string) {
			manifest["config"] = part(t, dir, oci.ConfigType, []byte("{}"))
		}, fault.CodeImprintHeaderMalformed},
		{"the header of another", func(manifest object, dir string) {
			raw := slurp(t, blob(dir, manifest["config"].(object)["digest"].(string)))
			manifest["config"] = part(t, dir, oci.ConfigType, bytes.Replace(raw, []byte(`"test"`), []byte(`"tset"`), 1))
		}, fault.CodeImprintHeaderMalformed},
		{"the file of another", func(manifest object, dir string) {
			manifest["layers"] = []any{part(t, dir, oci.FileType, other.raw)}
		}, fault.CodeImprintHeaderMalformed},
		{"a file that isn't an imprint", func(manifest object, dir string) {
			manifest["layers"] = []any{part(t, dir, oci.FileType, make([]byte, len(m.raw)))}
		}, fault.CodeImprintHeaderMalformed},
		{"a damaged file with a right digest", func(manifest object, dir string) {
			manifest["layers"] = []any{part(t, dir, oci.FileType, flipped(len(m.raw)-1))}
		}, fault.CodeImprintPayloadMismatch},
		{"and damaged in its header", func(manifest object, dir string) {
			manifest["layers"] = []any{part(t, dir, oci.FileType, flipped(100))}
		}, fault.CodeImprintHeaderMalformed},
		{"a cut file with its size", func(manifest object, dir string) {
			manifest["layers"] = []any{part(t, dir, oci.FileType, m.raw[:5000])}
		}, fault.CodeImprintTruncated},
	} {
		t.Run(test.name, func(t *testing.T) {
			place := forge(t, m, test.change)
			s := newStore(t)
			got, err := pull(t, s, place, oci.PullOptions{})
			if test.want == "" {
				wantHere(t, s, m, got, err)
				return
			}
			wantRefused(t, s, err, test.want)
			if left := partials(t, s); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

func TestOtherTypesOfManifest(t *testing.T) {
	m := makeImprint(t, 1)
	for _, mediaType := range []string{"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.v2+json", ""} {
		dir := filepath.Join(t.TempDir(), "layout")
		pushed := push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
		s := newStore(t)
		_, err := pull(t, s, list(t, dir, slurp(t, blob(dir, pushed.Digest)), mediaType), oci.PullOptions{})
		wantRefused(t, s, err, fault.CodeImprintNotFound)
	}
}

// Whatever byte of a folder is changed: nothing else than the imprint comes of it, and what has a digest is refused.
func TestFlippedBytesOfAFolder(t *testing.T) {
	private, public := newKey(t)
	m := made{path: filepath.Join("..", "..", "testdata", "vectors", "imprint-v1", "minimal.imprint")}
	dir := filepath.Join(t.TempDir(), "layout")
	m.id = push(t, m, "oci:"+dir+":v1", oci.PushOptions{Sign: &private}).ID
	s := newStore(t)
	trusted := oci.PullOptions{Trust: []dsse.PublicKey{public}}
	refused := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw := slurp(t, path)
		hasDigest := strings.Contains(path, "blobs") && !bytes.Equal(raw, []byte("{}")) // a signature's config says nothing
		step := max(1, len(raw)/150)
		for at := 0; at < len(raw); at += step {
			changed := bytes.Clone(raw)
			changed[at] ^= 1 << (at % 8)
			spit(t, path, changed)
			got, err := pull(t, s, "oci:"+dir+":v1", trusted)
			switch {
			case err == nil && hasDigest:
				t.Errorf("%s: byte %d changed, and it was taken", filepath.Base(path), at)
			case err == nil && (got.ID != m.id || got.Signer != public.ID()):
				t.Errorf("%s: byte %d: got %s, signed by %s", filepath.Base(path), at, got.ID, got.Signer)
			case err != nil && fault.From(err).Code == fault.CodeInternal:
				t.Errorf("%s: byte %d: an error without a code: %v", filepath.Base(path), at, err)
			}
			if err == nil {
				if _, err := s.Remove(t.Context(), m.id.String()); err != nil {
					t.Fatal(err)
				}
				continue
			}
			refused++
			if list, err := s.List(); err != nil || len(list.Entries)+len(list.Damaged) > 0 || len(partials(t, s)) > 0 {
				t.Fatalf("%s: byte %d: something is left", filepath.Base(path), at)
			}
		}
		spit(t, path, raw)
		return nil
	})
	if err != nil || refused < 600 {
		t.Errorf("%d refusals: %v", refused, err)
	}
	got, err := pull(t, s, "oci:"+dir+":v1", trusted)
	if err != nil || got.ID != m.id {
		t.Errorf("with every byte back in its place: %s, %v", got.ID, err)
	}
}

func TestBrokenFolders(t *testing.T) {
	m := makeImprint(t, 1)
	file := func(dir string) string { return blob(dir, digest.SHA256Of(m.raw).String()) }
	for _, test := range []struct {
		name    string
		spoil   func(dir string) error
		want    fault.Code
		systems string // on which it can be tried
	}{
		{"no oci-layout", func(dir string) error { return os.Remove(filepath.Join(dir, "oci-layout")) }, fault.CodeImprintNotFound, ""},
		{"another layout", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"2.0.0"}`), 0o644)
		}, fault.CodeImprintFormatUnsupported, ""},
		{"no index", func(dir string) error { return os.Remove(filepath.Join(dir, "index.json")) }, fault.CodeDownloadFailed, ""},
		{"a cut index", func(dir string) error { return os.Truncate(filepath.Join(dir, "index.json"), 50) }, fault.CodeDownloadFailed, ""},
		{"an enormous index", func(dir string) error { return os.Truncate(filepath.Join(dir, "index.json"), 1<<30) }, fault.CodeDownloadFailed, ""},
		{"no blobs", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blobs")) }, fault.CodeDownloadFailed, ""},
		{"no file", func(dir string) error { return os.Remove(file(dir)) }, fault.CodeDownloadFailed, ""},
		{"a cut file", func(dir string) error { return os.Truncate(file(dir), 5000) }, fault.CodeDownloadDigestMismatch, ""},
		{"a longer file", func(dir string) error { return os.Truncate(file(dir), 1<<30) }, fault.CodeDownloadDigestMismatch, ""},
		{"a folder for a file", func(dir string) error {
			if err := os.Remove(file(dir)); err != nil {
				return err
			}
			return os.Mkdir(file(dir), 0o755)
		}, fault.CodeDownloadFailed, ""},
		{"a device for a file", func(dir string) error {
			if err := os.Remove(file(dir)); err != nil {
				return err
			}
			return os.Symlink("/dev/zero", file(dir))
		}, fault.CodeDownloadFailed, "linux darwin"},
	} {
		if !strings.Contains(test.systems, runtime.GOOS) && test.systems != "" {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "layout")
			push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			s := newStore(t)
			_, err := pull(t, s, "oci:"+dir+":v1", oci.PullOptions{})
			wantRefused(t, s, err, test.want)
			if left := partials(t, s); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

// A tag that names two manifests names none.
func TestAnAmbiguousTag(t *testing.T) {
	a, b := makeImprint(t, 1), makeImprint(t, 2)
	dir := filepath.Join(t.TempDir(), "layout")
	push(t, a, "oci:"+dir+":v1", oci.PushOptions{})
	digest := push(t, b, "oci:"+dir+":v2", oci.PushOptions{}).Digest
	path := filepath.Join(dir, "index.json")
	spit(t, path, bytes.Replace(slurp(t, path), []byte(`"v2"`), []byte(`"v1"`), 1))
	s := newStore(t)
	_, err := pull(t, s, "oci:"+dir+":v1", oci.PullOptions{})
	wantRefused(t, s, err, fault.CodeImprintNotFound)
	got, err := pull(t, s, "oci:"+dir+"@"+digest, oci.PullOptions{})
	wantHere(t, s, b, got, err)
}
