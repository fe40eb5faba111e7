package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the "sqlite" driver
)

// disk is the state on disk: the latest version of every object. A save has
// reached the disk when it returns.
type disk struct {
	db *sql.DB
	tx *sql.Tx // of Together; nil outside of it
}

// executor is the database, or the transaction that is open.
type executor interface {
	Exec(query string, args ...any) (sql.Result, error)
}

func (k *disk) to() executor {
	if k.tx != nil {
		return k.tx
	}
	return k.db
}

func (k *disk) begin() (err error) {
	if k.tx, err = k.db.Begin(); err != nil {
		return fmt.Errorf("tenant: save: %w", err)
	}
	return nil
}

func (k *disk) end() error {
	tx := k.tx
	k.tx = nil
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("tenant: save: %w", err)
	}
	return nil
}

func openDisk(ctx context.Context, dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("tenant: data directory: %w", err)
	}
	name := "file:" + filepath.Join(dir, "tenant.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("tenant: open %s: %w", dir, err)
	}
	db.SetMaxOpenConns(1)
	const table = `CREATE TABLE IF NOT EXISTS object (
		seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (kind, id));
		CREATE TABLE IF NOT EXISTS domain (name TEXT PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS organization_hold (name TEXT PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS migration_endpoint (name TEXT PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS license (part TEXT PRIMARY KEY, body TEXT NOT NULL);
		CREATE TABLE IF NOT EXISTS deleted_user (id TEXT PRIMARY KEY, body TEXT NOT NULL);
		CREATE TABLE IF NOT EXISTS site (url TEXT PRIMARY KEY, body TEXT NOT NULL)`
	if _, err := db.ExecContext(ctx, table); err != nil {
		db.Close()
		return nil, fmt.Errorf("tenant: prepare %s: %w", dir, err)
	}
	return &disk{db: db}, nil
}

func (k *disk) save(changes []Change) error {
	if k.tx != nil {
		return saveIn(k.tx, changes)
	}
	tx, err := k.db.Begin()
	if err != nil {
		return fmt.Errorf("tenant: save: %w", err)
	}
	defer tx.Rollback()
	if err := saveIn(tx, changes); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("tenant: save: %w", err)
	}
	return nil
}

func saveIn(tx executor, changes []Change) (err error) {
	for _, c := range changes {
		if c.value == nil {
			_, err = tx.Exec(`DELETE FROM object WHERE kind = ? AND id = ?`, c.kind, c.id)
		} else {
			var body []byte
			if body, err = json.Marshal(c.value); err == nil {
				_, err = tx.Exec(`INSERT INTO object (kind, id, body) VALUES (?, ?, ?)
					ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`, c.kind, c.id, string(body))
			}
		}
		if err != nil {
			return fmt.Errorf("tenant: save %s %s: %w", c.kind, c.id, err)
		}
	}
	return nil
}

// parsers parse the objects of each kind. Users share values, as those of a snapshot do.
func parsers() map[kind]func(body []byte) (any, error) {
	users := Interner{}
	stored := func(property string) (string, bool) { return property, true }
	return map[kind]func(body []byte) (any, error){
		userKind:  func(body []byte) (any, error) { return users.User(body, stored) },
		groupKind: parse[Group], recipientKind: parse[Recipient], batchKind: parse[MigrationBatch],
		contentTaskKind: parse[ContentTask], policyKind: parse[Policy], migrationJobKind: parse[MigrationJob], provisioningKind: parse[Provisioning],
	}
}

func parse[T any](body []byte) (any, error) {
	var value T
	err := json.Unmarshal(body, &value)
	return value, err
}

// The tables of names that the tenant has as a whole.
const (
	domainTable   = "domain"
	holdTable     = "organization_hold"
	endpointTable = "migration_endpoint"
)

func (k *disk) saveNames(table string, names []string) error {
	for _, name := range names {
		if _, err := k.to().Exec(`INSERT OR IGNORE INTO `+table+` (name) VALUES (?)`, name); err != nil {
			return fmt.Errorf("tenant: save %s %s: %w", table, name, err)
		}
	}
	return nil
}

func (k *disk) loadNames(ctx context.Context, table string) ([]string, error) {
	rows, err := k.db.QueryContext(ctx, `SELECT name FROM `+table)
	if err != nil {
		return nil, fmt.Errorf("tenant: load %s: %w", table, err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("tenant: load %s: %w", table, err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (k *disk) saveLicense(l License) error {
	body, err := json.Marshal(l)
	if err == nil {
		_, err = k.to().Exec(`INSERT INTO license (part, body) VALUES (?, ?) ON CONFLICT (part) DO UPDATE SET body = excluded.body`, Fold(l.SkuPartNumber), string(body))
	}
	if err != nil {
		return fmt.Errorf("tenant: save license %s: %w", l.SkuPartNumber, err)
	}
	return nil
}

func (k *disk) loadLicenses(ctx context.Context, d *Directory) error {
	rows, err := k.db.QueryContext(ctx, `SELECT body FROM license ORDER BY rowid`)
	if err != nil {
		return fmt.Errorf("tenant: load licenses: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var body string
		var l License
		if err := rows.Scan(&body); err != nil {
			return fmt.Errorf("tenant: load licenses: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &l); err != nil {
			return fmt.Errorf("tenant: load licenses: %w", err)
		}
		d.putLicense(l)
	}
	return rows.Err()
}

// load fills d with all stored objects. They are visible at once: replication
// lag does not outlive the process.
func (k *disk) load(ctx context.Context, d *Directory) error {
	domains, err := k.loadNames(ctx, domainTable)
	if err != nil {
		return err
	}
	for _, name := range domains {
		d.Domains[name] = true
	}
	if d.MigrationEndpoints, err = k.loadNames(ctx, endpointTable); err != nil {
		return err
	}
	if d.OrganizationHolds, err = k.loadNames(ctx, holdTable); err != nil {
		return err
	}
	if err := k.loadLicenses(ctx, d); err != nil {
		return err
	}
	if err := k.loadDeleted(ctx, d); err != nil {
		return err
	}
	if err := k.loadSites(ctx, d); err != nil {
		return err
	}
	rows, err := k.db.QueryContext(ctx, `SELECT kind, id, body FROM object ORDER BY seq`)
	if err != nil {
		return fmt.Errorf("tenant: load: %w", err)
	}
	defer rows.Close()
	byKind := parsers()
	for rows.Next() {
		var c Change
		var body []byte
		if err := rows.Scan(&c.kind, &c.id, &body); err != nil {
			return fmt.Errorf("tenant: load: %w", err)
		}
		parser := byKind[c.kind]
		if parser == nil {
			return fmt.Errorf("tenant: load %s: unknown kind %q", c.id, c.kind)
		}
		if c.value, err = parser(body); err != nil {
			return fmt.Errorf("tenant: load %s %s: %w", c.kind, c.id, err)
		}
		d.apply(c, time.Time{})
	}
	return rows.Err()
}
