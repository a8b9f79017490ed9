package runner

import "encoding/json"

// Confined reports whether a sandbox block says that everything which a read tool must not do was denied.
func Confined(block json.RawMessage) bool { return allDenied(block) == nil }
