package facts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"edge/internal/fault"
)

const (
	// applicationID marks the SQLite files that are facts stores: "FACT" in ASCII.
	applicationID = 0x46414354
	schemaVersion = 1
)

// schema is what version 1 of a store holds. The index keeps no text, only tokens that Go has made (see Words): the
// ascii tokenizer takes every byte above 127 as part of a word, so that what a letter is has one answer, and porter
// brings English words to their stems.
const schema = `
CREATE TABLE facts (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	text TEXT NOT NULL,
	source TEXT NOT NULL,
	tags TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(text, tags, content='', contentless_delete=1, tokenize='porter ascii');
`

// Store is a facts store that is open for reading.
type Store struct {
	path string
	db   *sql.DB
}

// Open opens the store at path for reading only. A missing file is facts_store_not_found, another kind of file or a
// damaged one facts_store_invalid.
func Open(ctx context.Context, path string) (*Store, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.CodeFactsNotFound, "no facts store at %s", path)
	} else if err != nil {
		return nil, fmt.Errorf("open facts store: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fault.New(fault.CodeFactsStoreInvalid, "%s isn't a file", path)
	}
	s, err := openReadOnly(ctx, path)
	if sqliteCode(err) == sqlite3.SQLITE_READONLY_ROLLBACK {
		// An import was killed. SQLite takes back what it had written as soon as somebody with the right to write looks.
		if err = recoverStore(ctx, path); err == nil {
			s, err = openReadOnly(ctx, path)
		}
	}
	return s, err
}

func openReadOnly(ctx context.Context, path string) (*Store, error) {
	db, err := connect(path, "ro")
	if err != nil {
		return nil, err
	}
	if err := checkIdentity(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{path: path, db: db}, nil
}

func recoverStore(ctx context.Context, path string) error {
	db, err := connect(path, "rw")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = identity(ctx, db)
	return wrap("recover", path, err)
}

// Close closes the store; calling it again does nothing.
func (s *Store) Close() error { return s.db.Close() }

// connect makes the handle for one mode of SQLite's: ro never writes, rw never creates.
func connect(path, mode string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows drive
	}
	options := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(10000)"}, "_txlock": {"immediate"}}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

type marks struct{ application, version, tables int64 }

func identity(ctx context.Context, q querier) (m marks, err error) {
	for query, into := range map[string]*int64{
		"PRAGMA application_id":              &m.application,
		"PRAGMA user_version":                &m.version,
		"SELECT count(*) FROM sqlite_schema": &m.tables,
	} {
		if err := q.QueryRowContext(ctx, query).Scan(into); err != nil {
			return marks{}, err
		}
	}
	return m, nil
}

// checkIdentity reports why the file isn't a store that this edge reads.
func checkIdentity(ctx context.Context, q querier, path string) error {
	m, err := identity(ctx, q)
	switch {
	case err != nil:
		return wrap("open", path, err)
	case m == marks{}:
		return fault.New(fault.CodeFactsStoreInvalid, "facts store %s is empty: its first import didn't finish", path).
			WithHint("import again: edge facts import STORE FILE")
	case m.application != applicationID:
		return fault.New(fault.CodeFactsStoreInvalid, "%s is an SQLite file, and not a facts store", path)
	case m.version != schemaVersion:
		return fault.New(fault.CodeFactsStoreInvalid, "facts store %s has version %d, and this edge reads version %d", path, m.version, schemaVersion).
			WithHint("use the edge that made it, or import the facts into another store")
	}
	return nil
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// wrap gives SQLite's error the code that it stands for.
func wrap(op, path string, err error) error {
	var coded *fault.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	code := sqliteCode(err)
	if code == sqlite3.SQLITE_READONLY_ROLLBACK {
		return fmt.Errorf("%s facts store %s: %w", op, path, err)
	}
	switch code & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fault.New(fault.CodeFactsStoreInvalid, "%s facts store %s: %w", op, path, err)
	case sqlite3.SQLITE_FULL:
		return fault.New(fault.CodeNoSpace, "%s facts store %s: %w", op, path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fault.New(fault.CodePathNotWritable, "%s facts store %s: %w", op, path, err)
	}
	return fmt.Errorf("%s facts store %s: %w", op, path, err)
}

// Count is how many facts the store holds.
func (s *Store) Count(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM facts").Scan(&n)
	return n, wrap("read", s.path, err)
}

// List gives limit facts in the order of their import, after the first offset ones.
func (s *Store) List(ctx context.Context, offset, limit int) ([]Fact, error) {
	if offset < 0 || limit < 1 {
		return nil, fault.New(fault.CodeInvalidArguments, "facts: offset %d and limit %d, want at least 0 and 1", offset, limit)
	}
	return s.query(ctx, "SELECT id, text, source, tags FROM facts ORDER BY n LIMIT ? OFFSET ?", limit, offset)
}

func (s *Store) query(ctx context.Context, query string, args ...any) (found []Fact, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, wrap("read", s.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		f, err := scan(rows.Scan)
		if err != nil {
			return nil, wrap("read", s.path, err)
		}
		found = append(found, f)
	}
	return found, wrap("read", s.path, rows.Err())
}

func scan(into func(...any) error) (f Fact, err error) {
	var tags []byte
	if err := into(&f.ID, &f.Text, &f.Source, &tags); err != nil {
		return Fact{}, err
	}
	return f, json.Unmarshal(tags, &f.Tags)
}
