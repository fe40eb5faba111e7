package tds_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tds"
)

func start(t *testing.T, c tds.Config) *tds.Server {
	t.Helper()
	s := testenv.Must(tds.Start(c))(t)
	t.Cleanup(func() {
		_ = s.Close()
		if refused := s.Refused(); len(refused) > 0 && !t.Failed() {
			t.Errorf("not understood: %q", refused)
		}
	})
	return s
}

// config is that of the real driver, which trusts the server's CA.
func config(t *testing.T, s *tds.Server) msdsn.Config {
	t.Helper()
	c := testenv.Must(msdsn.Parse("sqlserver://reader:secret@" + s.Addr() + "?database=people&encrypt=true&app+name=test"))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CAPEM())
	c.TLSConfig = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	c.DisableRetry = true
	return c
}

func open(t *testing.T, s *tds.Server) *sql.DB {
	t.Helper()
	db := sql.OpenDB(mssql.NewConnectorConfig(config(t, s)))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

var passwords = tds.Config{Passwords: map[string]string{"reader": "secret"}}

// What the driver makes of each type, in a row that has values and in one of NULLs, each
// compressed and plain.
func TestTypes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 18, 30, 15, 123_456_700, time.FixedZone("", 3600))
	local := time.Date(2026, 3, 1, 18, 30, 15, 0, time.UTC)
	long := strings.Repeat("Grüße, 世界 🚀 ", 400)
	for _, c := range []struct {
		kind tds.Type
		in   any
		want any
	}{
		{tds.TinyInt, 255, int64(255)},
		{tds.SmallInt, -32768, int64(-32768)},
		{tds.Int, -2147483648, int64(-2147483648)},
		{tds.BigInt, 9223372036854775807, int64(9223372036854775807)},
		{tds.Bit, true, true},
		{tds.Bit, false, false},
		{tds.Real, 0.1, float64(float32(0.1))},
		{tds.Float, -0.1, -0.1},
		{tds.SmallMoney, "-0.0005", []byte("-0.0005")},
		{tds.Money, "922337203685477.5807", []byte("922337203685477.5807")},
		{tds.Money, "-922337203685477.5808", []byte("-922337203685477.5808")},
		{tds.Decimal(5, 2), "-1.50", []byte("-1.50")},
		{tds.Decimal(18, 0), "123456789012345678", []byte("123456789012345678")},
		{tds.Numeric(28, 10), "0.0000000001", []byte("0.0000000001")},
		{tds.Decimal(38, 4), "-1234567890123456789012345678901234.5678", []byte("-1234567890123456789012345678901234.5678")},
		{tds.Date, local, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{tds.Date, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{tds.Time(0), local, time.Date(1, 1, 1, 18, 30, 15, 0, time.UTC)},
		{tds.Time(7), at, time.Date(1, 1, 1, 18, 30, 15, 123_456_700, time.UTC)},
		{tds.DateTime, local.Add(3 * time.Millisecond), local.Add(3 * time.Millisecond)},
		{tds.DateTime, time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC)},
		{tds.SmallDateTime, local.Truncate(time.Minute), local.Truncate(time.Minute)},
		{tds.DateTime2(3), local, local},
		{tds.DateTime2(7), at, time.Date(2026, 3, 1, 18, 30, 15, 123_456_700, time.UTC)},
		{tds.DateTimeOffset(7), at, at},
		{tds.UniqueIdentifier, "00112233-4455-6677-8899-aabbccddeeff", []byte{0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}},
		{tds.Char(5), "Zoë", "Zoë  "},
		{tds.VarChar(20), "Müller", "Müller"},
		{tds.VarCharMax, strings.Repeat("ä", 5000), strings.Repeat("ä", 5000)},
		{tds.NChar(4), "ab", "ab  "},
		{tds.NVarChar(20), "世界 🚀", "世界 🚀"},
		{tds.NVarChar(20), "", ""},
		{tds.NVarCharMax, long, long},
		{tds.Text, "älter", "älter"},
		{tds.NText, "älter 世", "älter 世"},
		{tds.XML, "<a>ä</a>", "<a>ä</a>"},
		{tds.Binary(4), []byte{1, 2}, []byte{1, 2, 0, 0}},
		{tds.VarBinary(8), []byte{0, 255}, []byte{0, 255}},
		{tds.VarBinaryMax, []byte(long), []byte(long)},
		{tds.Image, []byte{9}, []byte{9}},
		{tds.Variant, 7, int64(7)},
	} {
		t.Run(fmt.Sprintf("%s %.20v", c.kind, c.in), func(t *testing.T) {
			t.Parallel()
			s := start(t, passwords)
			columns := []tds.Column{{Name: "id", Type: tds.Int, NotNull: true}, {Name: "value", Type: c.kind}, {Name: "end", Type: tds.NVarChar(3)}}
			rows := [][]any{{1, c.in, "end"}, {2, nil, "end"}, {3, c.in, nil}, {4, c.in, "end"}}
			fixed := []tds.Column{{Name: "value", Type: c.kind, NotNull: true}, {Name: "end", Type: tds.NVarChar(3)}}
			for query, r := range map[string]tds.Result{
				"compressed": {Columns: columns, Rows: rows},
				"plain":      {Columns: columns, Rows: rows, Plain: true},
				"not null":   {Columns: fixed, Rows: [][]any{{c.in, "end"}, {c.in, "end"}}},
			} {
				if err := s.Answer("SELECT "+query, r); err != nil {
					t.Fatal(err)
				}
			}
			db := open(t, s)
			for query, want := range map[string][]any{
				"compressed": {c.want, nil, c.want, c.want},
				"plain":      {c.want, nil, c.want, c.want},
				"not null":   {c.want, c.want},
			} {
				got := column(t, db, "SELECT "+query, "value")
				if !reflect.DeepEqual(normal(got), normal(want)) {
					t.Errorf("%s: %.200v, not %.200v", query, got, want)
				}
			}
		})
	}
}

// column returns the values that the driver reads from one column.
func column(t *testing.T, db *sql.DB, query, name string) []any {
	t.Helper()
	rows := testenv.Must(db.QueryContext(t.Context(), query))(t)
	defer rows.Close()
	names := testenv.Must(rows.Columns())(t)
	var out []any
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		for i, n := range names {
			if n == name {
				out = append(out, values[i])
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// normal makes times comparable, with their offset.
func normal(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if at, ok := v.(time.Time); ok {
			v = at.Format(time.RFC3339Nano)
		}
		out[i] = v
	}
	return out
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := start(t, passwords)
	for _, c := range []struct {
		kind  tds.Type
		value any
	}{
		{tds.TinyInt, 256},
		{tds.TinyInt, -1},
		{tds.SmallInt, 32768},
		{tds.Int, "1"},
		{tds.Bit, 1},
		{tds.Decimal(3, 1), "100.0"},
		{tds.Decimal(3, 1), "1.05"},
		{tds.Decimal(3, 1), "x"},
		{tds.SmallMoney, "214748.3648"},
		{tds.NVarChar(2), "abc"},
		{tds.VarChar(20), "世"},
		{tds.UniqueIdentifier, "1"},
		{tds.Time(0), time.Unix(0, 1)},
		{tds.SmallDateTime, time.Unix(1, 0)},
		{tds.Type{}, 1},
	} {
		if s.Answer("q", tds.Result{Columns: []tds.Column{{Name: "c", Type: c.kind}}, Rows: [][]any{{c.value}}}) == nil {
			t.Errorf("%v was taken as %s", c.value, c.kind)
		}
	}
	if s.Answer("q", tds.Result{Columns: []tds.Column{{Name: "c", Type: tds.Int, NotNull: true}}, Rows: [][]any{{nil}}}) == nil {
		t.Error("NULL was taken by a column that has none")
	}
}

// The query is stopped on the server, and the connection can be used again.
func TestAttention(t *testing.T) {
	t.Parallel()
	s := start(t, passwords)
	if err := s.Answer("SELECT slow", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Hold: make(chan struct{})}); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer("SELECT quick", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{7}}}); err != nil {
		t.Fatal(err)
	}
	conn, err := open(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = s.Await(ctx, tds.Batch, 1)
		cancel()
	}()
	rows, err := conn.QueryContext(ctx, "SELECT slow")
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		_ = rows.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the query ended with %v", err)
	}
	if err := s.Await(t.Context(), tds.Attention, 1); err != nil {
		t.Fatal(err)
	}
	var id int
	if err := conn.QueryRowContext(t.Context(), "SELECT quick").Scan(&id); err != nil || id != 7 {
		t.Fatalf("%d, %v", id, err)
	}
	if n := len(s.Logins()); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	s := start(t, passwords)
	if err := s.Answer("SELECT 1", tds.Result{Columns: []tds.Column{{Name: "", Type: tds.Int}}, Rows: [][]any{{1}}}); err != nil {
		t.Fatal(err)
	}
	db := open(t, s)
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx := testenv.Must(db.BeginTx(t.Context(), nil))(t)
		if got := len(column(t, db, "SELECT 1", "")); got != 1 {
			t.Errorf("%d rows", got)
		}
		var one int
		if err := tx.QueryRow("SELECT 1").Scan(&one); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range s.Requests() {
		got = append(got, fmt.Sprint(r.Kind, " ", r.InTransaction))
	}
	want := "begin false, batch false, batch true, rollback false, begin false, batch false, batch true, commit false"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

// Both libraries, with a token that is longer than a packet.
func TestTokens(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("token.", 1000)
	for library, connect := range map[string]func(msdsn.Config, string) (*mssql.Connector, error){
		tds.SecurityToken: func(c msdsn.Config, token string) (*mssql.Connector, error) {
			return mssql.NewSecurityTokenConnector(c, func(context.Context) (string, error) { return token, nil })
		},
		tds.ActiveDirectory: func(c msdsn.Config, token string) (*mssql.Connector, error) {
			return mssql.NewActiveDirectoryTokenConnector(c, mssql.FedAuthADALWorkflowPassword, func(_ context.Context, spn, sts string) (string, error) {
				if spn != "https://database.windows.net/" || sts != "https://login.microsoftonline.com/tenant" {
					return "", fmt.Errorf("told %q, %q", spn, sts)
				}
				return token, nil
			})
		},
	} {
		s := start(t, tds.Config{STSURL: "https://login.microsoftonline.com/tenant", SPN: "https://database.windows.net/", CheckToken: func(token string) error {
			if token != long {
				return errors.New("another token")
			}
			return nil
		}})
		for token, good := range map[string]bool{long: true, "other": false} {
			connector := testenv.Must(connect(config(t, s), token))(t)
			conn, err := connector.Connect(t.Context())
			if (err == nil) != good {
				t.Errorf("%s: %v", library, err)
			}
			if err == nil {
				_ = conn.Close()
			} else if !strings.Contains(err.Error(), "Login failed") {
				t.Errorf("%s: %v", library, err)
			}
			logins := s.Logins()
			if last := logins[len(logins)-1]; last.Library != library || last.Token != token || !last.Encrypted || last.Database != "people" || last.Application != "test" {
				t.Errorf("%s: %.300v", library, last)
			}
		}
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	s := start(t, passwords)
	c := config(t, s)
	for password, good := range map[string]bool{"secret": true, "Secret": false, "": false} {
		c.Password = password
		conn, err := mssql.NewConnectorConfig(c).Connect(t.Context())
		var failed mssql.Error
		switch {
		case good && err != nil:
			t.Error(err)
		case good:
			_ = conn.Close()
		case !errors.As(err, &failed) || failed.Number != 18456:
			t.Errorf("%q: %v", password, err)
		}
	}
}

// Strict encryption is TLS from the first byte, as TDS 8.0 has it.
func TestStrictEncryption(t *testing.T) {
	t.Parallel()
	s := start(t, passwords)
	c := config(t, s)
	c.Encryption = msdsn.EncryptionStrict
	conn, err := mssql.NewConnectorConfig(c).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// What the server does not understand, it says.
func TestRefused(t *testing.T) {
	t.Parallel()
	for what, ask := range map[string]func(*sql.DB) error{
		"a query without a result in the test: SELECT 2": func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), "SELECT 2")
			return err
		},
		"a remote procedure call": func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), "SELECT @p1", 1)
			return err
		},
	} {
		s := testenv.Must(tds.Start(passwords))(t)
		if err := ask(open(t, s)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v", err)
		}
		if got := s.Refused(); len(got) != 1 || got[0] != what {
			t.Errorf("%q", got)
		}
		_ = s.Close()
	}
	s := testenv.Started(tds.Start(passwords))(t)
	conn := testenv.Must(net.Dial("tcp", s.Addr()))(t)
	defer conn.Close()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the server answered what is no PRELOGIN")
	}
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := testenv.Must(tds.Start(passwords))(t)
	idle, err := open(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := idle.ExecContext(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection outlived its server")
	}
}
