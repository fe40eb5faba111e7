package datasource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// people is a runbook whose members are in the CSV file that PEOPLE names.
func people() *runbook.Runbook {
	return &runbook.Runbook{Name: "mailboxes", DataSource: runbook.DataSource{
		Type: runbook.SourceCSV, Connection: "PEOPLE", PrimaryKey: "Id", Timeout: time.Minute,
	}}
}

// reader reads CSV files. connection is the value of PEOPLE.
func reader(connection string) *datasource.Reader {
	return &datasource.Reader{
		Sources:  map[string]datasource.Open{runbook.SourceCSV: csvfile.Open},
		Settings: []string{"PEOPLE", "WAREHOUSE"},
		Getenv:   env(map[string]string{"PEOPLE": connection}),
	}
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// result is the result of a reading, one text a row.
type result struct {
	begun   int
	columns []string
	rows    []string
}

func (r *result) begin(columns []string) error {
	r.begun++
	r.columns = columns
	return nil
}

func (r *result) row(values []json.RawMessage) error {
	var b strings.Builder
	for _, v := range values {
		b.Write(v)
	}
	r.rows = append(r.rows, b.String())
	return nil
}

func TestRead(t *testing.T) {
	t.Parallel()
	var got result
	err := reader(" "+file(t, "Id,Mail\n1,a@x\n2,b@x\n")+"\n").Read(t.Context(), people(), got.begin, got.row)
	if err != nil || got.begun != 1 || !slices.Equal(got.columns, []string{"Id", "Mail"}) || !slices.Equal(got.rows, []string{`"1""a@x"`, `"2""b@x"`}) {
		t.Errorf("%+v, %v", got, err)
	}
	got = result{}
	if err := reader(file(t, "Id\n")).Read(t.Context(), people(), got.begin, got.row); err != nil || got.begun != 1 || got.rows != nil {
		t.Errorf("an empty result: %+v, %v", got, err)
	}
}

func TestReadUsesTheEnvironmentOfTheProcess(t *testing.T) {
	t.Setenv("PEOPLE", file(t, "Id\n1\n"))
	r := reader("")
	r.Getenv = nil
	var got result
	if err := r.Read(t.Context(), people(), got.begin, got.row); err != nil || len(got.rows) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// source is a source and a result that go wrong in ways that a file cannot.
type source struct {
	columns []string
	values  []json.RawMessage // of each row
	rows    int
	query   error
	end     error // after the rows; nil: io.EOF
	wait    bool  // for the end of the context, before the end
	closed  int
	spec    datasource.Spec
}

func (s *source) open(spec datasource.Spec) (datasource.Source, error) {
	s.spec = spec
	return s, nil
}

func (s *source) Query(context.Context) (datasource.Rows, error) {
	if s.query != nil {
		return nil, s.query
	}
	return s, nil
}

func (s *source) Columns() []string { return s.columns }

func (s *source) Next(ctx context.Context) ([]json.RawMessage, error) {
	if s.rows > 0 {
		s.rows--
		return s.values, nil
	}
	if s.wait {
		<-ctx.Done()
	}
	if s.end != nil {
		return nil, s.end
	}
	return nil, io.EOF
}

func (s *source) Close() error {
	s.closed++
	return errors.New("not said to anybody")
}

// fails reads s and expects an *Error that names the runbook, the type and says each
// of the words.
func fails(t *testing.T, ctx context.Context, r *datasource.Reader, rb *runbook.Runbook, words ...string) error {
	t.Helper()
	var got result
	err := r.Read(ctx, rb, got.begin, got.row)
	var e *datasource.Error
	if !errors.As(err, &e) || e.Runbook != rb.Name || e.Source != rb.DataSource.Type {
		t.Fatalf("%T: %v", err, err)
	}
	for _, w := range append(words, rb.Name, rb.DataSource.Type) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
	return err
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	fails(t, t.Context(), reader(" \n"), people(), "environment variable PEOPLE", "data_source.connection", "not set")
	fails(t, t.Context(), reader("@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/people)"), people(),
		"environment variable PEOPLE", "data_source.connection", "could not resolve")

	rb := people()
	rb.DataSource.Connection = ""
	fails(t, t.Context(), reader("the connection"), rb, "data_source.connection")

	rb = people()
	rb.DataSource.Connection = "PATH"
	r := reader("the connection")
	r.Getenv = nil // the process has PATH
	fails(t, t.Context(), r, rb, "data_source.connection: the setting PATH is not listed in DATA_SOURCES of the handler")
	rb = people()
	rb.DataSource.WarehouseID = "HOME"
	fails(t, t.Context(), reader("the connection"), rb, "data_source.warehouse_id: the setting HOME is not listed in DATA_SOURCES of the handler")

	rb = people()
	rb.DataSource.WarehouseID = "WAREHOUSE"
	r = reader("the connection")
	fails(t, t.Context(), r, rb, "environment variable WAREHOUSE", "data_source.warehouse_id")

	s := &source{columns: []string{"Id"}}
	r.Sources["csv"] = s.open
	r.Getenv = env(map[string]string{"PEOPLE": "the connection", "WAREHOUSE": "the warehouse"})
	rb.DataSource.Query = "SELECT 1"
	var got result
	if err := r.Read(t.Context(), rb, got.begin, got.row); err != nil || s.spec.Warehouse != "the warehouse" || s.spec.Connection != "the connection" || s.spec.Query != "SELECT 1" {
		t.Errorf("%v, opened with %+v", err, s.spec)
	}

	rb = people()
	rb.DataSource.Type = runbook.SourceSQL
	fails(t, t.Context(), reader("the connection"), rb, "use one of csv")

	fails(t, t.Context(), reader("ftp://contoso.com/people.csv"), people(), "PEOPLE", "ftp")
}

func TestReadRefusesColumns(t *testing.T) {
	t.Parallel()
	fails(t, t.Context(), reader(file(t, "Id,,Mail,Id, \n")), people(), "column 2 has no name", `columns 1 and 4 are both named "Id"`, "column 5 has no name")
	s := &source{}
	r := reader("the connection")
	r.Sources["csv"] = s.open
	fails(t, t.Context(), r, people(), "no columns")
	if s.closed != 1 {
		t.Errorf("closed %d times", s.closed)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	value := json.RawMessage(`"` + strings.Repeat("x", 8) + `"`) // 10 bytes
	tests := []struct {
		name   string
		limits datasource.Limits
		rows   int
		width  int
		says   []string // nil: it is read
		seen   int
	}{
		{"just as many rows", datasource.Limits{Rows: 5}, 5, 1, nil, 5},
		{"a row too many", datasource.Limits{Rows: 5}, 6, 1, []string{"more than 5 rows", "restrict the query"}, 5},
		{"a row just as long", datasource.Limits{RowBytes: 30}, 1, 3, nil, 1},
		{"a row too long", datasource.Limits{RowBytes: 29}, 1, 3, []string{"row 1", "30 bytes", "29", "remove columns"}, 0},
		{"just as many bytes", datasource.Limits{Bytes: 60}, 3, 2, nil, 3},
		{"a byte too many", datasource.Limits{Bytes: 59}, 3, 2, []string{"more than 59 bytes", "row 3"}, 2},
		{"the rows without limits of one's own", datasource.Limits{}, 100_001, 1, []string{"the result has more than 100000 rows"}, 100_000},
		{"the length of a row without limits of one's own", datasource.Limits{}, 1, 12_801, []string{"128010 bytes"}, 0},
		{"the length of a row in the handler", datasource.Limits{RowBytes: 1 << 20}, 1, 104_858, []string{"has 1048580 bytes; at most 1048576 are allowed"}, 0},
		{"the bytes without limits of one's own", datasource.Limits{}, 1000, 6_500, []string{"the result has more than 64000000 bytes"}, 984},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &source{columns: make([]string, tt.width), values: slices.Repeat([]json.RawMessage{value}, tt.width), rows: tt.rows}
			for i := range s.columns {
				s.columns[i] = fmt.Sprint("c", i)
			}
			r := reader("the connection")
			r.Sources["csv"], r.Limits = s.open, tt.limits
			seen := 0
			err := r.Read(t.Context(), people(), func([]string) error { return nil }, func([]json.RawMessage) error { seen++; return nil })
			if (err != nil) != (tt.says != nil) || seen != tt.seen || s.closed != 1 {
				t.Errorf("%d rows, closed %d times, %v", seen, s.closed, err)
			}
			for _, w := range tt.says {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q says nothing of %q", err, w)
				}
			}
		})
	}
}

func TestReadEnds(t *testing.T) {
	t.Parallel()
	broken := fmt.Errorf("the connection broke: %w", io.EOF)
	for name, s := range map[string]*source{
		"the query fails":          {query: broken},
		"the result breaks":        {columns: []string{"Id"}, values: []json.RawMessage{[]byte("1")}, rows: 3, end: broken},
		"a row of too many values": {columns: []string{"Id"}, values: []json.RawMessage{[]byte("1"), []byte("2")}, rows: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader("the connection")
			r.Sources["csv"] = s.open
			err := fails(t, t.Context(), r, people())
			if (s.end != nil || s.query != nil) && !errors.Is(err, io.EOF) {
				t.Errorf("%v does not wrap its cause", err)
			}
			if want := 1; s.query == nil && s.closed != want {
				t.Errorf("closed %d times", s.closed)
			}
		})
	}
}

// What begin and row say against is returned as they say it.
func TestReadIsEndedByItsCaller(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	s := &source{columns: []string{"Id"}, values: []json.RawMessage{[]byte("1")}, rows: 3}
	r := reader("the connection")
	r.Sources["csv"] = s.open
	var got result
	if err := r.Read(t.Context(), people(), func([]string) error { return enough }, got.row); err != enough || got.rows != nil || s.closed != 1 {
		t.Errorf("%v, %+v, closed %d times", err, got, s.closed)
	}
	if err := r.Read(t.Context(), people(), got.begin, func([]json.RawMessage) error { return enough }); err != enough || s.rows != 2 || s.closed != 2 {
		t.Errorf("%v, %d rows left, closed %d times", err, s.rows, s.closed)
	}
}

func TestQueryTakesTooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		end     error
		says    string
	}{
		{"the time of the runbook", 90 * time.Second, context.DeadlineExceeded, "longer than 1m30s; make it faster, or raise data_source.timeout (at most 8m)"},
		{"no time of its own", 0, context.DeadlineExceeded, "longer than 2m;"},
		{"a driver that says it was all", time.Minute, nil, "longer than 1m; make it faster, or raise data_source.timeout (at most 8m)"},
		{"a driver with words of its own", time.Minute, errors.New("interrupted (9)"), "longer than 1m; make it faster, or raise data_source.timeout (at most 8m) (error of the source: interrupted (9))"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &source{columns: []string{"Id"}, wait: true, end: tt.end}
				r := reader("the connection")
				r.Sources["csv"] = s.open
				rb := people()
				rb.DataSource.Timeout = tt.timeout
				began := time.Now()
				err := fails(t, t.Context(), r, rb, tt.says)
				want := tt.timeout
				if want == 0 {
					want = 2 * time.Minute
				}
				if took := time.Since(began); took != want || !errors.Is(err, context.DeadlineExceeded) || tt.end != nil && !errors.Is(err, tt.end) || s.closed != 1 {
					t.Errorf("after %v: %v; closed %d times", took, err, s.closed)
				}
			})
		})
	}
}

// The caller may have less time, or cancel: that is not the query's fault.
func TestReadIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, end := range []error{context.Canceled, errors.New("interrupted (9)")} {
		synctest.Test(t, func(t *testing.T) {
			s := &source{columns: []string{"Id"}, wait: true, end: end}
			r := reader("the connection")
			r.Sources["csv"] = s.open
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			err := fails(t, ctx, r, people(), "read ended", "context canceled")
			if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "longer") || s.closed != 1 {
				t.Errorf("%v; closed %d times", err, s.closed)
			}
		})
	}
}

// The time bounds what a real server takes, too: here one that never comes to an end.
func TestTimeoutOfARealAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "Id\n1\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	rb := people()
	rb.DataSource.Timeout = 50 * time.Millisecond
	err := fails(t, t.Context(), reader(server.URL+"/people.csv"), rb, "longer than 50ms")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// What a reading costs, a row of four columns at a time.
func BenchmarkRead(b *testing.B) {
	const rows = 100_000
	name := filepath.Join(b.TempDir(), "people.csv")
	content := "Id,Mail,Groups,Start\n" + strings.Repeat("somebody@contoso.com,Some Body,a;b;c,2026-03-01T18:00:00Z\n", rows)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	r := reader(name)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := r.Read(b.Context(), people(), func([]string) error { return nil }, func([]json.RawMessage) error { n++; return nil })
		if err != nil || n != rows {
			b.Fatalf("%d rows, %v", n, err)
		}
	}
}
