package e2e_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// list is the list of people that a runbook's query reads: a SQLite file which a test
// writes while the system runs.
type list struct {
	t    *testing.T
	file string
	db   *sql.DB
}

// The columns are those of the example's people.csv, and one that only a later version
// of its runbook uses.
const columns = "UserPrincipalName TEXT, GivenName TEXT, Surname TEXT, Department TEXT, UsageLocation TEXT, Alias TEXT, SourceEmail TEXT, CutoverTime TEXT, SignInName TEXT"

func newList(t *testing.T) *list {
	t.Helper()
	return newListOf(t, columns)
}

// newListOf is newList with other columns.
func newListOf(t *testing.T, columns string) *list {
	t.Helper()
	l := &list{t: t, file: filepath.Join(t.TempDir(), "people.db")}
	db, err := sql.Open("sqlite", "file:"+l.file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	l.db = db
	l.do("CREATE TABLE people (" + columns + ")")
	return l
}

// do changes the list in one transaction, as its owner does.
func (l *list) do(statement string, args ...any) {
	l.t.Helper()
	if _, err := l.db.Exec(statement, args...); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}

// add puts people on the list, by first names, with the time of their cut-over.
func (l *list) add(at string, names ...string) {
	l.t.Helper()
	var rows [][]any
	for _, name := range names {
		rows = append(rows, []any{key(name), name, name, name + "@contoso.com", at, "new." + key(name)})
	}
	l.doAll("INSERT INTO people VALUES (?, ?, 'Muster', 'Sales', 'DE', ?, ?, ?, ?)", rows)
}

// doAll executes a statement with the arguments of each row, all at once to those who read the list.
func (l *list) doAll(statement string, rows [][]any) {
	l.t.Helper()
	tx, err := l.db.Begin()
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, args := range rows {
		if _, err := tx.Exec(statement, args...); err != nil {
			l.t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := tx.Commit(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *list) remove(names ...string) {
	l.t.Helper()
	l.do("DELETE FROM people WHERE GivenName IN ('" + strings.Join(names, "','") + "')")
}

// set changes a column of a person.
func (l *list) set(name, column, value string) {
	l.t.Helper()
	l.do("UPDATE people SET "+column+" = ? WHERE GivenName = ?", value, name)
}

// key is the key of a member, which is also the sign-in name after the cut-over.
func key(name string) string { return name + "@fabrikam.com" }
