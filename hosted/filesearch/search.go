package filesearch

import (
	"context"
	"database/sql"

	"edge/facts"
)

// search gives at most limit passages: first those that have all of the query, then those that have some of it, each the
// best first; ties stand in the order of files and lines.
func search(ctx context.Context, db *sql.DB, query string, limit int) (found []Result, err error) {
	whole, part := facts.Expressions(query)
	if whole == "" {
		return nil, nil
	}
	seen := map[int64]bool{}
	for _, expression := range []string{whole, part} {
		if found, err = match(ctx, db, expression, limit, seen, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func match(ctx context.Context, db *sql.DB, expression string, limit int, seen map[int64]bool, found []Result) ([]Result, error) {
	// A passage's own words count more than its file's name and heading.
	rows, err := db.QueryContext(ctx, `SELECT p.n, f.name, p.line, p.end_line, p.text, -bm25(words, 2.0, 1.0) AS score
		FROM words JOIN passages p ON p.n = words.rowid JOIN files f ON f.n = p.file
		WHERE words MATCH ? ORDER BY score DESC, f.name, p.line LIMIT ?`, expression, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var r Result
		var score float64
		if err := rows.Scan(&n, &r.File, &r.Line, &r.EndLine, &r.Text, &score); err != nil {
			return nil, err
		}
		if seen[n] || len(found) == limit {
			continue
		}
		seen[n], r.Score = true, &score
		found = append(found, r)
	}
	return found, rows.Err()
}
