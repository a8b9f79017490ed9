package oci_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2/content"
	layouts "oras.land/oras-go/v2/content/oci"

	"edge/imprint/oci"
	"edge/internal/dsse"
)

// What edge writes into a folder is what other programs read, and it reads what they write.
func TestOtherProgramsFolders(t *testing.T) {
	m := makeImprint(t, 1)
	private, public := newKey(t)
	dir := filepath.Join(t.TempDir(), "layout")
	pushed := push(t, m, "oci:"+dir+":v1", oci.PushOptions{Sign: &private})

	theirs, err := layouts.NewFromFS(t.Context(), os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	desc, err := theirs.Resolve(t.Context(), "v1")
	if err != nil || desc.Digest.String() != pushed.Digest || desc.ArtifactType != oci.ArtifactType {
		t.Fatalf("resolved %+v (%v), want %s", desc, err, pushed.Digest)
	}
	parts, err := oras.Successors(t.Context(), theirs, desc)
	if err != nil || len(parts) != 2 {
		t.Fatalf("parts: %v, %v", parts, err)
	}
	if raw, err := oras.FetchAll(t.Context(), theirs, parts[1]); err != nil || !bytes.Equal(raw, m.raw) {
		t.Errorf("the layer isn't the file: %v", err)
	}
	if title := parts[1].Annotations[ocispec.AnnotationTitle]; title != m.id.Hex()+".imprint" {
		t.Errorf("it would be stored as %q", title)
	}
	signatures, err := theirs.Predecessors(t.Context(), desc)
	if err != nil || len(signatures) != 1 || signatures[0].ArtifactType != "" && signatures[0].ArtifactType != oci.SignatureType {
		t.Errorf("signatures: %v, %v", signatures, err)
	}

	// Their copy of it, which has another order and other names for what has no tag.
	copied := filepath.Join(t.TempDir(), "copy")
	to, err := layouts.New(copied)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append([]ocispec.Descriptor{desc}, signatures...) {
		parts, err := oras.Successors(t.Context(), theirs, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(parts, d) {
			raw, err := oras.FetchAll(t.Context(), theirs, part)
			if err != nil {
				t.Fatal(err)
			}
			if there, err := to.Exists(t.Context(), part); err != nil || there {
				continue
			}
			if err := to.Push(t.Context(), part, bytes.NewReader(raw)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := to.Tag(t.Context(), desc, "theirs"); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	got, err := pull(t, s, "oci:"+copied+":theirs", oci.PullOptions{Trust: []dsse.PublicKey{public}})
	wantHere(t, s, m, got, err)
}
