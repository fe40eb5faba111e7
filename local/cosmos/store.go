package cosmos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// schema: an item is one row, found by container, partition key and id
// through one index. The body is the caller's document without the system
// properties, which are computed from the other columns.
const schema = `
CREATE TABLE IF NOT EXISTS account (epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS databases (
	number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, ts INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS containers (
	number INTEGER PRIMARY KEY AUTOINCREMENT, database INTEGER NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL,
	version INTEGER NOT NULL, ts INTEGER NOT NULL, UNIQUE (database, name));
CREATE TABLE IF NOT EXISTS items (
	seq INTEGER PRIMARY KEY, container INTEGER NOT NULL, pk TEXT NOT NULL, id TEXT NOT NULL,
	version INTEGER NOT NULL, ts INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS item ON items (container, pk, id);`

// store is the data: a pool of read connections and the one writer.
type store struct {
	writes  *sql.DB
	reads   *sql.DB
	get     *sql.Stmt
	catalog catalog
	writer  *writer
	lookups atomic.Pointer[lookups]
}

// openStore opens the database. Without a directory it lives in memory, on
// the one connection that reads and writes then share.
func openStore(dir string, now func() time.Time, log *slog.Logger) (*store, error) {
	st := &store{}
	var err error
	if dir == "" {
		if st.writes, err = sql.Open("sqlite", "file::memory:?_txlock=immediate"); err != nil {
			return nil, fmt.Errorf("cosmos: open in memory: %w", err)
		}
		st.writes.SetMaxOpenConns(1)
		st.reads = st.writes
	} else {
		file, err := fileURI(filepath.Join(dir, "cosmos.db"))
		if err != nil {
			return nil, err
		}
		// Pages of about the size of a document: a commit writes each changed page whole. A page
		// that is changed again and again is written to the file once per 64 MB of log.
		const options = "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=page_size(2048)&_journal_mode=WAL&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(32000)&_pragma=temp_store(MEMORY)"
		if st.writes, err = sql.Open("sqlite", file+options); err != nil {
			return nil, fmt.Errorf("cosmos: open: %w", err)
		}
		st.writes.SetMaxOpenConns(1)
		if st.reads, err = sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)&_pragma=query_only(1)&_pragma=temp_store(MEMORY)"); err != nil {
			return nil, errors.Join(fmt.Errorf("cosmos: open: %w", err), st.writes.Close())
		}
		st.reads.SetMaxOpenConns(4)
		st.reads.SetMaxIdleConns(4)
	}
	if err := st.prepare(now, log); err != nil {
		return nil, errors.Join(fmt.Errorf("cosmos: open: %w", err), st.closePools())
	}
	return st, nil
}

// fileURI names a file as SQLite wants it: file:///dir/name, and
// file:///C:/dir/name on Windows.
func fileURI(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cosmos: data directory: %w", err)
	}
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return "file://" + (&url.URL{Path: slashed}).EscapedPath(), nil
}

func (st *store) prepare(now func() time.Time, log *slog.Logger) error {
	if _, err := st.writes.Exec(schema); err != nil {
		return err
	}
	if _, err := st.writes.Exec(lookupSchema); err != nil {
		return err
	}
	if err := dropUnsettled(st.writes); err != nil {
		return err
	}
	if err := st.loadLookups(); err != nil {
		return err
	}
	epoch, err := nextEpoch(st.writes)
	if err != nil {
		return err
	}
	if err := st.catalog.load(st.writes); err != nil {
		return err
	}
	if st.get, err = st.reads.Prepare(`SELECT seq, version, ts, body FROM items WHERE container = ? AND pk = ? AND id = ?`); err != nil {
		return err
	}
	st.writer, err = newWriter(st.writes, &st.lookups, epoch, now, log)
	return err
}

// nextEpoch counts the starts of this account. Versions begin with it, so
// that one which was lost in a crash is never given out a second time.
func nextEpoch(db *sql.DB) (int64, error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var epoch int64
	switch err := tx.QueryRow(`SELECT epoch FROM account`).Scan(&epoch); {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.Exec(`INSERT INTO account (epoch) VALUES (1)`)
		if err != nil {
			return 0, err
		}
		return 1, tx.Commit()
	case err != nil:
		return 0, err
	}
	epoch++
	if _, err := tx.Exec(`UPDATE account SET epoch = ?`, epoch); err != nil {
		return 0, err
	}
	return epoch, tx.Commit()
}

// read returns an item, or false when there is none.
func (st *store) read(c *container, pk, id string) (item, bool, error) {
	it := item{container: c}
	err := st.get.QueryRowContext(context.Background(), c.number, pk, id).Scan(&it.seq, &it.version, &it.ts, &it.body)
	if errors.Is(err, sql.ErrNoRows) {
		return it, false, nil
	}
	return it, err == nil, err
}

func (st *store) close() error {
	st.writer.close()
	return st.closePools()
}

func (st *store) closePools() error {
	err := st.writes.Close()
	if st.reads != nil && st.reads != st.writes {
		// The writer's connection goes last in time but first in order: the
		// readers cannot checkpoint, they only let go of the file.
		err = errors.Join(st.reads.Close(), err)
	}
	return err
}
