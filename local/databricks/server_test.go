package databricks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

const house = "abc123"

// start runs a workspace that gives one result, with a clock that is moved by hand.
func start(t *testing.T, result Result) (*Server, *atomic.Int64) {
	t.Helper()
	var clock atomic.Int64
	clock.Store(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	s := testenv.Must(Start(t.Context(), Config{
		Warehouses: []string{house},
		Run:        func(Query) Result { return result },
		Now:        func() time.Time { return time.Unix(0, clock.Load()) },
		VerifyToken: func(token string) error {
			if token != "good" {
				return errors.New("bad")
			}
			return nil
		},
	}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &clock
}

func call(t *testing.T, method, url, body string, header ...string) (status int, answer string) {
	t.Helper()
	req := testenv.Must(http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body))))(t)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp := testenv.Must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	b := testenv.Must(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(b)
}

func execute(t *testing.T, s *Server, fields string) string {
	t.Helper()
	status, answer := call(t, "POST", s.URL()+path, `{"statement":"SELECT 1","warehouse_id":"`+house+`"`+fields+`}`, "Authorization", "Bearer good")
	if status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	return answer
}

func get(t *testing.T, s *Server, rest string) string {
	t.Helper()
	status, answer := call(t, "GET", s.URL()+path+rest, "", "Authorization", "Bearer good")
	if status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	return answer
}

var table = Result{
	Columns:   []Column{{Name: "a", Type: "STRING"}, {Name: "b", Type: "LONG", Text: "BIGINT"}},
	Rows:      [][]any{{"x", "1"}, {"y", nil}, {"z", "3"}},
	ChunkRows: 2,
}

const manifest = `"manifest":{"chunks":[{"chunk_index":0,"row_count":2,"row_offset":0},{"chunk_index":1,"row_count":1,"row_offset":2}],` +
	`"format":"JSON_ARRAY","schema":{"column_count":2,"columns":[{"name":"a","position":0,"type_name":"STRING","type_text":"STRING"},` +
	`{"name":"b","position":1,"type_name":"LONG","type_text":"BIGINT"}]},"total_chunk_count":2,"total_row_count":3,"truncated":false}`

// Without other wishes the result comes inside the answers, chunk after chunk.
func TestInline(t *testing.T) {
	t.Parallel()
	s, _ := start(t, table)
	want := `{` + manifest + `,"result":{"chunk_index":0,"data_array":[["x","1"],["y",null]],"next_chunk_index":1,` +
		`"next_chunk_internal_link":"/api/2.0/sql/statements/01f0-0000000000000001/result/chunks/1","row_count":2,"row_offset":0},` +
		`"statement_id":"01f0-0000000000000001","status":{"state":"SUCCEEDED"}}`
	if got := execute(t, s, ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := get(t, s, "/01f0-0000000000000001/result/chunks/1"); got != `{"chunk_index":1,"data_array":[["z","3"]],"row_count":1,"row_offset":2}` {
		t.Error(got)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	slow := table
	slow.Pending, slow.Running = 1, 1
	s, _ := start(t, slow)
	if got := execute(t, s, `,"wait_timeout":"0s"`); got != `{"statement_id":"01f0-0000000000000001","status":{"state":"PENDING"}}` {
		t.Error(got)
	}
	for _, want := range []string{"PENDING", "RUNNING", "SUCCEEDED", "SUCCEEDED"} {
		if got := get(t, s, "/01f0-0000000000000001"); !strings.Contains(got, `"state":"`+want+`"`) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := execute(t, s, `,"wait_timeout":"10s","on_wait_timeout":"CANCEL"`); !strings.Contains(got, `"state":"CANCELED"`) {
		t.Error(got)
	}
	execute(t, s, `,"wait_timeout":"10s","on_wait_timeout":"CONTINUE"`)
	if status, got := call(t, "POST", s.URL()+path+"/01f0-0000000000000003/cancel", "", "Authorization", "Bearer good"); status != 200 || got != "{}" {
		t.Error(status, got)
	}
	if got := fmt.Sprint(s.States()); got != "map[01f0-0000000000000001:SUCCEEDED 01f0-0000000000000002:CANCELED 01f0-0000000000000003:CANCELED]" {
		t.Error(got)
	}
	// What has succeeded stays so.
	call(t, "POST", s.URL()+path+"/01f0-0000000000000001/cancel", "", "Authorization", "Bearer good")
	if got := s.States()["01f0-0000000000000001"]; got != "SUCCEEDED" {
		t.Error(got)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Result{Error: &Error{Code: "BAD_REQUEST", Message: "no table", SQLState: "42P01"}})
	if got := execute(t, s, ""); !strings.Contains(got, `"status":{"error":{"error_code":"BAD_REQUEST","message":"no table"},"sql_state":"42P01","state":"FAILED"}`) {
		t.Error(got)
	}
	s, _ = start(t, Result{Closed: true})
	if got := execute(t, s, ""); !strings.Contains(got, `"status":{"state":"CLOSED"}`) {
		t.Error(got)
	}
	s, _ = start(t, Result{Columns: table.Columns})
	if got := execute(t, s, ""); !strings.Contains(got, `"total_chunk_count":0,"total_row_count":0`) || strings.Contains(got, `"chunks"`) || !strings.Contains(got, `"result":{}`) {
		t.Error(got)
	}
	s, _ = start(t, table)
	if got := execute(t, s, `,"row_limit":2`); !strings.Contains(got, `"total_row_count":2,"truncated":true`) {
		t.Error(got)
	}
	closing := table
	closing.ClosesAtEnd = true
	s, _ = start(t, closing)
	execute(t, s, "")
	get(t, s, "/01f0-0000000000000001")
	get(t, s, "/01f0-0000000000000001/result/chunks/1")
	for _, rest := range []string{"", "/result/chunks/1"} {
		if status, got := call(t, "GET", s.URL()+path+"/01f0-0000000000000001"+rest, "", "Authorization", "Bearer good"); status != 404 {
			t.Error(status, got)
		}
	}
	large := Result{Columns: table.Columns[:1], Rows: [][]any{{strings.Repeat("x", maxInline+1)}}}
	s, _ = start(t, large)
	if got := execute(t, s, ""); !strings.Contains(got, `"state":"FAILED"`) {
		t.Error(got[:200])
	}
	if got := execute(t, s, `,"disposition":"EXTERNAL_LINKS"`); !strings.Contains(got, `"state":"SUCCEEDED"`) {
		t.Error(got)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	guarded := table
	guarded.LinkHeaders = map[string]string{"X-Key": "k"}
	s, clock := start(t, guarded)
	link := func() string {
		var answer struct {
			Links []struct {
				Address    string            `json:"external_link"`
				Expiration time.Time         `json:"expiration"`
				Headers    map[string]string `json:"http_headers"`
				Next       *int              `json:"next_chunk_index"`
			} `json:"external_links"`
		}
		if err := json.Unmarshal([]byte(get(t, s, "/01f0-0000000000000001/result/chunks/0")), &answer); err != nil {
			t.Fatal(err)
		}
		l := answer.Links[0]
		if !l.Expiration.Equal(time.Unix(0, clock.Load()).Add(15*time.Minute)) || l.Headers["X-Key"] != "k" || l.Next == nil || !strings.HasPrefix(l.Address, s.LinkURL()) {
			t.Errorf("link %+v", l)
		}
		return l.Address
	}
	execute(t, s, `,"disposition":"EXTERNAL_LINKS"`)
	good := link()
	want := func(status int, body, address string, header ...string) {
		t.Helper()
		if got, answer := call(t, "GET", address, "", header...); got != status || !strings.Contains(answer, body) {
			t.Errorf("%d %s, want %d %s", got, answer, status, body)
		}
	}
	want(200, `[["x","1"],["y",null]]`, good, "X-Key", "k")
	want(200, `[["x","1"],["y",null]]`, good, "X-Key", "k")
	want(400, "MissingRequiredHeader", good)
	want(400, "InvalidAuthenticationInfo", good, "X-Key", "k", "Authorization", "Bearer good")
	want(403, "AuthenticationFailed", strings.Replace(good, "/0?", "/1?", 1), "X-Key", "k")
	want(403, "AuthenticationFailed", good+"x", "X-Key", "k")
	want(404, "BlobNotFound", s.LinkURL()+"/results/other/0")
	clock.Add(int64(15 * time.Minute))
	want(403, "AuthenticationFailed", good, "X-Key", "k")
	again := link()
	want(200, "x", again, "X-Key", "k")
	s.ExpireLinks()
	want(403, "AuthenticationFailed", again, "X-Key", "k")
}

// Unknown requests are refused in the form of the API's errors.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, _ := start(t, table)
	signedIn := []string{"Authorization", "Bearer good"}
	body := func(fields string) string { return `{"statement":"SELECT 1","warehouse_id":"abc123"` + fields + `}` }
	for _, tt := range []struct {
		method, path, body string
		header             []string
		status             int
		want               string
	}{
		{"POST", path, body(""), nil, 401, `{"error_code":401,"message":"Credential was not sent`},
		{"POST", path, body(""), []string{"Authorization", "Bearer bad"}, 401, "Invalid access token."},
		{"POST", path, body(""), []string{"Authorization", "Basic good"}, 401, "Credential was not sent"},
		{"POST", path, `{"statement":"SELECT 1","warehouse_id":"other"}`, signedIn, 404, `{"error_code":"RESOURCE_DOES_NOT_EXIST"`},
		{"POST", path, `{"warehouse_id":"abc123"}`, signedIn, 400, "statement is required"},
		{"POST", path, `{"statement":"SELECT 1"}`, signedIn, 400, "warehouse_id is required"},
		{"POST", path, body(`,"parameters":[]`), signedIn, 400, `unknown field`},
		{"POST", path, body(`,"byte_limit":1`), signedIn, 400, `unknown field`},
		{"POST", path, body(`,"format":"ARROW_STREAM"`), signedIn, 400, "format ARROW_STREAM"},
		{"POST", path, body(`,"disposition":"OTHER"`), signedIn, 400, "disposition"},
		{"POST", path, body(`,"wait_timeout":"4s"`), signedIn, 400, "wait_timeout"},
		{"POST", path, body(`,"wait_timeout":"51s"`), signedIn, 400, "wait_timeout"},
		{"POST", path, body(`,"on_wait_timeout":"WAIT"`), signedIn, 400, "on_wait_timeout"},
		{"POST", path, body(`,"row_limit":-1`), signedIn, 400, "row_limit"},
		{"POST", path, "{", signedIn, 400, "Could not parse request object"},
		{"GET", path + "/none", "", signedIn, 404, "The statement none was not found"},
		{"GET", path + "/none/result/chunks/0", "", signedIn, 404, "was not found"},
		{"POST", path + "/none/cancel", "", signedIn, 404, "was not found"},
		{"GET", "/api/2.0/sql/warehouses", "", signedIn, 404, "ENDPOINT_NOT_FOUND"},
	} {
		status, got := call(t, tt.method, s.URL()+tt.path, tt.body, tt.header...)
		if status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", tt.method, tt.path, tt.body, status, got, tt.status, tt.want)
		}
	}
	if states := s.States(); len(states) != 0 {
		t.Errorf("statements %v", states)
	}
	execute(t, s, "")
	for _, chunk := range []string{"2", "-1", "x"} {
		if status, got := call(t, "GET", s.URL()+path+"/01f0-0000000000000001/result/chunks/"+chunk, "", signedIn...); status != 400 || !strings.Contains(got, "out of range") {
			t.Errorf("chunk %s: %d %s", chunk, status, got)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	run := func(Query) Result { return Result{} }
	for want, c := range map[string]Config{
		"required":               {Run: run},
		"Run and Warehouses":     {Warehouses: []string{house}},
		"not a loopback address": {Run: run, Warehouses: []string{house}, Addr: "0.0.0.0:0"},
		"missing port":           {Run: run, Warehouses: []string{house}, LinkAddr: "127.0.0.1"},
	} {
		if _, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
