package filesearch

import (
	"context"
	"database/sql"
	"encoding/json"

	"edge/facts"
	"edge/internal/digest"
)

// The kinds of files that the index remembers, so that it need not read them again.
const (
	kindText   = "text"
	kindBinary = "binary"
	kindLarge  = "large"
)

// known is what the index has of a file.
type known struct {
	n                   int64
	stamp, sha256, kind string
}

// update makes the index say what the files say, in one transaction.
func (x index) update(ctx context.Context, db *sql.DB) (c counts, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer tx.Rollback()
	u := &updater{ctx: ctx, tx: tx}
	if u.known, err = readKnown(ctx, tx); err != nil {
		return c, err
	}
	if err := scan(ctx, x.folders, x.env.Home.Path(), &c, func(e entry) error { return u.visit(e, &c) }); err != nil {
		return c, err
	}
	for _, gone := range u.known {
		if err := u.remove(gone.n); err != nil {
			return c, err
		}
	}
	if !u.changed {
		return c, nil
	}
	return c, tx.Commit()
}

func readKnown(ctx context.Context, tx *sql.Tx) (map[string]known, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name, n, stamp, sha256, kind FROM files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]known{}
	for rows.Next() {
		var name string
		var k known
		if err := rows.Scan(&name, &k.n, &k.stamp, &k.sha256, &k.kind); err != nil {
			return nil, err
		}
		all[name] = k
	}
	return all, rows.Err()
}

type updater struct {
	ctx context.Context
	tx  *sql.Tx
	// known are the files that the index has and the scan hasn't come to.
	known   map[string]known
	changed bool
}

// visit brings one file up to date. A file that can't be read is left out, not an error.
func (u *updater) visit(e entry, c *counts) error {
	before, had := u.known[e.name]
	file, at, trusted, large, err := e.look()
	if err != nil {
		c.unreadable++
		return nil
	}
	defer file.Close()
	now := known{n: before.n, kind: kindLarge}
	if trusted {
		raw, err := json.Marshal(at)
		if err != nil {
			return err
		}
		now.stamp = string(raw)
	}
	if had && trusted && before.stamp == now.stamp {
		delete(u.known, e.name)
		c.count(before.kind)
		return nil
	}
	text := ""
	if !large {
		var sha digest.SHA256
		var ok bool
		if text, sha, ok, err = load(file, e.name); err != nil {
			c.unreadable++
			return nil
		}
		if now.sha256, now.kind = sha.String(), kindBinary; ok {
			now.kind = kindText
		}
	}
	delete(u.known, e.name)
	c.count(now.kind)
	if had && before.kind == now.kind && before.sha256 == now.sha256 {
		if before.stamp == now.stamp {
			return nil
		}
		return u.exec("UPDATE files SET stamp = ? WHERE n = ?", now.stamp, now.n)
	}
	return u.replace(e.name, had, now, text)
}

func (c *counts) count(kind string) {
	switch kind {
	case kindText:
		c.files++
	case kindBinary:
		c.binary++
	case kindLarge:
		c.large++
	}
}

func (u *updater) exec(query string, args ...any) error {
	u.changed = true
	_, err := u.tx.ExecContext(u.ctx, query, args...)
	return err
}

func (u *updater) insert(query string, args ...any) (int64, error) {
	u.changed = true
	done, err := u.tx.ExecContext(u.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}

func (u *updater) remove(n int64) error {
	if err := u.exec("DELETE FROM words WHERE rowid IN (SELECT n FROM passages WHERE file = ?)", n); err != nil {
		return err
	}
	if err := u.exec("DELETE FROM passages WHERE file = ?", n); err != nil {
		return err
	}
	return u.exec("DELETE FROM files WHERE n = ?", n)
}

func (u *updater) replace(name string, had bool, now known, text string) error {
	if had {
		if err := u.remove(now.n); err != nil {
			return err
		}
	}
	file, err := u.insert("INSERT INTO files (name, stamp, sha256, kind) VALUES (?, ?, ?, ?)", name, now.stamp, now.sha256, now.kind)
	if err != nil {
		return err
	}
	for _, p := range passages(text, name) {
		n, err := u.insert("INSERT INTO passages (file, line, end_line, text) VALUES (?, ?, ?, ?)", file, p.line, p.end, p.text)
		if err != nil {
			return err
		}
		place := facts.Words(name + " " + p.place)
		if err := u.exec("INSERT INTO words (rowid, text, place) VALUES (?, ?, ?)", n, facts.Words(p.text), place); err != nil {
			return err
		}
	}
	return nil
}
