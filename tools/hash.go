package tools

import (
	"encoding/json"

	"edge/internal/canon"
	"edge/internal/digest"
)

// schemaSHA256 digests what a model learns about a tool. Tags and lines aren't in it: they change nothing for a model.
func schemaSHA256(t Tool) (digest.SHA256, error) {
	return hashOf(struct {
		Name           string          `json:"name"`
		Description    string          `json:"description"`
		Parameters     json.RawMessage `json:"parameters"`
		ExecutionLevel ExecutionLevel  `json:"execution_level"`
		ReturnDirect   bool            `json:"return_direct"`
		OutputSchema   json.RawMessage `json:"output_schema"`
		Permissions    []string        `json:"permissions"`
	}{t.Name, t.Description, t.Parameters, t.ExecutionLevel, t.ReturnDirect, t.OutputSchema, t.Permissions})
}

// activeSetSHA256 digests the names and schemas of tools, which are sorted by name.
func activeSetSHA256(generatorVersion string, tools []frozenTool) (digest.SHA256, error) {
	type entry struct {
		Name         string        `json:"name"`
		SchemaSHA256 digest.SHA256 `json:"schema_sha256"`
	}
	entries := make([]entry, len(tools))
	for i, t := range tools {
		entries[i] = entry{t.Name, t.SchemaSHA256}
	}
	return hashOf(struct {
		SchemaGeneratorVersion string  `json:"schema_generator_version"`
		Tools                  []entry `json:"tools"`
	}{generatorVersion, entries})
}

func hashOf(v any) (digest.SHA256, error) {
	text, err := canon.Marshal(v)
	if err != nil {
		return digest.SHA256{}, err
	}
	return digest.SHA256Of(text), nil
}
