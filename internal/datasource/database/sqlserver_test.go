package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tds"
)

const (
	azureHost     = "contoso.database.windows.net"
	dataverseHost = "contoso.crm4.dynamics.com"
)

// server is a running server and a file of its CA.
type server struct {
	*tds.Server
	ca string
}

func serve(t *testing.T, c tds.Config) server {
	t.Helper()
	c.Names = append(c.Names, azureHost, dataverseHost)
	if c.Passwords == nil {
		c.Passwords = map[string]string{"reader": "hunter2"}
	}
	if c.CheckToken == nil {
		c.CheckToken = func(token string) error {
			if token != "token for https://database.windows.net/.default" && token != "token for https://contoso.crm4.dynamics.com/.default" {
				return errors.New("another token")
			}
			return nil
		}
	}
	s := testenv.Must(tds.Start(c))(t)
	t.Cleanup(func() {
		_ = s.Close()
		if refused := s.Refused(); len(refused) > 0 {
			t.Errorf("the server did not understand: %q", refused)
		}
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return server{s, ca}
}

func (s server) answer(t *testing.T, query string, r tds.Result) {
	t.Helper()
	if err := s.Answer(query, r); err != nil {
		t.Fatal(err)
	}
}

// kind is one of the ways to the server.
type kind struct {
	name    string
	connect string // what comes before the CA
	open    datasource.Open
}

var kinds = []kind{
	{"password", "Server=%s;Database=people;User ID=reader;Password=hunter2;Certificate=%s", OpenSQL},
	{"strict", "Server=%s;Database=people;User ID=reader;Password=hunter2;Encrypt=Strict;Certificate=%s", OpenSQL},
	{"azure", "Server=" + azureHost + ";Database=people;Workstation ID=%s;Certificate=%s", OpenSQL},
	{"dataverse", "Server=" + dataverseHost + ",5558;Workstation ID=%s;Certificate=%s", OpenDataverse},
}

// source opens a source of a kind; the names of Azure and of Dataverse lead to the server.
func (s server) source(t *testing.T, k kind, query string) *sqlServer {
	t.Helper()
	address := strings.Replace(s.Addr(), ":", ",", 1)
	opened := testenv.Must(k.open(datasource.Spec{Connection: fmt.Sprintf(k.connect, address, s.ca), Query: query, Credential: identity{}}))(t)
	source := opened.(*sqlServer)
	source.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !strings.HasPrefix(address, "127.0.0.1:") && address != azureHost+":1433" && address != dataverseHost+":5558" {
			return nil, fmt.Errorf("nobody was to connect to %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, s.Addr())
	}
	return source
}

func TestSQLServerConformance(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			datasourcetest.Run(t, datasourcetest.Kind{
				Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
					s := serve(t, tds.Config{})
					var r tds.Result
					for _, c := range columns {
						r.Columns = append(r.Columns, tds.Column{Name: c, Type: tds.NVarChar(200)})
					}
					for _, row := range rows {
						var values []any
						for _, v := range row {
							values = append(values, v)
						}
						r.Rows = append(r.Rows, values)
					}
					s.answer(t, "SELECT * FROM people", r)
					return s.source(t, k, "SELECT * FROM people")
				},
				Endless: func(t *testing.T) datasource.Source {
					s := serve(t, tds.Config{})
					s.answer(t, "SELECT * FROM people", tds.Result{
						Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}}, Hold: make(chan struct{}), HoldAfter: 1,
					})
					return s.source(t, k, "SELECT * FROM people")
				},
			})
		})
	}
}

// What each type becomes; what stays exact is exact.
func TestSQLServerTypes(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*3600-1800)
	at := time.Date(2026, 3, 1, 18, 30, 15, 123_456_700, zone)
	long := strings.Repeat("Grüße, 世界 ", 1000)
	for _, c := range []struct {
		kind tds.Type
		in   any
		want string
	}{
		{tds.TinyInt, 255, "255"},
		{tds.SmallInt, -32768, "-32768"},
		{tds.Int, 2147483647, "2147483647"},
		{tds.BigInt, 9223372036854775807, "9223372036854775807"},
		{tds.BigInt, -9223372036854775808, "-9223372036854775808"},
		{tds.Bit, true, "true"},
		{tds.Bit, false, "false"},
		{tds.Real, 0.1, "0.1"},
		{tds.Float, 0.1, "0.1"},
		{tds.Float, 1e300, "1e+300"},
		{tds.Float, 0.0, "0"},
		{tds.Decimal(38, 10), "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789"},
		{tds.Decimal(5, 2), "-1.50", "-1.5"},
		{tds.Decimal(5, 2), "0.00", "0"},
		{tds.Numeric(9, 0), "123456789", "123456789"},
		{tds.Money, "-922337203685477.5808", "-922337203685477.5808"},
		{tds.Money, "0.1", "0.1"},
		{tds.SmallMoney, "-0.0005", "-0.0005"},
		{tds.Char(5), "Zoë", `"Zoë  "`},
		{tds.VarChar(20), "Müller <a&b>", `"Müller <a&b>"`},
		{tds.VarCharMax, "ä", `"ä"`},
		{tds.NChar(3), "ab", `"ab "`},
		{tds.NVarChar(20), "世界 🚀", `"世界 🚀"`},
		{tds.NVarChar(20), "", `""`},
		{tds.NVarCharMax, long, `"` + long + `"`},
		{tds.Text, "älter", `"älter"`},
		{tds.NText, "世", `"世"`},
		{tds.XML, "<a>ä</a>", `"<a>ä</a>"`},
		{tds.UniqueIdentifier, "00112233-4455-6677-8899-AABBCCDDEEFF", `"00112233-4455-6677-8899-aabbccddeeff"`},
		{tds.Date, at, `"2026-03-01"`},
		{tds.Date, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), `"0001-01-01"`},
		{tds.Time(7), at, `"18:30:15.1234567"`},
		{tds.Time(0), at.Truncate(time.Minute), `"18:30:00"`},
		{tds.DateTime, at.Truncate(time.Second), `"2026-03-01T18:30:15"`},
		{tds.DateTime, at.Truncate(time.Second).Add(997 * time.Millisecond), `"2026-03-01T18:30:15.997"`},
		{tds.DateTime2(7), at, `"2026-03-01T18:30:15.1234567"`},
		{tds.DateTime2(0), at.Truncate(time.Second), `"2026-03-01T18:30:15"`},
		{tds.SmallDateTime, at.Truncate(time.Minute), `"2026-03-01T18:30:00"`},
		{tds.DateTimeOffset(7), at, `"2026-03-02T00:00:15.1234567Z"`},
		{tds.Binary(3), []byte{0, 255}, `"AP8A"`},
		{tds.VarBinary(8), []byte{0, 255}, `"AP8="`},
		{tds.VarBinary(8), []byte{}, `""`},
		{tds.VarBinaryMax, []byte{}, `""`},
		{tds.VarBinaryMax, []byte{1}, `"AQ=="`},
		{tds.Image, []byte{1}, `"AQ=="`},
	} {
		t.Run(fmt.Sprintf("%s %.20v", c.kind, c.in), func(t *testing.T) {
			t.Parallel()
			s := serve(t, tds.Config{})
			for query, r := range map[string]tds.Result{
				"SELECT a": {Columns: []tds.Column{{Name: "v", Type: c.kind}, {Name: "n", Type: c.kind}}, Rows: [][]any{{c.in, nil}, {nil, c.in}}},
				"SELECT b": {Columns: []tds.Column{{Name: "v", Type: c.kind}, {Name: "n", Type: c.kind}}, Rows: [][]any{{c.in, nil}, {nil, c.in}}, Plain: true},
				"SELECT c": {Columns: []tds.Column{{Name: "v", Type: c.kind, NotNull: true}, {Name: "n", Type: c.kind}}, Rows: [][]any{{c.in, nil}, {c.in, c.in}}},
			} {
				s.answer(t, query, r)
				want := [][]string{{c.want, "null"}, {"null", c.want}}
				if query == "SELECT c" {
					want[1][0] = c.want
				}
				for _, k := range kinds {
					if _, rows, err := all(t, s.source(t, k, query)); err != nil || !reflect.DeepEqual(rows, want) {
						t.Errorf("%s, %s: %.300v, %v", query, k.name, rows, err)
					}
				}
			}
		})
	}
}

func TestSQLServerTypesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, tds.Config{})
	s.answer(t, "SELECT a", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}, {Name: "what", Type: tds.Variant}}, Rows: [][]any{{1, 1}}})
	_, rows, err := all(t, s.source(t, kinds[0], "SELECT a"))
	if err == nil || !strings.Contains(err.Error(), `column "what" has the type sql_variant`) {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := s.source(t, kinds[0], "SELECT a").Query(t.Context()); err == nil {
		t.Error("it was only refused at the first row")
	}
}

// Who signs in, for what, and how the query runs.
func TestSQLServerRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, tds.Config{})
	s.answer(t, "SELECT id FROM people", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}}})
	for _, k := range kinds {
		if _, rows, err := all(t, s.source(t, k, "SELECT id FROM people;")); err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v, %v", k.name, rows, err)
		}
	}
	sql := tds.Login{User: "reader", Server: "127.0.0.1", Database: "people", Application: "matoolkit", ReadOnly: true, Encrypted: true}
	wantLogins := []tds.Login{
		sql, sql,
		{Server: azureHost, Database: "people", Application: "matoolkit", Library: tds.SecurityToken, Token: "token for https://database.windows.net/.default", ReadOnly: true, Encrypted: true},
		{Server: dataverseHost, Application: "matoolkit", Library: tds.SecurityToken, Token: "token for https://contoso.crm4.dynamics.com/.default", Encrypted: true},
	}
	if got := s.Logins(); !reflect.DeepEqual(got, wantLogins) {
		t.Errorf("logins %+v", got)
	}
	in := []tds.Request{{Kind: tds.Begin}, {Kind: tds.Batch, Text: "SELECT id FROM people", InTransaction: true}, {Kind: tds.Rollback}}
	want := append(append(append(append([]tds.Request{}, in...), in...), in...), tds.Request{Kind: tds.Batch, Text: "SELECT id FROM people"})
	if got := s.Requests(); !reflect.DeepEqual(got, want) {
		t.Errorf("requests %+v", got)
	}
	hungUp(t, s)
}

// hungUp expects that no connection is left.
func hungUp(t *testing.T, s server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.Connections() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", s.Connections())
		}
		time.Sleep(time.Millisecond) // the server notices by itself
	}
}

// The end of the context ends the query on the server, before the first row and later.
func TestSQLServerCancel(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, after := range []int{0, 2} {
			t.Run(fmt.Sprint(k.name, " after ", after), func(t *testing.T) {
				t.Parallel()
				s := serve(t, tds.Config{})
				s.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}, {2}}, Hold: make(chan struct{}), HoldAfter: after})
				ctx, cancel := context.WithCancel(t.Context())
				rows, err := s.source(t, k, "SELECT id").Query(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for range after {
					if _, err := rows.Next(ctx); err != nil {
						t.Fatal(err)
					}
				}
				go func() {
					_ = s.Await(ctx, tds.Batch, 1)
					cancel()
				}()
				if _, err := rows.Next(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if err := s.Await(t.Context(), tds.Attention, 1); err != nil {
					t.Error(err)
				}
				if err := rows.Close(); err != nil {
					t.Error(err)
				}
				hungUp(t, s)
			})
		}
	}
	// The context of one Next counts as well, and closing early does the same.
	s := serve(t, tds.Config{})
	s.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}}, Hold: make(chan struct{}), HoldAfter: 1})
	for i, end := range []func(datasource.Rows) error{
		func(r datasource.Rows) error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("ended with %w", err)
			}
			return nil
		},
		func(r datasource.Rows) error { return r.Close() },
	} {
		rows, err := s.source(t, kinds[0], "SELECT id").Query(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := end(rows); err != nil {
			t.Error(err)
		}
		if err := s.Await(t.Context(), tds.Attention, i+1); err != nil {
			t.Error(err)
		}
		if _, err := rows.Next(t.Context()); err == nil || err == io.EOF {
			t.Errorf("and then %v", err)
		}
	}
	hungUp(t, s)
}

// A result that breaks off is an error, wherever it does: it never looks like fewer rows.
func TestSQLServerBreaksOff(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, after := range []int{0, 1, 2, 3} {
			s := serve(t, tds.Config{})
			s.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}, {Name: "t", Type: tds.NVarChar(9)}}, Rows: [][]any{{1, "a"}, {2, nil}, {3, "c"}}, Cut: true, CutAfter: after})
			rows, err := s.source(t, k, "SELECT id").Query(t.Context())
			if err != nil {
				continue // also an end, and also known as one
			}
			n := 0
			for ; err == nil; n++ {
				_, err = rows.Next(t.Context())
			}
			if err == io.EOF || n-1 > after {
				t.Errorf("%s: %v after %d rows, cut after %d", k.name, err, n-1, after)
			}
			if _, again := rows.Next(t.Context()); again == nil || again == io.EOF {
				t.Errorf("%s: and then %v", k.name, again)
			}
			_ = rows.Close()
		}
	}
}

func TestSQLServerErrors(t *testing.T) {
	t.Parallel()
	columns := []tds.Column{{Name: "id", Type: tds.Int}}
	one := [][]any{{1}}
	for _, c := range []struct {
		name   string
		result tds.Result
		number int32
		want   string
	}{
		{"a table that does not exist", tds.Result{Error: &tds.Error{Number: 208, Message: "Invalid object name 'nobody'."}}, 208, "run the query: mssql: Invalid object name 'nobody'. (208)"},
		{"a permission that is missing", tds.Result{Error: &tds.Error{Number: 229, Class: 14, Message: "The SELECT permission was denied."}}, 229, "denied"},
		{"too many requests", tds.Result{Error: &tds.Error{Number: 10928, Message: "Resource ID : 1. The request limit has been reached."}}, 10928, "(10928)"},
		{"busy", tds.Result{Columns: columns, Error: &tds.Error{Number: 40501, Class: 20, Message: "The service is currently busy."}}, 40501, "after 0 rows"},
		{"in the middle", tds.Result{Columns: columns, Rows: one, Error: &tds.Error{Number: 8134, Message: "Divide by zero."}}, 8134, "after 1 rows: mssql: Divide by zero. (8134)"},
		{"that ends the transaction", tds.Result{Columns: columns, Rows: one, Error: &tds.Error{Number: 1205, Message: "Deadlock."}, EndsTransaction: true}, 1205, "Deadlock"},
		{"two results", tds.Result{Columns: columns, Rows: one, More: []tds.Result{{Columns: columns, Rows: one}}}, 0, "more than one result"},
		{"two results, the first without rows", tds.Result{Columns: columns, More: []tds.Result{{Columns: columns, Rows: one}}}, 0, "more than one result"},
		{"an error after the result", tds.Result{Columns: columns, Rows: one, More: []tds.Result{{Error: &tds.Error{Number: 547, Message: "Conflict."}}}}, 547, "Conflict"},
		{"no result", tds.Result{}, 0, "no columns"},
	} {
		for _, k := range kinds {
			s := serve(t, tds.Config{})
			s.answer(t, "SELECT id", c.result)
			_, rows, err := all(t, s.source(t, k, "SELECT id"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, %v", k.name, c.name, rows, err)
			}
			var number mssql.Error
			if c.number != 0 && (!errors.As(err, &number) || number.Number != c.number) {
				t.Errorf("%s, %s: %v", k.name, c.name, err)
			}
			hungUp(t, s)
		}
	}
}

func TestSQLServerLoginsThatFail(t *testing.T) {
	t.Parallel()
	for _, number := range []int32{18456, 40613, 40615, 10928} {
		s := serve(t, tds.Config{})
		s.FailLogins(&tds.Error{Number: number, Class: 14, Message: "Not now."})
		for _, k := range kinds {
			_, err := s.source(t, k, "SELECT id").Query(t.Context())
			var failed mssql.Error
			if !errors.As(err, &failed) || failed.Number != number || !strings.Contains(err.Error(), "connect to the server") {
				t.Errorf("%s, %d: %v", k.name, number, err)
			}
		}
		if n := len(s.Logins()); n != len(kinds) {
			t.Errorf("%d logins were tried", n)
		}
		hungUp(t, s)
	}
	s := serve(t, tds.Config{Passwords: map[string]string{"reader": "another"}, CheckToken: func(string) error { return errors.New("no") }})
	for _, k := range kinds {
		if _, err := s.source(t, k, "SELECT id").Query(t.Context()); err == nil || !strings.Contains(err.Error(), "Login failed") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "token for") {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// A server that says nothing is waited for only as long as the context, or the time for
// the login, lasts.
func TestSQLServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	source := testenv.Must(OpenSQL(datasource.Spec{Connection: "Server=" + strings.Replace(listener.Addr().String(), ":", ",", 1) + ";User ID=reader;Password=hunter2;Connection Timeout=1", Query: "SELECT 1"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-accepted
		cancel()
	}()
	if _, err := source.Query(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "within 1s") {
		t.Errorf("%v", err)
	}
	_ = listener.Close()
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// Without a token the query fails and no login is attempted.
func TestSQLServerWithoutToken(t *testing.T) {
	t.Parallel()
	s := serve(t, tds.Config{})
	source := s.source(t, kinds[3], "SELECT id")
	source.spec.Credential = refusing{}
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "no token for https://contoso.crm4.dynamics.com/.default: not today") || len(s.Logins()) != 0 {
		t.Errorf("%v", err)
	}
}
