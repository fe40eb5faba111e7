package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// file is a SQLite file and a connection that writes to it.
func file(t *testing.T, statements ...string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "people.db")
	db = testenv.Started(sql.Open("sqlite", path))(t)
	for _, s := range statements {
		write(t, db, s)
	}
	return path, db
}

func write(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// all reads a result to its end.
func all(t *testing.T, source datasource.Source) ([]string, [][]string, error) {
	t.Helper()
	rows, err := source.Query(t.Context())
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var out [][]string
	for {
		values, err := rows.Next(t.Context())
		if err == io.EOF {
			return rows.Columns(), out, nil
		}
		if err != nil {
			return rows.Columns(), out, err
		}
		var row []string
		for _, v := range values {
			if !json.Valid(v) {
				t.Errorf("no JSON: %q", v)
			}
			row = append(row, string(v))
		}
		out = append(out, row)
	}
}

func open(t *testing.T, connection, query string) datasource.Source {
	t.Helper()
	return testenv.Must(OpenSQL(datasource.Spec{Connection: connection, Query: query}))(t)
}

func TestSQLiteConformance(t *testing.T) {
	t.Parallel()
	datasourcetest.Run(t, datasourcetest.Kind{
		Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
			quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
			var names, marks []string
			for _, c := range columns {
				names, marks = append(names, quote(c)), append(marks, "?")
			}
			path, db := file(t, "CREATE TABLE people (n INTEGER PRIMARY KEY, "+strings.Join(names, ", ")+")")
			tx := testenv.Must(db.Begin())(t)
			for _, row := range rows {
				var args []any
				for _, v := range row {
					args = append(args, v)
				}
				if _, err := tx.Exec("INSERT INTO people ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", args...); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			return open(t, "sqlite:"+path, "SELECT "+strings.Join(names, ", ")+" FROM people ORDER BY n")
		},
		Endless: func(t *testing.T) datasource.Source {
			path, _ := file(t, "CREATE TABLE a (b)")
			return open(t, "sqlite:"+path, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n")
		},
	})
}

// What each type of value becomes, in columns declared as anything.
func TestSQLiteTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ declared, value, want string }{
		{"INTEGER", "9223372036854775807", "9223372036854775807"},
		{"INTEGER", "NULL", "null"},
		{"REAL", "0.1", "0.1"},
		{"REAL", "1", "1"},
		{"DECIMAL(10,2)", "'1.50'", "1.5"},
		{"TEXT", "'Zoë & \"x\"'", `"Zoë & \"x\""`},
		{"TEXT", "''", `""`},
		{"VARCHAR(20)", "'007'", `"007"`},
		{"BLOB", "x'00ff'", `"AP8="`},
		{"BLOB", "x''", `""`},
		{"", "'text'", `"text"`},
		{"", "1", "1"},
		{"BOOLEAN", "TRUE", "true"},
		{"BOOLEAN", "0", "false"},
		{"bool", "1", "true"},
		{"BOOLEAN", "NULL", "null"},
		{"BOOLEAN", "2", "2"},
		{"BOOLEAN", "'yes'", `"yes"`},
		{"DATE", "'2026-03-01'", `"2026-03-01"`},
		{"DATE", "NULL", "null"},
		{"DATETIME", "'2026-03-01 18:00:00'", `"2026-03-01 18:00:00"`},
		{"datetime", "'2026-03-01T18:00:00Z'", `"2026-03-01T18:00:00Z"`},
		{"DATETIME", "'2026-03-01T18:00:00+01:00'", `"2026-03-01T18:00:00+01:00"`},
		{"DATETIME", "'2026-03-01 18:00:00 +0100 CET'", `"2026-03-01 18:00:00 +0100 CET"`},
		{"TIMESTAMP", "'soon'", `"soon"`},
		{"TIMESTAMP", "1772388000", "1772388000"},
		{"TIMESTAMP", "1.5", "1.5"},
		{"DATETIME", "x'01'", `"AQ=="`},
		{"TIME", "'18:00'", `"18:00"`},
	} {
		path, _ := file(t, "CREATE TABLE a (b INTEGER, v "+c.declared+")", "INSERT INTO a VALUES (7, "+c.value+")")
		for _, query := range []string{"SELECT v, b FROM a", "SELECT v, b FROM a -- all", "WITH c AS (SELECT * FROM a) SELECT v, b AS b FROM c;", "SELECT v, b FROM a WHERE b = 7 ORDER BY b DESC LIMIT 1"} {
			columns, rows, err := all(t, open(t, "sqlite:"+path, query))
			if err != nil || !slices.Equal(columns, []string{"v", "b"}) || len(rows) != 1 || !slices.Equal(rows[0], []string{c.want, "7"}) {
				t.Errorf("%s in %s, %s: %v, %v, %v; want %s", c.value, c.declared, query, columns, rows, err, c.want)
			}
		}
	}
	path, _ := file(t, "CREATE TABLE a (v)", "INSERT INTO a VALUES (1), (9e999)", "CREATE TABLE b (v)", "INSERT INTO b VALUES (cast(x'ff' AS TEXT))")
	for table, want := range map[string]string{"a": `row 2, column "v": `, "b": `row 1, column "v": `} {
		if _, _, err := all(t, open(t, "sqlite:"+path, "SELECT v FROM "+table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// Each query sees the rows as they are then.
func TestSQLiteRowsThatChange(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"DELETE", "WAL"} {
		path, db := file(t, "PRAGMA journal_mode="+mode, "CREATE TABLE people (upn TEXT PRIMARY KEY, wave TEXT)")
		for name, connection := range map[string]string{"sqlite": "sqlite:" + path, "sqlite URL": "sqlite://" + path, "file": "file:" + path, "file URL": "file://" + path + "?mode=ro"} {
			source := open(t, connection, "SELECT upn, wave FROM people ORDER BY upn")
			for i, step := range []struct {
				statement string
				want      string
			}{
				{"INSERT INTO people VALUES ('a', '1'), ('b', '1')", `[["a" "1"] ["b" "1"]]`},
				{"UPDATE people SET wave = '2' WHERE upn = 'a'", `[["a" "2"] ["b" "1"]]`},
				{"DELETE FROM people WHERE upn = 'b'", `[["a" "2"]]`},
				{"DELETE FROM people", `[]`},
			} {
				write(t, db, step.statement)
				if _, rows, err := all(t, source); err != nil || fmt.Sprint(rows) != step.want {
					t.Errorf("%s, %s, step %d: %v, %v", mode, name, i+1, rows, err)
				}
			}
		}
	}
}

func TestSQLiteFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for connection, want := range map[string]string{
		"sqlite:" + filepath.Join(dir, "missing.db"): "no such file",
		"file:" + filepath.Join(dir, "missing.db"):   "no such file",
		"sqlite:" + dir:  "is a directory",
		"sqlite:" + text: "not a database",
	} {
		_, _, err := all(t, open(t, connection, "SELECT 1 AS a FROM sqlite_schema"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", connection, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file was made: %v", err)
	}
	for _, connection := range []string{
		"sqlite:", "sqlite::memory:", "sqlite://host/people.db", "file::memory:?cache=shared", "file:people.db?mode=rwc", "file:people.db?mode=memory",
		"file:people.db?_pragma=query_only(0)", "file:people.db?vfs=x", "file:people.db?mode=ro&mode=rw", "file://host/people.db", "file:people.db#a", "file:%zz",
	} {
		if _, err := OpenSQL(datasource.Spec{Connection: connection, Query: "SELECT 1"}); err == nil || strings.Contains(err.Error(), "people.db") {
			t.Errorf("%s: %v", connection, err)
		}
	}
	// A name with everything that means something in a URL.
	path, db := file(t, "CREATE TABLE a (b)", "INSERT INTO a VALUES (1)")
	_ = db.Close()
	odd := filepath.Join(filepath.Dir(path), "a?b#c%20d é.db")
	if err := os.Rename(path, odd); err != nil {
		t.Fatal(err)
	}
	if _, rows, err := all(t, open(t, "sqlite:"+odd, "SELECT b FROM a")); err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}

// The file cannot be written to: not by a query that is let through, and not by a connection
// of the source that is given any other statement.
func TestSQLiteOnlyReads(t *testing.T) {
	t.Parallel()
	path, db := file(t, "CREATE TABLE a (b)", "INSERT INTO a VALUES (1)")
	source := open(t, "sqlite:"+path, "SELECT b FROM a").(*lite)
	writer := testenv.Must(sql.Open("sqlite", source.dsn()))(t)
	defer writer.Close()
	writer.SetMaxIdleConns(0) // one statement turns off what another is to be kept from
	for _, s := range []string{"DELETE FROM a", "PRAGMA query_only(0); DELETE FROM a", "CREATE TABLE c (d)", "CREATE TEMP TABLE c (d)"} {
		if _, err := writer.ExecContext(t.Context(), s); err == nil {
			t.Errorf("%s was possible", s)
		}
	}
	if _, _, err := all(t, open(t, "sqlite:"+path, "WITH c AS (SELECT 1) DELETE FROM a RETURNING b")); err == nil {
		t.Error("a query wrote")
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM a").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestSQLiteQueriesThatFail(t *testing.T) {
	t.Parallel()
	path, _ := file(t, "CREATE TABLE a (b)", "INSERT INTO a VALUES (1), (2), (3)")
	for query, want := range map[string]string{
		"SELECT b FROM nobody": "no such table: nobody",
		"SELECT b FROM":        "incomplete input",
		"SELECT c FROM a":      "no such column: c",
		"SELECT abs(CASE b WHEN 3 THEN -9223372036854775808 ELSE b END) FROM a": "after 2 rows: ",
	} {
		_, rows, err := all(t, open(t, "sqlite:"+path, query))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", query, rows, err)
		}
	}
}

// A driver that works on a row for long does not keep the reader, although it cannot be
// told to stop.
func TestSQLiteStuckBetweenRows(t *testing.T) {
	t.Parallel()
	path, _ := file(t, "CREATE TABLE a (b)")
	source := open(t, "sqlite:"+path, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n LIMIT 200000) SELECT x FROM n WHERE x = 1 OR x = 200000")
	ctx, cancel := context.WithCancel(t.Context())
	rows := testenv.Must(source.Query(ctx))(t)
	defer rows.Close()
	if _, err := rows.Next(ctx); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*time.Millisecond, cancel)
	if _, err := rows.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("and then %v", err)
	}
	// And the first row, which it can be told to stop at.
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	endless := open(t, "sqlite:"+path, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n WHERE x < 0")
	if _, err := endless.Query(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
