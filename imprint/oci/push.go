package oci

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"edge/imprint"
	"edge/internal/canon"
	"edge/internal/ctxio"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
)

// PushOptions say what goes along with an imprint.
type PushOptions struct {
	// Sign, if set, is the key that vouches for the imprint.
	Sign *dsse.PrivateKey
	// Subject, if set, is a tag or a digest in the same repository or folder: the manifest of the model that the imprint
	// was made with. One of its layers must have the model's digest.
	Subject string
}

// Pushed says what lies at the target now.
type Pushed struct {
	ID        imprint.ID
	Reference string
	// Digest is the manifest's, and the same for the same imprint wherever it is pushed to.
	Digest string
	// Bytes is how long the file is.
	Bytes int64
	// Signer is the key that signed, or zero.
	Signer digest.SHA256
}

// Push sends an imprint to a target, after every digest of it was checked. What is there already isn't sent again. The
// tag comes last, so whoever follows it finds everything, the signature included.
//
// Errors: those of imprint.CheckIntegrity; invalid_arguments; upload_failed; the operating system's; ctx's.
func (c *Client) Push(ctx context.Context, u *imprint.Unverified, t Target, opt PushOptions) (Pushed, error) {
	pushed, err := c.push(ctx, u, t, opt)
	if err != nil {
		return Pushed{}, failed(ctx, fault.CodeUploadFailed, t, err)
	}
	return pushed, nil
}

func (c *Client) push(ctx context.Context, u *imprint.Unverified, t Target, opt PushOptions) (Pushed, error) {
	if t.byDigest() {
		return Pushed{}, badTarget(t.text, "it has a digest, and what is pushed needs a tag")
	}
	if err := u.CheckIntegrity(ctx); err != nil {
		return Pushed{}, err
	}
	file, _ := u.Whole()
	a, config, err := newArtifact(ctx, u, file)
	if err != nil {
		return Pushed{}, err
	}
	p, err := c.place(t)
	if err == nil {
		err = p.prepare(ctx)
	}
	if err != nil {
		return Pushed{}, err
	}
	model, err := c.subject(ctx, p, a, opt.Subject)
	if err != nil {
		return Pushed{}, err
	}
	raw, desc, err := a.manifest(model)
	if err != nil {
		return Pushed{}, err
	}
	if err := c.send(ctx, p, a.config, bytes.NewReader(config), silent{}); err != nil {
		return Pushed{}, err
	}
	show := c.cfg.Progress("pushing " + t.text)
	err = c.send(ctx, p, a.file, file, show)
	show.Done()
	if err != nil {
		return Pushed{}, err
	}
	pushed := Pushed{ID: a.id, Reference: t.text, Digest: desc.Digest.String(), Bytes: a.file.Size}
	if opt.Sign != nil {
		if err := c.sendSignature(ctx, p, a, raw, desc, *opt.Sign); err != nil {
			return Pushed{}, err
		}
		pushed.Signer = opt.Sign.Public().ID()
	}
	return pushed, c.publish(ctx, p, desc, raw, t.name)
}

// newArtifact digests the file of u and gives its header's bytes as well.
func newArtifact(ctx context.Context, u *imprint.Unverified, file io.ReaderAt) (artifact, []byte, error) {
	a := artifact{id: u.ID(), header: u.Header()}
	config, err := canon.Marshal(a.header)
	if err != nil {
		return artifact{}, nil, err
	}
	_, id, size, err := imprint.ParseHeader(config)
	if err != nil {
		return artifact{}, nil, err
	}
	if id != a.id {
		return artifact{}, nil, fmt.Errorf("%s: its header comes to %s", u.Path(), id)
	}
	sum, n, err := digest.SHA256Reader(ctxio.Reader(ctx, io.NewSectionReader(file, 0, size)))
	if err != nil {
		return artifact{}, nil, err
	}
	if n != size {
		return artifact{}, nil, fault.New(fault.CodeImprintTruncated, "%s: got %d bytes, want %d", u.Path(), n, size)
	}
	a.config = describe(ConfigType, godigest.FromBytes(config), int64(len(config)))
	a.file = describe(FileType, godigest.NewDigestFromEncoded(godigest.SHA256, sum.String()), size)
	return a, config, nil
}

// subject finds the manifest of the model. It has to be that of the imprint's own model.
func (c *Client) subject(ctx context.Context, p place, a artifact, name string) (*ocispec.Descriptor, error) {
	if name == "" {
		return nil, nil
	}
	raw, desc, err := c.manifest(ctx, p, name)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(raw, desc.MediaType)
	if err != nil {
		return nil, fault.New(fault.CodeInvalidArguments, "subject %s isn't a model's manifest: %w", name, err)
	}
	model := a.header.Identity.Model.SHA256.String()
	if !slices.ContainsFunc(m.Layers, func(d ocispec.Descriptor) bool { return d.Digest.String() == "sha256:"+model }) {
		return nil, fault.New(fault.CodeInvalidArguments, "subject %s has no layer with the digest of the imprint's model, sha256:%s", name, model).
			WithHint("name the manifest of the very model file that the imprint was learned with")
	}
	return &desc, nil
}

// send stores a blob unless it is there.
func (c *Client) send(ctx context.Context, p place, blob ocispec.Descriptor, content io.ReaderAt, show Progress) error {
	if p.has(ctx, blob) {
		return nil
	}
	return c.persist(ctx, func() (bool, error) {
		show.Start(blob.Size)
		err := p.put(ctx, blob, &counted{io.NewSectionReader(content, 0, blob.Size), show})
		if err != nil && brokenOff(err) {
			return false, transientError{err}
		}
		return true, err
	})
}

func (c *Client) publish(ctx context.Context, p place, desc ocispec.Descriptor, raw []byte, tag string) error {
	return c.persist(ctx, func() (bool, error) {
		err := p.publish(ctx, desc, raw, tag)
		if err != nil && brokenOff(err) {
			return false, transientError{err}
		}
		return true, err
	})
}

// sendSignature stores the imprint's manifest without a tag, and then what refers to it.
func (c *Client) sendSignature(ctx context.Context, p place, a artifact, raw []byte, desc ocispec.Descriptor, key dsse.PrivateKey) error {
	sealed, err := a.sign(key)
	if err != nil {
		return err
	}
	layer := describe(EnvelopeType, godigest.FromBytes(sealed), int64(len(sealed)))
	rawSignature, signature, err := signatureManifest(desc, layer)
	if err != nil {
		return err
	}
	if err := c.send(ctx, p, layer, bytes.NewReader(sealed), silent{}); err != nil {
		return err
	}
	if err := c.send(ctx, p, emptyConfig(), bytes.NewReader(emptyJSON()), silent{}); err != nil {
		return err
	}
	if err := c.publish(ctx, p, desc, raw, ""); err != nil {
		return err
	}
	return c.publish(ctx, p, signature, rawSignature, "")
}

// counted tells what was read.
type counted struct {
	r    io.Reader
	show Progress
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.show.Add(int64(n))
	return n, err
}
