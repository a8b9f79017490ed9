package imprint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"edge/internal/digest"
)

// Identity is everything that a state's meaning depends on. Whoever bakes fills it in from what was used, whoever
// restores from what is live, and the gate compares the two field by field. What may change freely (threads, room for
// more context, tags, the bodies of tools) isn't in it.
type Identity struct {
	// Model is the file that computed the state.
	Model Model `json:"model"`
	// TokenizerSHA256 digests what turns text into token ids.
	TokenizerSHA256 digest.SHA256 `json:"tokenizer_sha256"`
	// ChatTemplateSHA256 digests the template's source.
	ChatTemplateSHA256 digest.SHA256 `json:"chat_template_sha256"`
	// Engine is the code that computed the state, and whose layout the state's bytes have.
	Engine Engine `json:"engine"`
	// Params are the settings under which it did.
	Params Params `json:"params"`
	// PromptFormatVersion names how edge writes system text, tools, profile and examples into a prompt.
	PromptFormatVersion string `json:"prompt_format_version"`
	// SchemaGeneratorVersion names what derived the tools' schemas; empty without tools.
	SchemaGeneratorVersion string `json:"schema_generator_version"`
	// ActiveSetSHA256 digests the tools as a set; zero without tools.
	ActiveSetSHA256 digest.SHA256 `json:"active_set_sha256"`
	// Tools are sorted by name; there may be none.
	Tools []Tool `json:"tools"`
	// PrefixSHA256 is PrefixSHA256 of the tokens that the state stands for.
	PrefixSHA256 digest.SHA256 `json:"prefix_sha256"`
	// LearnedVersion names the form of what was learned; empty where nothing was.
	LearnedVersion string `json:"learned_version"`
}

// Model is a model file by content, never by name.
type Model struct {
	SHA256       digest.SHA256 `json:"sha256"`
	Architecture string        `json:"architecture"`
}

// Engine is the engine by the content of its libraries.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Libraries are sorted by name; an engine inside this program has none.
	Libraries []Library `json:"libraries"`
}

// Library is one file of an engine.
type Library struct {
	Name   string        `json:"name"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// Params are the settings that change a state's bytes or their meaning.
type Params struct {
	KVTypeK        string `json:"kv_type_k"`
	KVTypeV        string `json:"kv_type_v"`
	FlashAttention bool   `json:"flash_attention"`
	NBatch         int    `json:"n_batch"`
	NUBatch        int    `json:"n_ubatch"`
	// RopeFreqBase and RopeFreqScale are 0 where the model file says.
	RopeFreqBase  float64 `json:"rope_freq_base"`
	RopeFreqScale float64 `json:"rope_freq_scale"`
	// SWAFull keeps all positions of sliding-window layers.
	SWAFull bool `json:"swa_full"`
	// LoRA are the adapters in the order of their application.
	LoRA []LoRA `json:"lora"`
}

// LoRA is one adapter and its strength.
type LoRA struct {
	SHA256 digest.SHA256 `json:"sha256"`
	Scale  float64       `json:"scale"`
}

// Tool is one tool of the active set, by its frozen schema.
type Tool struct {
	Name         string        `json:"name"`
	SchemaSHA256 digest.SHA256 `json:"schema_sha256"`
}

// PrefixSHA256 digests token ids as they stand in the file: 32-bit little-endian, one after the other.
func PrefixSHA256(tokens []uint32) digest.SHA256 { return digest.SHA256Of(encodeTokens(tokens)) }

func encodeTokens(tokens []uint32) []byte {
	raw := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		raw = binary.LittleEndian.AppendUint32(raw, t)
	}
	return raw
}

func decodeTokens(raw []byte) []uint32 {
	tokens := make([]uint32, len(raw)/4)
	for i := range tokens {
		tokens[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return tokens
}

// Check reports what is missing or out of order in id: an identity with a hole would match too much.
func (id Identity) Check() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	need(!id.Model.SHA256.IsZero(), "model.sha256 is missing")
	need(id.Model.Architecture != "", "model.architecture is missing")
	need(!id.TokenizerSHA256.IsZero(), "tokenizer_sha256 is missing")
	need(!id.ChatTemplateSHA256.IsZero(), "chat_template_sha256 is missing")
	need(id.Engine.Name != "", "engine.name is missing")
	need(id.Engine.Version != "", "engine.version is missing")
	need(id.Params.KVTypeK != "" && id.Params.KVTypeV != "", "params.kv_type_k or kv_type_v is missing")
	need(id.Params.NBatch > 0 && id.Params.NUBatch > 0, "params.n_batch or n_ubatch isn't positive")
	need(finite(id.Params.RopeFreqBase) && finite(id.Params.RopeFreqScale), "params.rope_freq_base or rope_freq_scale isn't finite")
	need(id.PromptFormatVersion != "", "prompt_format_version is missing")
	need(!id.PrefixSHA256.IsZero(), "prefix_sha256 is missing")
	for i, a := range id.Params.LoRA {
		need(!a.SHA256.IsZero() && finite(a.Scale), fmt.Sprintf("params.lora.%d is incomplete", i))
	}
	var names []string
	for _, l := range id.Engine.Libraries {
		need(!l.SHA256.IsZero(), fmt.Sprintf("engine.libraries: %q has no digest", l.Name))
		names = append(names, l.Name)
	}
	need(ascending(names), "engine.libraries aren't sorted by distinct names")
	names = nil
	for _, t := range id.Tools {
		need(!t.SchemaSHA256.IsZero(), fmt.Sprintf("tools: %q has no digest", t.Name))
		names = append(names, t.Name)
	}
	need(ascending(names), "tools aren't sorted by distinct names")
	need((len(id.Tools) > 0) == !id.ActiveSetSHA256.IsZero(), "active_set_sha256 goes with tools, and only with them")
	need((len(id.Tools) > 0) == (id.SchemaGeneratorVersion != ""), "schema_generator_version goes with tools, and only with them")
	return errors.Join(errs...)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// ascending reports whether names are non-empty, sorted and distinct.
func ascending(names []string) bool {
	for i, n := range names {
		if n == "" || i > 0 && names[i-1] >= n {
			return false
		}
	}
	return true
}

// clone gives an Identity that shares no memory with id, and whose lists are never null in JSON.
func (id Identity) clone() Identity {
	id.Engine.Libraries = cloneList(id.Engine.Libraries)
	id.Params.LoRA = cloneList(id.Params.LoRA)
	id.Tools = cloneList(id.Tools)
	return id
}

func cloneList[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }

func (id Identity) toolNames() []string {
	names := make([]string, len(id.Tools))
	for i, t := range id.Tools {
		names[i] = t.Name
	}
	return slices.Clip(names)
}
