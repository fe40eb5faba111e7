//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// The tests of this file run a PostgreSQL server: make test-postgres.

// cluster is a running server with a database of people.
type cluster struct{ *pgtest.Server }

// hba says how each role proves who it is.
const hba = `
host    all trusted 127.0.0.1/32 trust
host    all reader  127.0.0.1/32 scram-sha-256
host    all old     127.0.0.1/32 md5
hostssl all "the app" 127.0.0.1/32 password
`

// roles have settings that would change the text of values. The token of Azure is a password
// that the server asks for in clear text.
const roles = `
CREATE ROLE trusted LOGIN;
CREATE ROLE reader LOGIN PASSWORD 'hunter2';
SET password_encryption TO md5;
CREATE ROLE old LOGIN PASSWORD 'hunter2';
SET password_encryption TO 'scram-sha-256';
CREATE ROLE "the app" LOGIN PASSWORD 'token for https://ossrdbms-aad.database.windows.net/.default';
ALTER ROLE reader SET DateStyle TO 'German';
ALTER ROLE reader SET TimeZone TO 'Asia/Kolkata';
ALTER ROLE reader SET bytea_output TO escape;
ALTER ROLE reader SET extra_float_digits TO -10;
ALTER ROLE reader SET standard_conforming_strings TO off;
ALTER ROLE reader SET client_encoding TO 'LATIN1';
`

const schema = `
CREATE TYPE mood AS ENUM ('sad', 'so so');
CREATE DOMAIN mail AS text CHECK (VALUE LIKE '%@%');
CREATE TYPE pair AS (a int, b int);
CREATE TABLE kept (id int);
CREATE SEQUENCE counter;
GRANT ALL ON kept, counter TO reader;
GRANT CREATE ON SCHEMA public TO reader;
`

// start starts a server for a test.
func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{pgtest.Start(t, hba)}
	c.Exec(t, "postgres", roles)
	c.Exec(t, "postgres", "CREATE DATABASE people")
	c.Exec(t, "people", schema)
	return c
}

// ways are the ways to the server.
func (c *cluster) ways() map[string]string {
	host, port, _ := net.SplitHostPort(c.Address)
	return map[string]string{
		"password":     fmt.Sprintf("host=%s port=%s dbname=people user=reader password=hunter2 sslmode=verify-full sslrootcert=%s", host, port, c.CA),
		"URL":          fmt.Sprintf("postgres://reader:hunter2@%s/people?sslrootcert=%s&application_name=other", c.Address, c.CA),
		"old password": fmt.Sprintf("postgresql://old:hunter2@%s/people?sslmode=require&sslrootcert=%s", c.Address, c.CA),
		"plain":        fmt.Sprintf("postgres://reader:hunter2@%s/people", c.Address),
		"trusted":      fmt.Sprintf("host=%s port=%s dbname=people user=trusted sslmode=disable", host, port),
		"token":        fmt.Sprintf("host=%s dbname=people user='the app' sslmode=require sslrootcert=%s", pgtest.AzureHost, c.CA),
	}
}

func (c *cluster) source(t *testing.T, query string) *source {
	t.Helper()
	return openAt(t, c.Address, c.ways()["password"], query)
}

func TestLive(t *testing.T) {
	t.Parallel()
	c := start(t)
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *cluster){
			"conformance": conforms, "types": hasTypes, "refused types": refusesTypes, "sign-in": signsIn, "read only": onlyReads,
			"session": hasSettings, "errors": tellsErrors, "time limit": hasTimeLimit, "cancellation": cancels, "ended by an administrator": isEnded, "cut": isCut, "long row": hasLongRow,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	})
	// Nothing is left running.
	testenv.Eventually(t, "no connection is left", func() bool {
		return c.Exec(t, "people", "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")[0][0] == "0"
	})
}

func conforms(t *testing.T, c *cluster) {
	var tables atomic.Int64
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	literal := func(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
	each := func(texts []string, f func(string) string) string {
		var out []string
		for _, s := range texts {
			out = append(out, f(s))
		}
		return strings.Join(out, ", ")
	}
	for way, connection := range c.ways() {
		for kind, endless := range map[string]string{
			"goes on": "SELECT generate_series(1, 9000000000000000)",
			"stalls":  "SELECT CASE n WHEN 1 THEN 'x' WHEN 2 THEN repeat('x', 100000) ELSE pg_sleep(3600)::text END FROM generate_series(1, 3) n", // the server keeps the last of its output back
		} {
			t.Run(way+" "+kind, func(t *testing.T) {
				t.Parallel()
				datasourcetest.Run(t, datasourcetest.Kind{
					Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
						table := fmt.Sprintf("people%d", tables.Add(1))
						statements := "CREATE TABLE " + table + " (n serial, " + each(columns, func(s string) string { return quote(s) + " text" }) + ");"
						var values []string
						for _, row := range rows {
							values = append(values, "("+each(row, literal)+")")
						}
						if values != nil {
							statements += "INSERT INTO " + table + " (" + each(columns, quote) + ") VALUES " + strings.Join(values, ", ") + ";"
						}
						c.Exec(t, "people", statements+"GRANT SELECT ON "+table+" TO PUBLIC")
						return openAt(t, c.Address, connection, "SELECT "+each(columns, quote)+" FROM "+table+" ORDER BY n")
					},
					Endless: func(t *testing.T) datasource.Source { return openAt(t, c.Address, connection, endless) },
				})
			})
		}
	}
}

// What each type becomes; what stays exact is exact.
func hasTypes(t *testing.T, c *cluster) {
	for value, want := range map[string]string{
		"32767::int2":         "32767",
		"-2147483648":         "-2147483648",
		"9223372036854775807": "9223372036854775807",
		"4294967295::oid":     "4294967295",
		"true":                "true",
		"false":               "false",
		"0.1::float4":         "0.1",
		"0.1::float8":         "0.1",
		"1e300::float8":       "1e+300",
		"'-0'::float8":        "0",
		"1234567890123456789012345678.0123456789": "1234567890123456789012345678.0123456789",
		"-1.50":                       "-1.5",
		"0.00":                        "0",
		"'Zoë'::char(5)":              `"Zoë  "`,
		"'Müller <a&b>'::varchar(20)": `"Müller <a&b>"`,
		"'世界 🚀'":                      `"世界 🚀"`,
		"''":                          `""`,
		"'a'::\"char\"":               `"a"`,
		"'pg_class'::name":            `"pg_class"`,
		"E'it\\'s \\\\'":              `"it's \\"`,
		"'back\\slash'":               `"back\\slash"`,
		"'<a>ä</a>'::xml":             `"<a>ä</a>"`,
		"'00112233-4455-6677-8899-AABBCCDDEEFF'::uuid": `"00112233-4455-6677-8899-aabbccddeeff"`,
		"'10.0.0.1'::inet":                                `"10.0.0.1"`,
		"'10.0.0.0/8'::cidr":                              `"10.0.0.0/8"`,
		"'08:00:2B:01:02:03'::macaddr":                    `"08:00:2b:01:02:03"`,
		"'2026-03-01'::date":                              `"2026-03-01"`,
		"'0001-01-01'::date":                              `"0001-01-01"`,
		"'9999-12-31'::date":                              `"9999-12-31"`,
		"'18:30:15.123456'::time":                         `"18:30:15.123456"`,
		"'18:30'::time":                                   `"18:30:00"`,
		"'2026-03-01 18:30:15.5'::timestamp":              `"2026-03-01T18:30:15.5"`,
		"'2026-03-01 18:30:15.123456-05:30'::timestamptz": `"2026-03-02T00:00:15.123456Z"`,
		"'1890-01-01 00:00:00+00'::timestamptz":           `"1890-01-01T00:00:00Z"`,
		"'\\x00ff'::bytea":                                `"AP8="`,
		"''::bytea":                                       `""`,
		`'{"b": 1.50, "a": [null, "ü"]}'::json`:           `{"a":[null,"ü"],"b":1.50}`,
		`'{"b": 1.50, "a": [null, "ü"]}'::jsonb`:          `{"a":[null,"ü"],"b":1.50}`,
		"'null'::jsonb":                                   "null",
		"'sad'::mood":                                     `"sad"`,
		"'a@b'::mail":                                     `"a@b"`,
		"ARRAY['a@b'::mail, NULL]":                        `["a@b",null]`,
		"ARRAY['so so'::mood]":                            `["so so"]`,
		"ARRAY[1, 2, NULL]":                               "[1,2,null]",
		"'{}'::int[]":                                     "[]",
		"ARRAY[['a', 'b,\"{}\\'], ['NULL', '']]":          `[["a","b,\"{}\\"],["NULL",""]]`,
		"'[0:1]={a,b}'::text[]":                           `["a","b"]`,
		"ARRAY[1.50, 2]":                                  "[1.5,2]",
		"ARRAY['2026-03-01 18:30:15+01'::timestamptz]":    `["2026-03-01T17:30:15Z"]`,
		"ARRAY['\\x00ff'::bytea]":                         `["AP8="]`,
		`ARRAY['{"a": 1}'::jsonb]`:                        `[{"a":1}]`,
		"ARRAY[true, false]":                              "[true,false]",
		"ARRAY[[[1],[2]],[[3],[4]]]":                      "[[[1],[2]],[[3],[4]]]",
	} {
		for _, query := range []string{"SELECT %s AS v, NULL::int AS n", "WITH a AS (SELECT %s AS v, 1 AS n) SELECT v, nullif(n, 1) FROM a -- end"} {
			_, rows, err := all(t, c.source(t, fmt.Sprintf(query, value)))
			if err != nil || !reflect.DeepEqual(rows, [][]string{{want, "null"}}) {
				t.Errorf("%s: %v, %v; want %s", value, rows, err, want)
			}
		}
	}
}

func refusesTypes(t *testing.T, c *cluster) {
	for value, want := range map[string]string{
		"'1 day'::interval":               `column "v" has the type interval`,
		"1::money":                        `column "v" has the type money`,
		"'18:00+01'::timetz":              `column "v" has the type time with time zone`,
		"'(1,2)'::point":                  `column "v" has the type point`,
		"'[1,2]'::int4range":              `column "v" has the type int4range`,
		"'1 2'::int2vector":               `column "v" has the type int2vector`,
		"ROW(1, 2)::pair":                 `column "v" has the type pair`,
		"ROW(1, 2)":                       `column "v" has the type record`,
		"ARRAY['1 day'::interval]":        `column "v" has the type interval`,
		"'a'::tsvector":                   `column "v" has the type tsvector`,
		"pg_sleep(0)":                     `column "v" has the type void`,
		"'NaN'::float8":                   `row 1, column "v": JSON cannot represent the number NaN`,
		"'Infinity'::float4":              `row 1, column "v": JSON cannot represent`,
		"'NaN'::numeric":                  `row 1, column "v": "NaN" is not a decimal number`,
		"'infinity'::timestamptz":         `row 1, column "v": "infinity" has no stable JSON`,
		"'-infinity'::date":               `row 1, column "v": "-infinity"`,
		"'0044-03-15 BC'::date":           `row 1, column "v": "0044-03-15 BC"`,
		"'10000-01-01'::timestamp":        `row 1, column "v": "10000-01-01 00:00:00"`,
		"'24:00'::time":                   `row 1, column "v": "24:00:00"`,
		"ARRAY[1::float8, 'NaN'::float8]": `row 1, column "v": element 2: JSON`,
	} {
		_, rows, err := all(t, c.source(t, "SELECT 1 AS n, "+value+" AS v"))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v, %v; want %s", value, rows, err, want)
		}
	}
}

func signsIn(t *testing.T, c *cluster) {
	for way, connection := range c.ways() {
		_, rows, err := all(t, openAt(t, c.Address, connection, "SELECT ssl, current_user::text, application_name FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE pid = pg_backend_pid()"))
		want := []string{strconv.FormatBool(way != "plain" && way != "trusted"), `"reader"`, `"matoolkit"`}
		if user := map[string]string{"old password": "old", "trusted": "trusted", "token": "the app"}[way]; user != "" {
			want[1] = strconv.Quote(user)
		}
		if way == "URL" {
			want[2] = `"other"`
		}
		if err != nil || !reflect.DeepEqual(rows, [][]string{want}) {
			t.Errorf("%s: %v, %v; want %v", way, rows, err, want)
		}
	}
	other, _ := pgtest.WriteCertificate(t, t.TempDir())
	for connection, want := range map[string]string{
		"postgres://reader:wrong1@" + c.Address + "/people":                           `password authentication failed for user "reader" (SQLSTATE 28P01)`,
		"postgres://nobody:hunter2@" + c.Address + "/people":                          "no pg_hba.conf entry",
		"postgres://reader:hunter2@" + c.Address + "/other":                           `database "other" does not exist (SQLSTATE 3D000)`,
		"postgres://reader:hunter2@" + c.Address + "/people?sslmode=require":          "certificate signed by unknown authority",
		"postgres://reader:hunter2@" + c.Address + "/people?sslrootcert=" + other:     "certificate signed by unknown authority",
		"host=" + pgtest.AzureHost + " dbname=people user=reader sslrootcert=" + c.CA: "password authentication failed",
		"postgres://the%20app:hunter2@" + c.Address + "/people?sslrootcert=" + c.CA:   "password authentication failed",
		"postgres://the%20app:hunter2@" + c.Address + "/people":                       "no pg_hba.conf entry",
	} {
		_, _, err := all(t, openAt(t, c.Address, connection, "SELECT 1"))
		if err == nil || !strings.Contains(err.Error(), "connect to the server: ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "wrong1") || strings.Contains(err.Error(), "token for") {
			t.Errorf("%s: %v; want %s", connection, err, want)
		}
		if errors.Is(err, datasource.ErrAway) != strings.Contains(want, "certificate") {
			t.Errorf("%s: away: %v", connection, err)
		}
	}
}

func onlyReads(t *testing.T, c *cluster) {
	for query, want := range map[string]string{
		"WITH a AS (INSERT INTO kept VALUES (1) RETURNING id) SELECT id FROM a": "read-only transaction",
		"WITH a AS (DELETE FROM kept RETURNING id) SELECT id FROM a":            "read-only transaction",
		"SELECT * FROM kept FOR UPDATE":                                         "read-only transaction",
		"SELECT nextval('counter')":                                             "read-only transaction",
		"SELECT set_config('transaction_read_only', 'off', true)":               "must be set before any query",
	} {
		s := c.source(t, "SELECT 1")
		s.statement = query // past the check of the words
		if _, rows, err := all(t, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", query, rows, err)
		}
	}
	// What the transaction changes is rolled back.
	if _, _, err := all(t, c.source(t, "SELECT set_config('application_name', 'changed', false)")); err != nil {
		t.Error(err)
	}
	if rows := c.Exec(t, "people", "SELECT count(*) FROM kept"); rows[0][0] != "0" {
		t.Error("something was written")
	}
	// The protocol refuses several statements.
	s := c.source(t, "SELECT 1")
	s.statement = "SELECT 1; COMMIT; CREATE TABLE more (a int)"
	if _, _, err := all(t, s); err == nil || !strings.Contains(err.Error(), "multiple commands") {
		t.Errorf("%v", err)
	}
}

func hasSettings(t *testing.T, c *cluster) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	rows := testenv.Must(c.source(t, "SELECT name, setting FROM pg_settings WHERE name IN ('transaction_read_only', 'client_encoding', 'statement_timeout', 'standard_conforming_strings') ORDER BY name").Query(ctx))(t)
	defer rows.Close()
	got := map[string]string{}
	for {
		values, err := rows.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[string(values[0])] = strings.Trim(string(values[1]), `"`)
	}
	if limit, err := strconv.Atoi(got[`"statement_timeout"`]); err != nil || limit < 3_500_000 || limit > 3_610_000 {
		t.Errorf("statement_timeout: %v", got)
	}
	delete(got, `"statement_timeout"`)
	if want := map[string]string{`"transaction_read_only"`: "on", `"client_encoding"`: "UTF8", `"standard_conforming_strings"`: "on"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func tellsErrors(t *testing.T, c *cluster) {
	for query, want := range map[string]string{
		"SELECT 1,\n\n idd FROM kept":                          `prepare the query: ERROR: column "idd" does not exist (SQLSTATE 42703), in line 3 of the query; Perhaps you meant to reference the column "kept.id".`,
		"SELECT * FROM missing":                                `relation "missing" does not exist (SQLSTATE 42P01)`,
		"SELECT * FROM pg_authid":                              "permission denied for table pg_authid (SQLSTATE 42501)",
		"SELECT 1 / n FROM generate_series(-3, 3) n":           "the result ended early, after 3 rows: ERROR: division by zero (SQLSTATE 22012)",
		"SELECT 1/0 FROM kept RIGHT JOIN (SELECT 1) a ON true": "division by zero",
		"SELECT id FROM kept WHERE id = $1":                    "parameters such as $1",
		"SELECT FROM kept":                                     "no columns",
		"SELECT 'abc'::int":                                    `invalid input syntax for type integer: "abc"`,
	} {
		_, rows, err := all(t, c.source(t, query))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v, %v; want %s", query, rows, err, want)
		}
	}
}

// The server ends a query by itself where this program does not.
func hasTimeLimit(t *testing.T, c *cluster) {
	s := c.source(t, "SELECT set_config('statement_timeout', '50', true), (SELECT 1 FROM pg_sleep(0))")
	if _, _, err := all(t, s); err != nil {
		t.Error(err)
	}
	c.Exec(t, "people", "CREATE TABLE locked (id int); GRANT SELECT ON locked TO PUBLIC")
	conn := testenv.Connected(pgconn.Connect(t.Context(), c.Admin("people")))(t)
	testenv.Must(conn.Exec(t.Context(), "BEGIN; LOCK TABLE locked").ReadAll())(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.source(t, "SELECT id FROM locked").Query(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
}

// A query that was cancelled ends on the server too.
func cancels(t *testing.T, c *cluster) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	source := c.source(t, "SELECT 'cancelled' FROM pg_sleep(3600)")
	go func() {
		rows, err := source.Query(ctx)
		if err == nil {
			_, err = rows.Next(ctx)
		}
		ended <- err
	}()
	running := func() bool {
		return c.Exec(t, "people", "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%cancelled%' AND state = 'active' AND pid <> pg_backend_pid()")[0][0] != "0"
	}
	testenv.Eventually(t, "the query runs", running)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
	testenv.Eventually(t, "the query ends on the server", func() bool { return !running() })
}

func isEnded(t *testing.T, c *cluster) {
	rows := testenv.Must(c.source(t, "SELECT pg_backend_pid() UNION ALL SELECT generate_series(1, 10000000)").Query(t.Context()))(t)
	defer rows.Close()
	values := testenv.Must(rows.Next(t.Context()))(t)
	c.Exec(t, "people", "SELECT pg_terminate_backend("+string(values[0])+")")
	var err error
	for err == nil {
		_, err = rows.Next(t.Context())
	}
	if err == io.EOF || !errors.Is(err, datasource.ErrAway) || !strings.Contains(err.Error(), "the result ended early, after ") {
		t.Errorf("%v", err)
	}
}

// A connection that breaks anywhere never looks like the end of a result.
func isCut(t *testing.T, c *cluster) {
	source := openAt(t, c.Address, c.ways()["trusted"], "SELECT n, 'x' FROM generate_series(1, 3) n")
	dial := source.dial
	whole := 0
	for cut := 1; whole == 0; cut++ {
		left := cut
		source.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &cutConn{Conn: conn, left: &left}, nil
		}
		_, rows, err := all(t, source)
		switch {
		case err == nil && len(rows) != 3:
			t.Fatalf("cut after %d bytes: %v", cut, rows)
		case err == nil:
			whole = cut
		case !errors.Is(err, datasource.ErrAway):
			t.Errorf("cut after %d bytes: not away: %v", cut, err)
		}
		if cut > 5000 {
			t.Fatal("no result is ever whole")
		}
	}
}

func hasLongRow(t *testing.T, c *cluster) {
	_, rows, err := all(t, c.source(t, "SELECT repeat('x', n * 3000000) FROM generate_series(1, 4) n"))
	if err == nil || !strings.Contains(err.Error(), "row 3 of the result is longer than 8388608 bytes") || len(rows) != 2 || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// A server that stops, is gone, and comes back.
func TestLiveServerThatStops(t *testing.T) {
	t.Parallel()
	c := start(t)
	rows := testenv.Must(c.source(t, "SELECT generate_series(1, 10000000)").Query(t.Context()))(t)
	defer rows.Close()
	testenv.Must(rows.Next(t.Context()))(t)
	c.Stop()
	var err error
	for err == nil {
		_, err = rows.Next(t.Context())
	}
	if err == io.EOF || !errors.Is(err, datasource.ErrAway) {
		t.Errorf("in the middle: %v", err)
	}
	if _, err := c.source(t, "SELECT 1").Query(t.Context()); !errors.Is(err, datasource.ErrAway) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("while it is gone: %v", err)
	}
}

// Without a free connection the server is busy.
func TestLiveServerThatIsBusy(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Exec(t, "people", "ALTER ROLE reader CONNECTION LIMIT 1")
	rows := testenv.Must(c.source(t, "SELECT generate_series(1, 10000000)").Query(t.Context()))(t)
	if _, err := c.source(t, "SELECT 1").Query(t.Context()); !errors.Is(err, datasource.ErrAway) || !strings.Contains(err.Error(), "SQLSTATE 53300") {
		t.Errorf("%v", err)
	}
	_ = rows.Close()
	testenv.Eventually(t, "the connection is free", func() bool {
		_, got, err := all(t, c.source(t, "SELECT 1"))
		return err == nil && slices.Equal(got[0], []string{"1"})
	})
}
