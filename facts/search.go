package facts

import (
	"context"
	"slices"

	"edge/internal/fault"
)

const (
	// MaxMatches is the most that one search gives.
	MaxMatches = 20
	// MaxMatchBytes bounds the texts of one search together, so that they fit into a tool's result.
	MaxMatchBytes = 48 << 10
)

// Match is a fact that a search found. Whole says that everything in the query was found in it, and not only a part.
type Match struct {
	Fact
	Whole bool `json:"whole"`
}

// Search gives at most limit facts that have words of query in their text or tags: first those that have all of it, then
// those that have some, the best first; ties stand in the order of their import. Letters of a script without spaces are
// found wherever they stand together. A query without a letter or digit finds nothing, and of a very long one only the
// beginning is looked for. A limit outside 1…MaxMatches is invalid_arguments.
func (s *Store) Search(ctx context.Context, query string, limit int) ([]Match, error) {
	if limit < 1 || limit > MaxMatches {
		return nil, fault.New(fault.CodeInvalidArguments, "facts: limit %d, want 1 to %d", limit, MaxMatches)
	}
	whole, part := Expressions(query)
	if whole == "" {
		return nil, nil
	}
	var matches []Match
	bytes := 0
	for _, expression := range []string{whole, part} {
		if len(matches) == limit {
			break
		}
		found, err := s.query(ctx, `SELECT f.id, f.text, f.source, f.tags FROM words JOIN facts f ON f.n = words.rowid
			WHERE words MATCH ? ORDER BY bm25(words), f.n LIMIT ?`, expression, limit)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			known := slices.ContainsFunc(matches, func(m Match) bool { return m.ID == f.ID })
			if known || len(matches) == limit {
				continue
			}
			if bytes += len(f.Text) + len(f.Source); bytes > MaxMatchBytes {
				return matches, nil
			}
			matches = append(matches, Match{Fact: f, Whole: expression == whole})
		}
	}
	return matches, nil
}
