package oci

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	godigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"edge/imprint"
	"edge/internal/canon"
	"edge/internal/fault"
)

// Media types of the artifact and its parts.
const (
	// ArtifactType is the type of an imprint's manifest.
	ArtifactType = "application/vnd.edge.imprint.v1"
	// ConfigType is the imprint's header, in its canonical form.
	ConfigType = "application/vnd.edge.imprint.config.v1+json"
	// FileType is the imprint's whole file.
	FileType = "application/vnd.edge.imprint.file.v1"
	// SignatureType is the type of a manifest that signs an imprint, which is its subject.
	SignatureType = "application/vnd.edge.imprint.signature.v1"
	// EnvelopeType is the signature itself.
	EnvelopeType = "application/vnd.dsse.envelope.v1+json"

	// anyVersion is how the types of imprints of every version begin.
	anyVersion = "application/vnd.edge.imprint.v"
)

// What is read of metadata at most. A manifest of an imprint has well under a kilobyte.
const (
	maxManifest = 1 << 20
	maxIndex    = 4 << 20
	maxEnvelope = 64 << 10
	// maxSignatures is how many signatures of one imprint are looked at.
	maxSignatures = 64
)

// artifact is an imprint as its manifest describes it.
type artifact struct {
	id     imprint.ID
	header imprint.Header
	config ocispec.Descriptor
	file   ocispec.Descriptor
}

func describe(mediaType string, d godigest.Digest, size int64) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: size}
}

// encodeManifest gives a manifest's bytes. They are canonical JSON, so that they are the same with every version of
// every library.
func encodeManifest(m ocispec.Manifest) ([]byte, ocispec.Descriptor, error) {
	m.Versioned, m.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
	raw, err := canon.Marshal(m)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	desc := describe(m.MediaType, godigest.FromBytes(raw), int64(len(raw)))
	desc.ArtifactType = m.ArtifactType
	return raw, desc, nil
}

// manifest gives the artifact's manifest. The title lets a general client store the layer as a file that edge can read.
func (a artifact) manifest(subject *ocispec.Descriptor) ([]byte, ocispec.Descriptor, error) {
	file := a.file
	file.Annotations = map[string]string{ocispec.AnnotationTitle: a.id.Hex() + ".imprint"}
	return encodeManifest(ocispec.Manifest{
		ArtifactType: ArtifactType, Config: a.config, Layers: []ocispec.Descriptor{file}, Subject: subject,
	})
}

// parseManifest reads the manifest of an imprint. mediaType is what its source says it is. Unknown members are passed
// over, as the OCI specification wants; nothing in them is used.
//
// Errors: imprint_not_found for another kind of artifact, imprint_format_unsupported for another version of this kind,
// imprint_header_malformed for one of this kind that isn't made like one.
func parseManifest(raw []byte, mediaType string) (config, file ocispec.Descriptor, err error) {
	m, err := decodeManifest(raw, mediaType)
	kind := m.ArtifactType
	if kind == "" {
		kind = m.Config.MediaType
	}
	switch {
	case err != nil:
		return config, file, fault.New(fault.CodeImprintNotFound, "what lies there isn't an imprint: %w", err)
	case strings.HasPrefix(kind, anyVersion) && kind != ArtifactType:
		return config, file, fault.New(fault.CodeImprintFormatUnsupported, "an artifact of type %q, want %q", clip(kind), ArtifactType)
	case kind != ArtifactType:
		return config, file, fault.New(fault.CodeImprintNotFound, "what lies there isn't an imprint but an artifact of type %q", clip(kind)).
			WithHint("check the tag")
	case m.Config.MediaType != ConfigType:
		return config, file, malformed("a config of type %q, want %q", clip(m.Config.MediaType), ConfigType)
	case len(m.Layers) != 1 || m.Layers[0].MediaType != FileType:
		return config, file, malformed("%d layers, want one of type %q", len(m.Layers), FileType)
	}
	config, file = m.Config, m.Layers[0]
	for _, d := range []ocispec.Descriptor{config, file} {
		if !sha256Digest(d.Digest) || d.Size < 1 {
			return config, file, malformed("a part of %d bytes with the digest %q", d.Size, clip(string(d.Digest)))
		}
	}
	if config.Size > imprint.MaxHeader {
		return config, file, malformed("a header of %d bytes, want at most %d", config.Size, imprint.MaxHeader)
	}
	return config, file, nil
}

func decodeManifest(raw []byte, mediaType string) (m ocispec.Manifest, err error) {
	if mediaType != ocispec.MediaTypeImageManifest {
		return m, fmt.Errorf("it is of type %q, want %q", clip(mediaType), ocispec.MediaTypeImageManifest)
	}
	if err := canon.Check(raw); err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	if m.SchemaVersion != 2 || m.MediaType != "" && m.MediaType != mediaType {
		return m, fmt.Errorf("it is of schema %d and type %q", m.SchemaVersion, clip(m.MediaType))
	}
	return m, nil
}

func malformed(format string, args ...any) *fault.Error {
	e := fault.New(fault.CodeImprintHeaderMalformed, format, args...)
	e.Message = "manifest: " + e.Message
	return e
}

// sha256Digest reports whether d is a SHA-256, the only kind that is used.
func sha256Digest(d godigest.Digest) bool {
	return d.Validate() == nil && d.Algorithm() == godigest.SHA256
}

// clip makes text of the other side fit to be shown: short, and without characters that move a terminal's cursor.
func clip(text string) string {
	const most = 400
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return clean
}
