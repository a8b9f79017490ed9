//go:build !linux

package llamacpp

// Elsewhere nothing tells which variant the engine chose, and all are asked at each start.

func loadVariant(string, string) bool { return false }

func loadedVariant(string) string { return "" }
