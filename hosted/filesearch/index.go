package filesearch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"edge/hosted"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
)

// schemaVersion is that of the index and of how files are cut and told apart: an index of another one is made anew.
const schemaVersion = 1

// schema keeps the passages, and of their words an index without text: Go makes the tokens (see facts.Words).
const schema = `
CREATE TABLE files (
	n INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	stamp TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	kind TEXT NOT NULL
) STRICT;
CREATE TABLE passages (
	n INTEGER PRIMARY KEY,
	file INTEGER NOT NULL REFERENCES files(n),
	line INTEGER NOT NULL,
	end_line INTEGER NOT NULL,
	text TEXT NOT NULL
) STRICT;
CREATE INDEX passages_of_file ON passages(file);
CREATE VIRTUAL TABLE words USING fts5(text, place, content='', contentless_delete=1, tokenize='porter ascii');
`

const lockPoll = 20 * time.Millisecond

// index is the one of some folders. Whoever uses it holds its lock, so it is never read while it changes.
type index struct {
	env     hosted.Environment
	folders []folder
	path    string
}

func newIndex(env hosted.Environment, folders []folder) index {
	// The same folders under the same names share an index, whatever tools file names them.
	var key strings.Builder
	for _, f := range folders {
		fmt.Fprintf(&key, "%q %q\n", f.name, f.path)
	}
	name := digest.SHA256Of([]byte(key.String())).String()
	return index{env, folders, filepath.Join(env.Home.Hosted(), "index", name+".sqlite")}
}

// search brings the index up to date and looks for the query.
func (x index) search(ctx context.Context, query string, limit int) ([]Result, counts, error) {
	if err := home.Ensure(filepath.Dir(x.path)); err != nil {
		return nil, counts{}, err
	}
	lock := flock.New(x.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, counts{}, err
	}
	defer lock.Close()
	found, c, err := x.once(ctx, query, limit)
	if damaged(err) {
		x.env.Say(fmt.Sprintf("file search: the index %s can't be used (%v), and is made anew", x.path, err))
		if err := x.remove(); err != nil {
			return nil, c, err
		}
		found, c, err = x.once(ctx, query, limit)
	}
	return found, c, wrap(x.path, err)
}

func (x index) remove() error {
	var all []error
	for _, suffix := range []string{"", "-journal"} {
		if err := os.Remove(x.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func (x index) once(ctx context.Context, query string, limit int) (found []Result, c counts, err error) {
	db, err := x.open(ctx)
	if err != nil {
		return nil, c, err
	}
	defer db.Close()
	if c, err = x.update(ctx, db); err != nil {
		return nil, c, err
	}
	found, err = search(ctx, db, query, limit)
	return found, c, err
}

// errOther is an index that another version made, or no index at all.
var errOther = errors.New("it is another version's, or something else")

func (x index) open(ctx context.Context) (*sql.DB, error) {
	// SQLite would make the file readable for everybody.
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(x.path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows drive
	}
	options := url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(10000)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepare makes the tables of a new file, and refuses one of another version.
func prepare(ctx context.Context, db *sql.DB) error {
	var version, tables, ours int
	if err := errors.Join(
		db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
		db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('files', 'passages', 'words')").Scan(&ours),
	); err != nil {
		return err
	}
	switch {
	case version == 0 && tables == 0:
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion)); err != nil {
			return err
		}
		return tx.Commit()
	case version != schemaVersion || ours != 3:
		return errOther
	}
	return nil
}

// damaged reports whether an error is the index's own fault.
func damaged(err error) bool {
	var e *sqlite.Error
	if errors.Is(err, errOther) {
		return true
	}
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}

// wrap gives SQLite's error the code that it stands for.
func wrap(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fault.New(fault.CodeNoSpace, "file search: index %s: %w", path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fault.New(fault.CodePathNotWritable, "file search: index %s: %w", path, err)
	}
	return fmt.Errorf("file search: index %s: %w", path, err)
}
