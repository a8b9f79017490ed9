package evolve

import (
	"encoding/json"
	"strings"

	"edge/internal/canon"
)

// arguments reads a call's arguments. What isn't a sound JSON object counts as no arguments, as the planner will notice.
func arguments(raw string) (args map[string]json.RawMessage, ok bool) {
	args = map[string]json.RawMessage{}
	if strings.TrimSpace(raw) == "" {
		return args, true
	}
	if len(raw) > 1<<20 || canon.Check([]byte(raw)) != nil || json.Unmarshal([]byte(raw), &args) != nil || args == nil {
		return map[string]json.RawMessage{}, false
	}
	return args, true
}

// text gives a JSON string's text, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// texts gives a list's texts; one text alone is a list of it.
func texts(raw json.RawMessage) []string {
	if one := text(raw); one != "" {
		return []string{one}
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var out []string
	for _, item := range items[:min(len(items), 16)] {
		if one := text(item); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// unwrapped gives JSON that a planner has put into a text.
func unwrapped(raw json.RawMessage) json.RawMessage {
	if inner := text(raw); inner != "" && json.Valid([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return raw
}
