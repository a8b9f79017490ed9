package evolve

import (
	"encoding/json"
	"slices"
	"strings"
)

// Found is what search_tools gives. Quarantined tools that match are named and not offered.
type Found struct {
	Success     bool        `json:"success"`
	Query       string      `json:"query"`
	Count       int         `json:"count"`
	Tools       []FoundTool `json:"tools"`
	Quarantined []string    `json:"quarantined,omitempty"`
}

// FoundTool is one hit.
type FoundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// search scores each tool by how many of the query's words stand in its name and description. A query without words
// finds every tool. The best come first, and alike ones by name.
func search(list []Record, query string) Found {
	query = strings.ToLower(strings.TrimSpace(query))
	words := strings.Fields(strings.ReplaceAll(query, ",", " "))
	type hit struct {
		score  int
		record Record
	}
	var hits []hit
	found := Found{Success: true, Query: query, Tools: []FoundTool{}}
	for _, r := range list {
		text, score := strings.ToLower(r.Name+" "+r.Description), 0
		for _, w := range words {
			if strings.Contains(text, w) {
				score++
			}
		}
		switch {
		case score == 0 && len(words) > 0:
		case r.Quarantined:
			found.Quarantined = append(found.Quarantined, r.Name)
		default:
			hits = append(hits, hit{score, r})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	for _, h := range hits {
		found.Tools = append(found.Tools, FoundTool{h.record.Name, h.record.Description, h.record.Parameters})
	}
	found.Count = len(found.Tools)
	return found
}
