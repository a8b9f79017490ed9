package main

import (
	"runtime"

	"edge/imprint"
	"edge/learn"
	"edge/models"
)

// versionInfo is edge.version/v1.
type versionInfo struct {
	Schema         string `json:"schema"`
	OK             bool   `json:"ok"`
	Edge           string `json:"edge"`
	Go             string `json:"go"`
	Engine         string `json:"engine"`
	EngineVersion  string `json:"engine_version"`
	ImprintFormat  int    `json:"imprint_format"`
	PromptFormat   string `json:"prompt_format"`
	LearnedVersion string `json:"learned_version"`
}

func versions() versionInfo {
	release, _ := models.ReleaseFor(runtime.GOOS, runtime.GOARCH)
	return versionInfo{
		Schema: "edge.version/v1", OK: true, Edge: version(), Go: runtime.Version(), Engine: "llama.cpp", EngineVersion: release.Engine,
		ImprintFormat: imprint.FormatVersion, PromptFormat: learn.PromptFormat, LearnedVersion: learn.LearnedVersion,
	}
}
