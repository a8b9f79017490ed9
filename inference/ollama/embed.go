package ollama

import (
	"context"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"edge/internal/digest"
	"edge/internal/fault"
)

// embedder makes vectors by a model of its own: one that shared the chat model's runner would take the cached prefix from
// it with every request.
type embedder struct {
	*Engine
	size int
}

// embedding opens the embedding model.
func (e *Engine) embedding(ctx context.Context) (*embedder, digest.SHA256, error) {
	manifest, err := e.manifest(ctx, e.embedder)
	if err != nil {
		return nil, digest.SHA256{}, err
	}
	sum, err := digest.ParseSHA256(strings.TrimPrefix(manifest, "sha256:"))
	if err != nil {
		return nil, sum, fault.New(fault.CodeServedReply, "%s: the digest of %s: %w", e.base.Host, e.embedder, err)
	}
	m := &embedder{Engine: e}
	v, err := m.Embed(ctx, "size")
	m.size = len(v)
	return m, sum, err
}

// Size implements served.Embedder.
func (m *embedder) Size() int { return m.size }

// Embed implements served.Embedder.
func (m *embedder) Embed(ctx context.Context, text string) ([]float32, error) {
	out, err := m.client.Embed(ctx, &api.EmbedRequest{Model: m.embedder, Input: text, KeepAlive: m.keepAlive})
	if err != nil {
		return nil, m.trouble(ctx, err, false)
	}
	if len(out.Embeddings) != 1 || len(out.Embeddings[0]) == 0 {
		return nil, fault.New(fault.CodeServedReply, "%s: %d embeddings for one text", m.base.Host, len(out.Embeddings))
	}
	return out.Embeddings[0], nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
