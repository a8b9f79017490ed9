package learn

import (
	"runtime"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// World is what is loaded right now: everything outside the conversation that a state depends on.
type World struct {
	Engine   inference.EngineInfo
	Model    inference.Model
	File     ModelFile
	Params   inference.Params // ContextTokens is set per session
	Renderer *chattemplate.Renderer
}

// ModelFile is the model by content. The digests are those of the bytes that the engine maps.
type ModelFile struct {
	Name            string
	Path            string
	SHA256          digest.SHA256
	TokenizerSHA256 digest.SHA256
	TemplateSHA256  digest.SHA256
}

// Identity is the live world of an imprint that stands for prefix.
func (w World) Identity(set *tools.ActiveSet, prefix []inference.Token, learnedVersion string) imprint.Identity {
	id := imprint.Identity{
		Model:              imprint.Model{SHA256: w.File.SHA256, Architecture: w.Model.Info().Architecture},
		TokenizerSHA256:    w.File.TokenizerSHA256,
		ChatTemplateSHA256: w.File.TemplateSHA256,
		Engine:             imprint.Engine{Name: w.Engine.Name, Version: w.Engine.Version},
		Params: imprint.Params{
			KVTypeK: w.Params.KVTypeK, KVTypeV: w.Params.KVTypeV, FlashAttention: w.Params.FlashAttention,
			NBatch: w.Params.BatchTokens, NUBatch: w.Params.UBatchTokens,
			RopeFreqBase: float64(w.Params.RopeFreqBase), RopeFreqScale: float64(w.Params.RopeFreqScale), SWAFull: w.Params.SWAFull,
		},
		PromptFormatVersion: PromptFormat,
		PrefixSHA256:        imprint.PrefixSHA256(ids(prefix)),
		LearnedVersion:      learnedVersion,
	}
	for _, l := range w.Engine.Libraries {
		id.Engine.Libraries = append(id.Engine.Libraries, imprint.Library{Name: l.Name, SHA256: l.SHA256})
	}
	if set != nil {
		id.SchemaGeneratorVersion, id.ActiveSetSHA256 = set.GeneratorVersion(), set.SHA256()
		for _, t := range set.Tools() {
			id.Tools = append(id.Tools, imprint.Tool{Name: t.Name, SchemaSHA256: t.SchemaSHA256})
		}
	}
	return id
}

// Platform says where this process computes.
func (w World) Platform() imprint.Platform {
	return imprint.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: w.Engine.Backend}
}

func ids(tokens []inference.Token) []uint32 {
	out := make([]uint32, len(tokens))
	for i, t := range tokens {
		out[i] = uint32(t)
	}
	return out
}

// Suffix gives the tokens of a conversation that come after prefix. The conversation must start with it.
func (w World) Suffix(messages []chattemplate.Message, prefix []inference.Token) ([]inference.Token, error) {
	all, err := w.Renderer.Tokens(messages, true)
	if err != nil {
		return nil, err
	}
	for i, t := range prefix {
		if i >= len(all)-1 || all[i] != t {
			return nil, fault.New(fault.CodeImprintPrefixMismatch, "the prompt differs from the imprint's tokens at token %d of %d", i, len(prefix))
		}
	}
	return all[len(prefix):], nil
}
