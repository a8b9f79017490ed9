package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"edge/internal/canon"
	"edge/internal/fault"
)

// manifest is edge.tools_manifest/v1: it gives the built-in fact lookup a name and a description of the developer's. It
// runs no code of theirs.
type manifest struct {
	Schema      string `json:"schema"`
	Name        string `json:"name"`
	Description string `json:"description"`
	FactsStore  string `json:"facts_store"` // relative paths start at the manifest's folder
}

const (
	manifestSchema = "edge.tools_manifest/v1"
	manifestLimit  = 64 << 10
)

func readManifest(path string) (manifest, error) {
	var m manifest
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fault.New(fault.CodeToolsFileNotFound, "the tools manifest %s isn't there", path).WithHint("check the path given to --tools-manifest")
	}
	if err != nil {
		return m, err
	}
	if len(raw) > manifestLimit {
		return m, fault.New(fault.CodeInvalidToolMetadata, "%s is larger than %d bytes", path, manifestLimit)
	}
	if err := canon.Unmarshal(raw, &m); err != nil {
		return m, fault.New(fault.CodeInvalidToolMetadata, "%s: %w", path, err).WithHint("docs/facts.md has the shape of a manifest")
	}
	if m.Schema != manifestSchema || m.FactsStore == "" {
		return m, fault.New(fault.CodeInvalidToolMetadata, "%s: want schema %q and a facts_store", path, manifestSchema).WithHint("docs/facts.md has the shape of a manifest")
	}
	if !filepath.IsAbs(m.FactsStore) {
		m.FactsStore = filepath.Join(filepath.Dir(path), m.FactsStore)
	}
	return m, nil
}
