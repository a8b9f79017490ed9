package oci

import (
	"context"
	"errors"
	"fmt"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

const (
	// statementType and predicateType say which in-toto statement is signed, and about what.
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "edge:imprint-signature/v1"
)

// statement is what is signed. It names the artifact's parts by their digests and holds nothing else, so that there is
// one statement for one imprint: whoever checks a signature makes the statement himself, and wants its very bytes.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	ID        string `json:"id"`
	FileBytes int64  `json:"file_bytes"`
}

// statement gives the bytes of the only statement about a.
func (a artifact) statement() ([]byte, error) {
	return canon.Marshal(statement{
		Type: statementType,
		Subject: []subject{
			{"file", map[string]string{"sha256": a.file.Digest.Encoded()}},
			{"config", map[string]string{"sha256": a.config.Digest.Encoded()}},
		},
		PredicateType: predicateType,
		Predicate:     predicate{a.id.String(), a.file.Size},
	})
}

// sign gives the envelope of the statement about a.
func (a artifact) sign(key dsse.PrivateKey) ([]byte, error) {
	payload, err := a.statement()
	if err != nil {
		return nil, err
	}
	return dsse.Sign(key, dsse.InToto, payload)
}

// judge looks for a trusted key that signed the statement about a. The error is dsse.ErrUntrusted, or says what is wrong
// with a signature that is, or says that it is, of a trusted key.
func (a artifact) judge(raw []byte, trusted []dsse.PublicKey) (dsse.PublicKey, error) {
	e, err := dsse.Parse(raw)
	if err != nil {
		return dsse.PublicKey{}, err
	}
	payload, key, err := e.Open(dsse.InToto, trusted)
	if err != nil {
		return dsse.PublicKey{}, err
	}
	want, err := a.statement()
	if err == nil && string(payload) != string(want) {
		err = fmt.Errorf("key %s signed something else with it", key.ID())
	}
	return key, err
}

// signatureManifest gives the manifest that ties an envelope to the imprint's manifest.
func signatureManifest(imprint, envelope ocispec.Descriptor) ([]byte, ocispec.Descriptor, error) {
	imprint.Annotations, imprint.ArtifactType = nil, ""
	return encodeManifest(ocispec.Manifest{
		ArtifactType: SignatureType, Config: emptyConfig(), Layers: []ocispec.Descriptor{envelope}, Subject: &imprint,
	})
}

// emptyConfig describes the config of an artifact that needs none.
func emptyConfig() ocispec.Descriptor {
	return describe(ocispec.MediaTypeEmptyJSON, godigest.FromBytes(emptyJSON()), int64(len(emptyJSON())))
}

func emptyJSON() []byte { return []byte("{}") }

// trust makes sure that one of the trusted keys has signed a. Anybody who may write to a repository may add signatures
// to an imprint, so a bad one does no harm where there is a good one; where there is none, it is told.
//
// Errors: imprint_signature_missing, imprint_signature_invalid.
func (c *Client) trust(ctx context.Context, p place, a artifact, manifest ocispec.Descriptor, trusted []dsse.PublicKey) (digest.SHA256, error) {
	found, err := p.referrers(ctx, manifest, maxSignatures)
	if err != nil {
		return digest.SHA256{}, fmt.Errorf("look for signatures: %w", err)
	}
	var bad, unread error
	signatures := 0
	for _, d := range found {
		raw, err := c.envelope(ctx, p, d)
		if ctx.Err() != nil {
			return digest.SHA256{}, ctx.Err()
		}
		var failure readError
		switch {
		case errors.Is(err, errNoSignature):
			continue
		case errors.As(err, &failure):
			unread = failure
			continue
		}
		signatures++
		if err == nil {
			var key dsse.PublicKey
			if key, err = a.judge(raw, trusted); err == nil {
				return key.ID(), nil
			}
		}
		if !errors.Is(err, dsse.ErrUntrusted) {
			bad = fmt.Errorf("signature %s: %w", d.Digest, err)
		}
	}
	switch {
	case unread != nil && bad == nil: // the good one may be among those
		return digest.SHA256{}, unread
	case bad != nil:
		return digest.SHA256{}, fault.New(fault.CodeImprintSignatureInvalid, "%w", bad)
	case signatures > 0:
		return digest.SHA256{}, fault.New(fault.CodeImprintSignatureMissing, "it is signed, but by no key that you trust (%d signatures)", signatures).
			WithHint("give its publisher's public key with --trust KEY")
	}
	return digest.SHA256{}, fault.New(fault.CodeImprintSignatureMissing, "it isn't signed")
}

// errNoSignature says that something refers to the imprint for another reason.
var errNoSignature = errors.New("it isn't a signature")

// mayBeSignature reports whether a listed manifest is worth a look. Some take its type from its config, or leave it out;
// the manifest itself decides.
func mayBeSignature(d ocispec.Descriptor) bool {
	return d.ArtifactType == SignatureType || d.ArtifactType == ocispec.MediaTypeEmptyJSON || d.ArtifactType == ""
}

// envelope reads the envelope of a signature whose manifest d describes. What it is a signature of, the envelope says.
func (c *Client) envelope(ctx context.Context, p place, d ocispec.Descriptor) ([]byte, error) {
	if !sha256Digest(d.Digest) || d.Size > maxManifest {
		return nil, errNoSignature
	}
	raw, desc, err := c.manifest(ctx, p, d.Digest.String())
	if err != nil {
		return nil, asReadError(err)
	}
	m, err := decodeManifest(raw, desc.MediaType)
	switch {
	case err != nil || m.ArtifactType != SignatureType:
		return nil, errNoSignature
	case len(m.Layers) != 1 || m.Layers[0].MediaType != EnvelopeType:
		return nil, fmt.Errorf("it has %d layers, want one of type %q", len(m.Layers), EnvelopeType)
	}
	layer := m.Layers[0]
	if !sha256Digest(layer.Digest) || layer.Size < 1 || layer.Size > maxEnvelope {
		return nil, fmt.Errorf("its envelope has %d bytes, want at most %d", layer.Size, maxEnvelope)
	}
	if raw, err = c.readSmall(ctx, p, layer); err != nil {
		return nil, asReadError(err)
	}
	return raw, nil
}

// readError is a signature that couldn't be fetched, which says nothing about it.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

func asReadError(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return readError{err}
}

// manifest is place.manifest, with more attempts.
func (c *Client) manifest(ctx context.Context, p place, name string) (raw []byte, desc ocispec.Descriptor, err error) {
	err = c.persist(ctx, func() (bool, error) {
		raw, desc, err = p.manifest(ctx, name)
		return false, err
	})
	return raw, desc, err
}
