package served

import "edge/internal/digest"

// Identity is what a server tells of a model, for an imprint's identity and for people.
type Identity struct {
	Name           string        `json:"name"`
	Server         string        `json:"server"` // its address
	SHA256         digest.SHA256 `json:"sha256"` // of the model's content where Proven, else of what the server says of it
	TemplateSHA256 digest.SHA256 `json:"template_sha256"`
	// EmbedderSHA256 is of what makes the head's vectors; zero where edge does.
	EmbedderSHA256 digest.SHA256 `json:"embedder_sha256"`
	Proven         bool          `json:"model_proven"`
	Unknown        []string      `json:"unknown"` // what the server can't tell
}

// TokenizerSHA256 names what turns text into tokens and vectors: it is edge's own, whatever the server's is.
func (id Identity) TokenizerSHA256() digest.SHA256 {
	text := Format + "\n" + featuresFormat
	if !id.EmbedderSHA256.IsZero() {
		text = Format + "\n" + id.EmbedderSHA256.String()
	}
	return digest.SHA256Of([]byte(text))
}

// Described is a model that says what its server told of it.
type Described interface{ Identity() Identity }
