package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// connections are the ways to a server of these tests.
func (s *server) connections() map[string]string {
	return map[string]string{
		"password": "postgres://reader:hunter2@" + s.address + "/people?sslmode=require&sslrootcert=" + s.ca,
		"token":    "host=" + pgtest.AzureHost + " dbname=people user=reader sslrootcert=" + s.ca,
		"plain":    "postgres://reader:hunter2@" + s.address + "/people",
	}
}

func (s *server) source(t *testing.T, way, query string) *source {
	t.Helper()
	return openAt(t, s.address, s.connections()[way], query)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"password", "token", "plain"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			start := func(t *testing.T) *server {
				s := serve(t, true)
				if way == "token" {
					s.password = "token for https://ossrdbms-aad.database.windows.net/.default"
				}
				return s
			}
			datasourcetest.Run(t, datasourcetest.Kind{
				Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
					s, r := start(t), result{}
					for _, c := range columns {
						r.columns = append(r.columns, column(c, pgtype.TextOID))
					}
					for _, row := range rows {
						var values []any
						for _, v := range row {
							values = append(values, v)
						}
						r.rows = append(r.rows, values)
					}
					s.answer("SELECT * FROM people", r)
					return s.source(t, way, "SELECT * FROM people")
				},
				Endless: func(t *testing.T) datasource.Source {
					s := start(t)
					s.answer("SELECT * FROM people", result{columns: []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}, rows: [][]any{{"1"}}, stalls: true})
					return s.source(t, way, "SELECT * FROM people")
				},
			})
		})
	}
}

// What the text of each type becomes; the tests with a real server have the same types.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		oid        uint32
		text, want string // want begins with "error: " for a refusal
	}{
		{pgtype.BoolOID, "t", "true"},
		{pgtype.BoolOID, "f", "false"},
		{pgtype.BoolOID, "x", "error: it is neither"},
		{pgtype.Int8OID, "-9223372036854775808", "-9223372036854775808"},
		{pgtype.Int4OID, "1.5", "error: it is not a whole number"},
		{pgtype.Float4OID, "0.1", "0.1"},
		{pgtype.Float8OID, "1e+300", "1e+300"},
		{pgtype.Float8OID, "-0", "0"},
		{pgtype.Float8OID, "NaN", "error: JSON cannot represent"},
		{pgtype.Float4OID, "x", "error: it is not a number"},
		{pgtype.NumericOID, "1234567890123456789012345678.50", "1234567890123456789012345678.5"},
		{pgtype.NumericOID, "NaN", `error: "NaN" is not a decimal`},
		{pgtype.TextOID, "Grüße <a&b>", `"Grüße <a&b>"`},
		{pgtype.TextOID, "\xff", "error: the text is not UTF-8"},
		{pgtype.BPCharOID, "a  ", `"a  "`},
		{pgtype.UUIDOID, "00112233-4455-6677-8899-aabbccddeeff", `"00112233-4455-6677-8899-aabbccddeeff"`},
		{pgtype.DateOID, "2026-03-01", `"2026-03-01"`},
		{pgtype.DateOID, "infinity", `error: "infinity" has no stable JSON`},
		{pgtype.DateOID, "0044-03-15 BC", "error: "},
		{pgtype.TimeOID, "18:30:15.123456", `"18:30:15.123456"`},
		{pgtype.TimeOID, "24:00:00", "error: "},
		{pgtype.TimestampOID, "2026-03-01 18:30:15.5", `"2026-03-01T18:30:15.5"`},
		{pgtype.TimestamptzOID, "2026-03-02 00:00:15.123456+00", `"2026-03-02T00:00:15.123456Z"`},
		{pgtype.TimestamptzOID, "2026-03-01 00:00:00-05", `"2026-03-01T05:00:00Z"`},
		{pgtype.ByteaOID, `\x00ff`, `"AP8="`},
		{pgtype.ByteaOID, `\x`, `""`},
		{pgtype.ByteaOID, `\000`, "error: it is not in hexadecimal form"},
		{pgtype.JSONOID, `{"b": 1.50, "a": "ü"}`, `{"a":"ü","b":1.50}`},
		{pgtype.JSONBOID, `[`, "error: it is not JSON"},
	} {
		got, err := types[c.oid](c.text)
		if refusal, refused := strings.CutPrefix(c.want, "error: "); refused != (err != nil) || refused && !strings.Contains(err.Error(), refusal) || !refused && string(got) != c.want {
			t.Errorf("%d %s: %s, %v; want %s", c.oid, c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"{}":            "[]",
		"{1,NULL,-3}":   "[1,null,-3]",
		"{{1,2},{3,4}}": "[[1,2],[3,4]]",
		"{{{1}},{{2}}}": "[[[1]],[[2]]]",
		"[0:1]={1,2}":   "[1,2]",
		"{1,x}":         "error: element 2: it is not a whole number",
		"{1":            "error: it is not an array",
		"1":             "error: it is not an array",
	} {
		got, err := array(pgtype.Int4ArrayOID, integer)(text)
		if refusal, refused := strings.CutPrefix(want, "error: "); refused != (err != nil) || refused && !strings.Contains(err.Error(), refusal) || !refused && string(got) != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	if got, err := array(pgtype.TextArrayOID, plain)(`{"a,b","NULL","\"{}\\",""}`); err != nil || string(got) != `["a,b","NULL","\"{}\\",""]` {
		t.Errorf("%s, %v", got, err)
	}
}

// Types that the database defines are looked up: enums, domains in arrays, and what has no JSON.
func TestTypesOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	found := []pgproto3.FieldDescription{column("typtype", pgtype.QCharOID), column("typcategory", pgtype.QCharOID), column("typelem", pgtype.OIDOID), column("typbasetype", pgtype.OIDOID), column("format_type", pgtype.TextOID)}
	for oid, row := range map[string][]any{
		"20001": {"e", "E", "0", "0", "mood"},
		"20002": {"b", "A", "20003", "0", "mail[]"},
		"20003": {"d", "S", "0", "25", "mail"},
		"20004": {"b", "S", "0", "0", "citext"},
		"1186":  {"b", "T", "0", "0", "interval"},
		"20005": {"b", "A", "1186", "0", "interval[]"},
	} {
		s.answer(lookup+oid, result{columns: found, rows: [][]any{row}})
	}
	s.answer(lookup+"20006", result{columns: found})
	s.answer("SELECT a", result{columns: []pgproto3.FieldDescription{column("m", 20001), column("a", 20002), column("c", 20004)}, rows: [][]any{{"sad", `{a@b,NULL}`, "X"}, {nil, nil, nil}}})
	_, rows, err := all(t, s.source(t, "password", "SELECT a"))
	if want := [][]string{{`"sad"`, `["a@b",null]`, `"X"`}, {"null", "null", "null"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v, %v", rows, err)
	}
	for oid, want := range map[uint32]string{1186: "has the type interval, which has no stable JSON", 20005: "has the type interval", 20006: "does not know it"} {
		query := fmt.Sprintf("SELECT %d", oid)
		s.answer(query, result{columns: []pgproto3.FieldDescription{column("what", oid)}})
		if _, err := s.source(t, "password", query).Query(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `column "what"`) || errors.Is(err, datasource.ErrAway) {
			t.Errorf("%d: %v", oid, err)
		}
	}
}

// How the query runs, and who signs in.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("SELECT id", result{columns: []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}, rows: [][]any{{"1"}}})
	if _, rows, err := all(t, s.source(t, "password", "SELECT id;")); err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	logins, queries := s.seen()
	if want := []map[string]string{{"user": "reader", "database": "people", "application_name": "matoolkit", "client_encoding": "UTF8"}}; !reflect.DeepEqual(logins, want) {
		t.Errorf("%v", logins)
	}
	if len(queries) != 4 || !strings.HasPrefix(queries[0], "BEGIN READ ONLY; ") || !strings.Contains(queries[0], "SET LOCAL statement_timeout TO 600000") || queries[1] != "SELECT id" || queries[2] != "SELECT id" || queries[3] != "ROLLBACK" {
		t.Errorf("%q", queries)
	}
}

// What this program's environment says of PostgreSQL has no effect.
func TestEnvironment(t *testing.T) {
	s := serve(t, true)
	s.answer("SELECT id", result{columns: []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}})
	for name, value := range map[string]string{
		"PGHOST": "elsewhere", "PGUSER": "somebody", "PGPASSWORD": "another", "PGDATABASE": "other", "PGSSLMODE": "disable", "PGOPTIONS": "-c x=y",
		"PGTZ": "Asia/Kolkata", "PGTARGETSESSIONATTRS": "standby", "PGREQUIREAUTH": "md5", "PGCHANNELBINDING": "require", "PGSSLNEGOTIATION": "direct", "PGAPPNAME": "else",
	} {
		t.Setenv(name, value)
	}
	if _, _, err := all(t, s.source(t, "password", "SELECT id")); err != nil {
		t.Error(err)
	}
	if logins, _ := s.seen(); len(logins) != 1 || logins[0]["user"] != "reader" || logins[0]["options"] != "" || logins[0]["application_name"] != "matoolkit" || logins[0]["timezone"] != "" {
		t.Errorf("%v", logins)
	}
	t.Setenv("PGSERVICE", "missing")
	if _, _, err := all(t, s.source(t, "password", "SELECT id")); err == nil || !strings.Contains(err.Error(), "environment variables that begin with PG") || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
}

// The certificate counts, and no password goes out without it.
func TestCertificates(t *testing.T) {
	t.Parallel()
	s, bare := serve(t, true), serve(t, false)
	stranger, _ := pgtest.WriteCertificate(t, t.TempDir())
	for connection, want := range map[string]string{
		"postgres://reader:hunter2@" + s.address + "/people?sslmode=require":                                             "certificate",
		"postgres://reader:hunter2@" + s.address + "/people?sslrootcert=" + stranger:                                     "certificate",
		strings.Replace("postgres://reader:hunter2@"+s.address+"/people?sslrootcert="+s.ca, "127.0.0.1", "localhost", 1): "certificate",
		"postgres://reader:hunter2@" + bare.address + "/people?sslrootcert=" + bare.ca:                                   "server refused TLS connection",
	} {
		source := testenv.Must(open(datasource.Spec{Connection: connection, Query: "SELECT 1"}))(t)
		if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || !errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v", connection, err)
		}
	}
	for _, s := range []*server{s, bare} {
		if logins, _ := s.seen(); len(logins) != 0 {
			t.Errorf("%v", logins)
		}
	}
}

// elsewhere is a connection to an address that is not of this machine.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5432} }

// A plain connection stays on this machine, whatever localhost leads to.
func TestPlainConnectionsStayHere(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	source := s.source(t, "plain", "SELECT 1")
	dial := source.dial
	source.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return elsewhere{conn}, err
	}
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "not encrypted, and the server is not on this machine") {
		t.Errorf("%v", err)
	}
	if logins, _ := s.seen(); len(logins) != 0 {
		t.Errorf("%v", logins)
	}
}

// Without a token, and with a password that is wrong, the error holds neither.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.password = "another"
	for way, want := range map[string]string{"password": "28P01", "token": "28P01", "plain": "28P01"} {
		_, err := s.source(t, way, "SELECT 1").Query(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "connect to the server: ") || strings.Contains(fmt.Sprintf("%+v", err), "hunter2") || strings.Contains(err.Error(), "token for") || errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v", way, err)
		}
	}
	before, _ := s.seen()
	source := s.source(t, "token", "SELECT 1")
	source.spec.Credential = refusing{}
	_, err := source.Query(t.Context())
	if after, _ := s.seen(); err == nil || !strings.Contains(err.Error(), "no token for https://ossrdbms-aad.database.windows.net/.default: not today") || len(after) != len(before) {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	columns := []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}
	for code, away := range map[string]bool{
		"22012": false, "42501": false, "57014": false, "25006": false,
		"08006": true, "40001": true, "40P01": true, "53200": true, "53300": true, "57P01": true, "57P03": true, "58030": true,
	} {
		for _, rows := range [][][]any{nil, {{"1"}, {"2"}}} {
			s.answer("SELECT\n id", result{columns: columns, rows: rows, err: &pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: "no", Hint: "Try again.", Position: 9}})
			_, got, err := all(t, s.source(t, "plain", "SELECT\n id"))
			want := fmt.Sprintf("the result ended early, after %d rows: ERROR: no (SQLSTATE %s), in line 2 of the query; Try again.", len(rows), code)
			if err == nil || err.Error() != want || len(got) != len(rows) || errors.Is(err, datasource.ErrAway) != away {
				t.Errorf("%s: %v, %v", code, got, err)
			}
		}
	}
	s.answer("SELECT nothing", result{})
	for query, want := range map[string]string{"SELECT nothing": "no columns", "SELECT other": "prepare the query: ERROR: nothing is known of SELECT other (SQLSTATE 42601)"} {
		if _, err := s.source(t, "plain", query).Query(t.Context()); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v", query, err)
		}
	}
	s.answer("SELECT few", result{columns: columns, rows: [][]any{{"1", "2"}}})
	if _, _, err := all(t, s.source(t, "plain", "SELECT few")); err == nil || !strings.Contains(err.Error(), "row 1 has 2 values for 1 columns") {
		t.Errorf("%v", err)
	}
	s.answer("SELECT long", result{columns: []pgproto3.FieldDescription{column("t", pgtype.TextOID)}, rows: [][]any{{"a"}, {strings.Repeat("x", maxRow)}}})
	if _, rows, err := all(t, s.source(t, "plain", "SELECT long")); err == nil || !strings.Contains(err.Error(), "row 2 of the result is longer than") || len(rows) != 1 || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
}

// A connection that breaks after any number of bytes never looks like the end of a result.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("SELECT id", result{columns: []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}, rows: [][]any{{"1"}, {nil}, {"3"}}})
	source := s.source(t, "plain", "SELECT id")
	dial := source.dial
	for cut := 1; ; cut++ {
		left := cut
		source.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &cutConn{Conn: conn, left: &left}, nil
		}
		_, rows, err := all(t, source)
		if err == nil && len(rows) == 3 {
			return
		}
		if err == nil || !errors.Is(err, datasource.ErrAway) || cut > 1000 {
			t.Fatalf("cut after %d bytes: %v, %v", cut, rows, err)
		}
	}
}

// cutConn ends after a number of bytes from the server.
type cutConn struct {
	net.Conn
	left *int
}

func (c *cutConn) Read(b []byte) (int, error) {
	if *c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b[:min(len(b), *c.left)])
	*c.left -= n
	return n, err
}

// A server that says nothing is waited for only as long as the context, or the time for
// the login, lasts.
func TestServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	source := testenv.Must(open(datasource.Spec{Connection: "postgres://reader:hunter2@" + listener.Addr().String() + "/people?connect_timeout=1", Query: "SELECT 1"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-accepted
		cancel()
	}()
	if _, err := source.Query(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
	begun := time.Now()
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "the login did not end within 1s") || !errors.Is(err, datasource.ErrAway) || time.Since(begun) > 30*time.Second {
		t.Errorf("%v", err)
	}
	_ = listener.Close()
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") || !errors.Is(err, datasource.ErrAway) {
		t.Errorf("%v", err)
	}
}

// A query that is no longer wanted is cancelled on the server.
func TestCancellation(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"password", "plain"} {
		s := serve(t, true)
		s.answer("SELECT id", result{columns: []pgproto3.FieldDescription{column("id", pgtype.Int4OID)}, rows: [][]any{{"1"}}, stalls: true})
		rows := testenv.Must(s.source(t, way, "SELECT id").Query(t.Context()))(t)
		testenv.Must(rows.Next(t.Context()))(t)
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		testenv.Eventually(t, "the query is cancelled", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.cancels) == 0
		})
	}
}
