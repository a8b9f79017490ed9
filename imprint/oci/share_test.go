package oci_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"edge/imprint/oci"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// places are where imprints are pushed to: a folder, a registry that lists what refers to a manifest, and an older one
// that doesn't.
func places(t *testing.T) map[string]string {
	return map[string]string{
		"folder":         "oci:" + filepath.Join(t.TempDir(), "a folder"),
		"registry":       newRegistry(t) + "/team/imprints",
		"older registry": serve(t, registry.New(quietly())) + "/imprints",
	}
}

func TestARoundTripGivesTheVeryFile(t *testing.T) {
	m := makeImprint(t, 1)
	private, public := newKey(t)
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			first := push(t, m, place+":v1", oci.PushOptions{})
			if first.ID != m.id || first.Reference != place+":v1" || first.Bytes != int64(len(m.raw)) || !first.Signer.IsZero() {
				t.Errorf("pushed %+v", first)
			}
			s := newStore(t)
			got, err := pull(t, s, place+":v1", oci.PullOptions{TrustUnsigned: strings.Contains(name, "registry")})
			wantHere(t, s, m, got, err)
			if got.Digest != first.Digest || got.Reference != place+":v1" || got.Present || !got.Signer.IsZero() {
				t.Errorf("pulled %+v", got)
			}

			// Signing changes nothing about what is signed.
			second := push(t, m, place+":v2", oci.PushOptions{Sign: &private})
			if second.Digest != first.Digest || second.Signer != public.ID() {
				t.Errorf("pushed again: %+v, want the digest %s", second, first.Digest)
			}
			s = newStore(t)
			got, err = pull(t, s, place+":v1", oci.PullOptions{Trust: []dsse.PublicKey{public}})
			wantHere(t, s, m, got, err)
			if got.Signer != public.ID() {
				t.Errorf("signed by %s, want %s", got.Signer, public.ID())
			}

			// By its digest, into a store that has it.
			got, err = pull(t, s, place+"@"+first.Digest, oci.PullOptions{Trust: []dsse.PublicKey{public}})
			wantHere(t, s, m, got, err)
			if !got.Present {
				t.Error("it was fetched again")
			}
		})
	}
}

// The manifest is a promise: tools and registries keep its digest.
func TestTheManifestOfTheExample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	m := made{path: filepath.Join("..", "..", "testdata", "vectors", "imprint-v1", "minimal.imprint")}
	pushed := push(t, m, "oci:"+dir+":example", oci.PushOptions{})
	const want = `{"artifactType":"application/vnd.edge.imprint.v1","config":{` +
		`"digest":"sha256:0ae0b98bbd00e3ece404a1cf5f5827f6cd4914820b0df65e09ccbbb11fb74ed3",` +
		`"mediaType":"application/vnd.edge.imprint.config.v1+json","size":1431},"layers":[{"annotations":{` +
		`"org.opencontainers.image.title":"4297a0b7e0ab0a3188c8ff96e2726c51244dba3db0db5e4d29cc2fdc267199f7.imprint"},` +
		`"digest":"sha256:93a290d3dd6abb070ac79abb20c51017392776b20751deee0045f0c1e3d4ae02",` +
		`"mediaType":"application/vnd.edge.imprint.file.v1","size":8292}],` +
		`"mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2}`
	got := slurp(t, blob(dir, pushed.Digest))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if pushed.Digest != "sha256:91d1b68dcb6e569808bc00808b7defe177a3f9d3404a1bec8d7e7eb7904630ce" {
		t.Errorf("its digest is %s", pushed.Digest)
	}
}

func blob(dir, digest string) string {
	return filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

func TestATagMoves(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			a, b := makeImprint(t, 1), makeImprint(t, 2)
			push(t, a, place+":a", oci.PushOptions{})
			push(t, a, place+":latest", oci.PushOptions{})
			push(t, b, place+":latest", oci.PushOptions{})
			s := newStore(t)
			got, err := pull(t, s, place+":latest", unsigned())
			wantHere(t, s, b, got, err)
			s = newStore(t)
			got, err = pull(t, s, place+":a", unsigned())
			wantHere(t, s, a, got, err)
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := "oci:" + filepath.Join(t.TempDir(), "layout")
	all := []made{makeImprint(t, 1), makeImprint(t, 2), makeImprint(t, 3)}
	var group sync.WaitGroup
	for i, m := range all {
		group.Go(func() { push(t, m, dir+":"+string(rune('a'+i)), oci.PushOptions{}) })
	}
	group.Wait()
	s := newStore(t)
	for range 2 {
		for i := range all {
			group.Go(func() {
				if got, err := pull(t, s, dir+":"+string(rune('a'+i)), oci.PullOptions{}); err != nil || got.ID != all[i].id {
					t.Errorf("%d: %s, %v", i, got.ID, err)
				}
			})
		}
	}
	group.Wait()
	if list, err := s.List(); err != nil || len(list.Entries) != len(all) || len(list.Damaged) > 0 {
		t.Errorf("the store holds %v (%v)", list, err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := pull(t, s, place+":v1", unsigned())
			wantRefused(t, s, err, fault.CodeImprintNotFound)
			m := makeImprint(t, 1)
			push(t, m, place+":v1", oci.PushOptions{})
			_, err = pull(t, s, place+":v2", unsigned())
			wantRefused(t, s, err, fault.CodeImprintNotFound)
			_, err = pull(t, s, place+"@sha256:"+sha("another").String(), unsigned())
			wantRefused(t, s, err, fault.CodeImprintNotFound)
		})
	}
}

// A model's manifest is recognized by the digest of the model's file, which an imprint holds.
func TestTheSubjectIsTheModelsManifest(t *testing.T) {
	m := makeImprint(t, 1)
	dir := filepath.Join(t.TempDir(), "layout")
	plain := push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
	model := addManifest(t, dir, "model", `{"schemaVersion":2,"config":{},"layers":[{"digest":"sha256:`+sha("model").String()+`"}]}`)
	addManifest(t, dir, "other", `{"schemaVersion":2,"config":{},"layers":[{"digest":"sha256:`+sha("other").String()+`"}]}`)

	pushed := push(t, m, "oci:"+dir+":v2", oci.PushOptions{Subject: "model"})
	if pushed.Digest == plain.Digest {
		t.Error("the manifest doesn't say what its subject is")
	}
	var manifest struct {
		Subject struct{ Digest string }
	}
	if err := json.Unmarshal(slurp(t, blob(dir, pushed.Digest)), &manifest); err != nil || manifest.Subject.Digest != model {
		t.Errorf("its subject is %q (%v), want %s", manifest.Subject.Digest, err, model)
	}
	s := newStore(t)
	got, err := pull(t, s, "oci:"+dir+":v2", oci.PullOptions{})
	wantHere(t, s, m, got, err)

	for subject, code := range map[string]fault.Code{"other": fault.CodeInvalidArguments, "none": fault.CodeImprintNotFound} {
		_, err := quick().Push(t.Context(), m.open(t), target(t, "oci:"+dir+":v3"), oci.PushOptions{Subject: subject})
		if !fault.Is(err, code) {
			t.Errorf("%s: got %v, want %s", subject, err, code)
		}
	}
}

// addManifest puts a manifest into a layout by hand and gives its digest.
func addManifest(t *testing.T, dir, tag, manifest string) string {
	t.Helper()
	digest := "sha256:" + sha(manifest).String()
	spit(t, blob(dir, digest), []byte(manifest))
	path := filepath.Join(dir, "index.json")
	var index map[string]any
	if err := json.Unmarshal(slurp(t, path), &index); err != nil {
		t.Fatal(err)
	}
	index["manifests"] = append(index["manifests"].([]any), map[string]any{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": len(manifest),
		"annotations": map[string]string{"org.opencontainers.image.ref.name": tag},
	})
	raw, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	spit(t, path, raw)
	return digest
}

func TestADamagedImprintIsNotPushed(t *testing.T) {
	m := makeImprint(t, 1)
	m.raw[len(m.raw)-1] ^= 1
	spit(t, m.path, m.raw)
	dir := filepath.Join(t.TempDir(), "layout")
	_, err := quick().Push(t.Context(), m.open(t), target(t, "oci:"+dir+":v1"), oci.PushOptions{})
	if !fault.Is(err, fault.CodeImprintPayloadMismatch) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestFoldersThatAreSomethingElse(t *testing.T) {
	dir := t.TempDir()
	spit(t, filepath.Join(dir, "letter.txt"), []byte("dear"))
	m := makeImprint(t, 1)
	_, err := quick().Push(t.Context(), m.open(t), target(t, "oci:"+dir+":v1"), oci.PushOptions{})
	if !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("push: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs")); !os.IsNotExist(err) {
		t.Errorf("the folder was written to: %v", err)
	}
	_, err = quick().Push(t.Context(), m.open(t), target(t, "oci:"+dir+"@sha256:"+sha("x").String()), oci.PushOptions{})
	if !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("push to a digest: %v", err)
	}
	s := newStore(t)
	_, err = pull(t, s, "oci:"+dir+":v1", oci.PullOptions{})
	wantRefused(t, s, err, fault.CodeImprintNotFound)
}

func TestPushingAgainMendsAFolder(t *testing.T) {
	m := makeImprint(t, 1)
	dir := filepath.Join(t.TempDir(), "layout")
	push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
	spit(t, blob(dir, sha(string(m.raw)).String()), []byte("spoiled"))
	s := newStore(t)
	_, err := pull(t, s, "oci:"+dir+":v1", oci.PullOptions{})
	wantRefused(t, s, err, fault.CodeDownloadDigestMismatch)
	push(t, m, "oci:"+dir+":v1", oci.PushOptions{})
	got, err := pull(t, s, "oci:"+dir+":v1", oci.PullOptions{})
	wantHere(t, s, m, got, err)
}

func TestADamagedOneInTheStoreIsSetAside(t *testing.T) {
	m := makeImprint(t, 1)
	dir := "oci:" + filepath.Join(t.TempDir(), "layout")
	push(t, m, dir+":v1", oci.PushOptions{})
	s := newStore(t)
	path := filepath.Join(s.Dir(), m.id.Hex()+".imprint")
	spit(t, path, []byte("spoiled"))
	got, err := pull(t, s, dir+":v1", oci.PullOptions{})
	wantHere(t, s, m, got, err)
	if aside := slurp(t, path+".damaged-1"); string(aside) != "spoiled" {
		t.Errorf("the evidence is %q", aside)
	}
}

func TestLeftoversGo(t *testing.T) {
	m := makeImprint(t, 1)
	dir := "oci:" + filepath.Join(t.TempDir(), "layout")
	push(t, m, dir+":v1", oci.PushOptions{})
	s := newStore(t)
	folder, err := s.Partial()
	if err != nil {
		t.Fatal(err)
	}
	spit(t, filepath.Join(folder, "old.part"), []byte("old"))
	now := time.Now()
	for _, test := range []struct {
		after time.Duration
		left  int
	}{{6 * 24 * time.Hour, 1}, {8 * 24 * time.Hour, 0}} {
		c := oci.New(oci.Config{Now: func() time.Time { return now.Add(test.after) }})
		if _, err := c.Pull(t.Context(), s, target(t, dir+":v1"), oci.PullOptions{}); err != nil {
			t.Fatal(err)
		}
		if left := partials(t, s); len(left) != test.left {
			t.Errorf("after %s: %v", test.after, left)
		}
	}
}
