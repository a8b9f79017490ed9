package facts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"edge/internal/canon"
	"edge/internal/fault"
)

// Summary says what an import did.
type Summary struct {
	Added     int `json:"added"`
	Replaced  int `json:"replaced"`  // facts whose id was there with other content
	Unchanged int `json:"unchanged"` // facts that were there
	Total     int `json:"total"`     // facts in the store now
}

// Import reads all facts of r and puts them into the store at storePath, which is made with mode 0600 if it isn't there.
// It takes all of them or none: after any error the store is as it was. A line that isn't a fact is invalid_facts_file
// with its number, a file of another kind facts_store_invalid, and that file is left alone.
func Import(ctx context.Context, storePath string, r io.Reader, format Format) (Summary, error) {
	all, err := readAll(r, format)
	if err != nil {
		return Summary{}, err
	}
	if err := prepare(ctx, storePath); err != nil {
		return Summary{}, err
	}
	db, err := connect(storePath, "rw")
	if err != nil {
		return Summary{}, err
	}
	sum, err := importInto(ctx, db, storePath, all)
	if err := errors.Join(err, db.Close()); err != nil {
		return Summary{}, err
	}
	return sum, nil
}

// prepare makes an empty file where there is none, and refuses one that is something else before anything writes to it.
func prepare(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return fault.New(fault.CodePathNotWritable, "make facts store: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil
	}
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	return s.Close()
}

func importInto(ctx context.Context, db *sql.DB, path string, all []placed) (sum Summary, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return sum, wrap("import into", path, err)
	}
	defer tx.Rollback() // does nothing after Commit
	m, err := identity(ctx, tx)
	if err == nil && m == (marks{}) {
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d;", schema, applicationID, schemaVersion))
	}
	if err == nil {
		err = checkIdentity(ctx, tx, path)
	}
	for i := 0; err == nil && i < len(all); i++ {
		err = sum.put(ctx, tx, all[i].Fact)
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM facts").Scan(&sum.Total)
	}
	if err == nil {
		err = tx.Commit()
	}
	return sum, wrap("import into", path, err)
}

// put adds f, or replaces the fact of its id.
func (sum *Summary) put(ctx context.Context, tx *sql.Tx, f Fact) error {
	tags, err := canon.Marshal(f.Tags)
	if err != nil {
		return err
	}
	var n int64
	old, err := scan(func(into ...any) error {
		return tx.QueryRowContext(ctx, "SELECT n, id, text, source, tags FROM facts WHERE id = ?", f.ID).Scan(append([]any{&n}, into...)...)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		added, err := tx.ExecContext(ctx, "INSERT INTO facts (id, text, source, tags) VALUES (?, ?, ?, ?)", f.ID, f.Text, f.Source, string(tags))
		if err != nil {
			return err
		}
		if n, err = added.LastInsertId(); err != nil {
			return err
		}
		sum.Added++
	case err != nil:
		return err
	case old.equal(f):
		sum.Unchanged++
		return nil
	default:
		if _, err := tx.ExecContext(ctx, "UPDATE facts SET text = ?, source = ?, tags = ? WHERE n = ?", f.Text, f.Source, string(tags), n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid = ?", n); err != nil {
			return err
		}
		sum.Replaced++
	}
	words := ""
	for _, tag := range f.Tags {
		words += Words(tag) + " "
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO words (rowid, text, tags) VALUES (?, ?, ?)", n, Words(f.Text), words)
	return err
}
