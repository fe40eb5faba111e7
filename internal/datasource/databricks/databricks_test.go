package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
	server "github.com/matoolkit/matoolkit/local/databricks"
)

const (
	warehouseOne = "1234567890abcdef"
	token        = "token-for-databricks-only"
)

// credential gives the token, for the right scope only.
type credential struct{ err error }

func (c credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if c.err != nil {
		return azcore.AccessToken{}, c.err
	}
	if !slices.Equal(o.Scopes, []string{"2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default"}) {
		return azcore.AccessToken{}, fmt.Errorf("a token was asked for %q", o.Scopes)
	}
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// hasty is a tuning that waits for nothing but the context.
func hasty() tuning {
	t := patient
	t.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.retry.RetryDelay = time.Microsecond
	return t
}

// start runs a workspace in which every statement gives one result.
func start(t testenv.T, result server.Result) *server.Server {
	t.Helper()
	return testenv.Started(server.Start(context.Background(), server.Config{
		Warehouses: []string{warehouseOne},
		VerifyToken: func(got string) error {
			if got != token {
				return errors.New("another token")
			}
			return nil
		},
		Run: func(server.Query) server.Result { return result },
	}))(t)
}

func spec(s *server.Server) datasource.Spec {
	return datasource.Spec{Connection: s.URL(), Warehouse: warehouseOne, Query: "SELECT * FROM people", Credential: credential{}}
}

func openAt(t *testing.T, s *server.Server) datasource.Source {
	t.Helper()
	return testenv.Must(open(spec(s), hasty()))(t)
}

// read gives all rows of a source, each as one line of JSON.
func read(ctx context.Context, source datasource.Source) (lines []string, err error) {
	rows, err := source.Query(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		values, err := rows.Next(ctx)
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		line, err := json.Marshal(values)
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

// people is a result of n rows, and what reading it gives.
func people(n, chunkRows int) (r server.Result, want []string) {
	r.Columns = []server.Column{{Name: "Mail", Type: "STRING"}, {Name: "Number", Type: "LONG", Text: "BIGINT"}}
	r.ChunkRows = chunkRows
	for i := range n {
		r.Rows = append(r.Rows, []any{fmt.Sprintf("user%d@contoso.com", i), fmt.Sprint(i)})
		want = append(want, fmt.Sprintf(`["user%d@contoso.com",%d]`, i, i))
	}
	return r, want
}

func TestContract(t *testing.T) {
	t.Parallel()
	table := func(columns []string, rows [][]string) server.Result {
		r := server.Result{ChunkRows: 700, Pending: 1, Running: 1}
		for _, name := range columns {
			r.Columns = append(r.Columns, server.Column{Name: name, Type: "STRING"})
		}
		for _, row := range rows {
			values := make([]any, len(row))
			for i, text := range row {
				values[i] = text
			}
			r.Rows = append(r.Rows, values)
		}
		return r
	}
	datasourcetest.Run(t, datasourcetest.Kind{
		Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
			return openAt(t, start(t, table(columns, rows)))
		},
		Endless: func(t *testing.T) datasource.Source {
			s := start(t, table([]string{"Id"}, [][]string{{"a"}, {"b"}, {"c"}}))
			s.Inject(server.Fault{On: []server.Operation{server.Download}, Stall: len(`[["a"],`)})
			return openAt(t, s)
		},
	})
}

// The request is the one that the API describes, each chunk is fetched once, and no
// token goes to the storage.
func TestRequests(t *testing.T) {
	t.Parallel()
	result, want := people(25, 10)
	result.Pending, result.Running = 2, 3
	result.LinkHeaders = map[string]string{"x-ms-encryption-key": "secret of the link"}
	s := start(t, result)
	got, err := read(t.Context(), openAt(t, s))
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q, %v", got, err)
	}
	var asked []string
	for _, r := range s.Requests() {
		asked = append(asked, fmt.Sprintf("%s%d%t", r.Operation, r.Chunk, r.Authorized))
	}
	polls := slices.Repeat([]string{"Get0true"}, 6)
	if want := slices.Concat([]string{"Execute0true"}, polls, []string{
		"Download0false", "Chunk1true", "Download1false", "Chunk2true", "Download2false",
	}); !slices.Equal(asked, want) {
		t.Errorf("asked %q\nwant  %q", asked, want)
	}
	body := `{"statement":"SELECT * FROM people","warehouse_id":"1234567890abcdef","disposition":"EXTERNAL_LINKS","format":"JSON_ARRAY","wait_timeout":"0s"}`
	if got := s.Requests(server.Execute)[0].Body; got != body {
		t.Errorf("body %s", got)
	}
}

// The pauses between two looks at a statement grow up to a bound.
func TestPauses(t *testing.T) {
	t.Parallel()
	result, _ := people(1, 0)
	result.Running = 9
	s := start(t, result)
	h := hasty()
	var pauses []time.Duration
	h.wait = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}
	source := testenv.Must(open(spec(s), h))(t)
	if _, err := read(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(pauses); got != "[100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s 5s 5s]" {
		t.Error(got)
	}
}

// outOfTime is a context whose cancellation looks like an expired deadline.
type outOfTime struct{ context.Context }

func (o outOfTime) Err() error {
	if o.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// Whenever the context of the query ends, the statement does not go on.
func TestCancelled(t *testing.T) {
	t.Parallel()
	result, _ := people(3, 0)
	result.Pending, result.Running = 2, 1<<30
	for name, op := range map[string]server.Operation{"while it is sent": server.Execute, "while it runs": server.Get} {
		for _, reason := range []error{context.Canceled, context.DeadlineExceeded} {
			t.Run(fmt.Sprintf("%s/%v", name, reason), func(t *testing.T) {
				t.Parallel()
				s := start(t, result)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if reason == context.DeadlineExceeded {
					ctx = outOfTime{ctx}
				}
				// The answer is on its way when the context ends.
				s.Inject(server.Fault{On: []server.Operation{op}, Skip: skipOf(op), Alter: func(map[string]any) { cancel() }})
				_, err := openAt(t, s).Query(ctx)
				if !errors.Is(err, reason) {
					t.Errorf("error %v", err)
				}
				if op == server.Get && !strings.Contains(err.Error(), "the statement was still RUNNING and was cancelled") {
					t.Errorf("error %v", err)
				}
				if n := len(s.Requests(server.Cancel)); n != 1 {
					t.Errorf("cancelled %d times", n)
				}
				for id, state := range s.States() {
					if state != "CANCELED" {
						t.Errorf("%s is %s", id, state)
					}
				}
			})
		}
	}
	// The workspace does not answer the cancel either: that is not waited for long.
	t.Run("nothing answers", func(t *testing.T) {
		t.Parallel()
		s := start(t, result)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.Inject(server.Fault{On: []server.Operation{server.Cancel}, Stall: 1})
		s.Inject(server.Fault{On: []server.Operation{server.Get}, Alter: func(map[string]any) { cancel() }})
		h := hasty()
		h.farewell = 300 * time.Millisecond
		source := testenv.Must(open(spec(s), h))(t)
		if _, err := source.Query(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if n := len(s.Requests(server.Cancel)); n == 0 {
			t.Error("it was not cancelled")
		}
	})
}

func skipOf(op server.Operation) int {
	if op == server.Get {
		return 4
	}
	return 0
}

// A failing request for the state leaves no statement running.
func TestFailedPollCancels(t *testing.T) {
	t.Parallel()
	result, _ := people(3, 0)
	result.Running = 1 << 30
	s := start(t, result)
	s.Inject(server.Fault{On: []server.Operation{server.Get}, Skip: 3, Status: 403, Message: "no more"})
	_, err := openAt(t, s).Query(t.Context())
	if err == nil || !strings.Contains(err.Error(), "403: PERMISSION_DENIED: no more. This identity lacks a right") {
		t.Errorf("error %v", err)
	}
	for id, state := range s.States() {
		if state != "CANCELED" {
			t.Errorf("%s is %s", id, state)
		}
	}
}

// Retry-After is obeyed, and one that is too long ends the query.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	result, want := people(3, 0)
	s := start(t, result)
	s.Inject(server.Fault{On: []server.Operation{server.Execute}, Count: 1, Status: 429, RetryAfter: "1"})
	got, err := read(t.Context(), openAt(t, s))
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q, %v", got, err)
	}
	sent := s.Requests(server.Execute)
	if len(sent) != 2 || sent[1].At.Sub(sent[0].At) < time.Second {
		t.Errorf("sent %v", sent)
	}
	s.Inject(server.Fault{On: []server.Operation{server.Execute}, Status: 429, RetryAfter: "3600"})
	if _, err := openAt(t, s).Query(t.Context()); err == nil || !strings.Contains(err.Error(), "429: RESOURCE_EXHAUSTED: Too Many Requests. The workspace gets too many requests") {
		t.Errorf("error %v", err)
	}
}

// A link that the storage does not take any more is asked for anew, also in the middle
// of the result. One that it takes is used again.
func TestLinksAgain(t *testing.T) {
	t.Parallel()
	result, want := people(30, 10)
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		s := start(t, result)
		rows, err := openAt(t, s).Query(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		s.ExpireLinks()
		for i := range want {
			values := testenv.Must(rows.Next(t.Context()))(t)
			if line, _ := json.Marshal(values); string(line) != want[i] {
				t.Fatalf("row %d is %s", i, line)
			}
		}
		if _, err := rows.Next(t.Context()); err != io.EOF {
			t.Error(err)
		}
	})
	t.Run("broken off", func(t *testing.T) {
		t.Parallel()
		closing := result
		closing.ClosesAtEnd = true
		s := start(t, closing)
		s.Inject(server.Fault{On: []server.Operation{server.Download}, Skip: 2, Count: 3, Cut: 100})
		got, err := read(t.Context(), openAt(t, s))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v", got, err)
		}
		if links, loads := len(s.Requests(server.Chunk)), len(s.Requests(server.Download)); links != 2 || loads != 6 {
			t.Errorf("%d links for %d downloads", links, loads)
		}
	})
	t.Run("again and again", func(t *testing.T) {
		t.Parallel()
		s := start(t, result)
		s.Inject(server.Fault{On: []server.Operation{server.Download}, Skip: 1, Status: 403})
		got, err := read(t.Context(), openAt(t, s))
		if err == nil || !strings.Contains(err.Error(), "chunk 2 of 3 of the result: the storage of the workspace answered 403") || len(got) != 10 {
			t.Errorf("%d rows, %v", len(got), err)
		}
	})
}

// 100,000 people in ten chunks.
func BenchmarkRead(b *testing.B) {
	result, want := people(100_000, 10_000)
	s := start(b, result)
	source, err := open(spec(s), hasty())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows, err := source.Query(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = rows.Next(b.Context())
		}
		if err != io.EOF || n-1 != len(want) {
			b.Fatal(n, err)
		}
	}
}
