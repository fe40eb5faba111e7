package apiclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://api.example.org":            "https://api.example.org",
		"https://api.example.org/api/":       "https://api.example.org",
		" https://gateway.example.org/m/api": "https://gateway.example.org/m",
		"http://127.0.0.1:7071":              "http://127.0.0.1:7071",
		"http://[::1]:7071/":                 "http://[::1]:7071",
		"http://localhost:7071":              "http://localhost:7071",
		"http://api.example.org":             "",
		"http://127.0.0.1.example.org":       "",
		"api.example.org":                    "",
		"ftp://api.example.org":              "",
		"https://user:pw@api.example.org":    "",
		"https://api.example.org/?code=x":    "",
		"":                                   "",
	} {
		c, err := apiclient.New(apiclient.Config{BaseURL: address})
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", address, err)
			continue
		}
		if err == nil && c.URL() != want {
			t.Errorf("%q is %q, want %q", address, c.URL(), want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the password is in %v", address, err)
		}
	}
}

// server answers each request with the next of its answers, the last for ever.
func server(t *testing.T, answers ...func(w http.ResponseWriter)) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		i := int(n.Add(1))
		answers[min(i, len(answers))-1](w)
	}))
	t.Cleanup(s.Close)
	return s, &n
}

func answer(status int, media, body string, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", media)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func problem(status int, code string) func(http.ResponseWriter) {
	return answer(status, "application/problem+json", fmt.Sprintf(
		`{"type":"about:blank","title":"x","status":%d,"detail":"why","error":%q,"traceId":"t1","problems":[{"line":3,"message":"bad"}]}`, status, code))
}

// client gives a client that notes how long it waited and does not wait.
func client(t *testing.T, address string) (*apiclient.Client, *[]time.Duration) {
	t.Helper()
	waits := &[]time.Duration{}
	c, err := apiclient.New(apiclient.Config{
		BaseURL: address,
		Token:   func(context.Context) (string, error) { return "token", nil },
		Wait:    func(_ context.Context, d time.Duration) error { *waits = append(*waits, d); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, waits
}

// sending is a call to the API with whether it may be sent twice.
type sending struct {
	name       string
	repeatable bool
	call       func(context.Context, *apiclient.Client) error
	request    string // as it arrives
}

// calls is every call.
var calls = append(slices.Concat(controlCalls, automationCalls, versionCalls, workerCalls), []sending{
	{"Health", true, func(ctx context.Context, c *apiclient.Client) error { return c.Health(ctx) }, "GET /api/health"},
	{"PublishRunbook", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PublishRunbook(ctx, []byte("name: x"))
		return err
	}, "POST /api/runbooks"},
	{"PublishWith", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PublishWith(ctx, []byte("name: x"), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true, Strict: true, DryRun: true})
		return err
	}, "POST /api/runbooks?dryRun=true&overdueBehavior=rerun&rerunInit=true&strict=true"},
	{"Runbooks", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Runbooks(ctx, api.ListOptions{Limit: 5, Continuation: "a+b"})
		return err
	}, "GET /api/runbooks?continuationToken=a%2Bb&limit=5"},
	{"Runbook", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Runbook(ctx, "my moves%")
		return err
	}, "GET /api/runbooks/my%20moves%25"},
	{"CreateBatch", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.CreateBatch(ctx, "moves", []byte("Key\n"))
		return err
	}, "POST /api/batches"},
	{"StartPipeline", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.StartPipeline(ctx, "bundle", api.PipelineRequest{Owner: "octo"})
		return err
	}, `POST /api/pipelines/bundle/batches {"owner":"octo"}`},
	{"PipelineBatch", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PipelineBatch(ctx, "bundle", 7)
		return err
	}, "GET /api/pipelines/bundle/batches/7"},
	{"PipelineResult", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PipelineResult(ctx, "bundle", 7)
		return err
	}, "GET /api/pipelines/bundle/batches/7/result"},
	{"LatestResult", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.LatestResult(ctx, "bundle", "a/b")
		return err
	}, "GET /api/pipelines/bundle/result?owner=a%2Fb"},
	{"Batches", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Batches(ctx, api.ListOptions{Statuses: []string{"active", "completed"}, Runbook: "moves"})
		return err
	}, "GET /api/batches?runbook=moves&status=active%2Ccompleted"},
	{"Batch", true, func(ctx context.Context, c *apiclient.Client) error { _, err := c.Batch(ctx, 7); return err }, "GET /api/batches/7"},
	{"Members", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Members(ctx, 7, api.ListOptions{Statuses: []string{"failed"}, Sort: "-memberKey", Search: "ada@"})
		return err
	}, "GET /api/batches/7/members?search=ada%40&sort=-memberKey&status=failed"},
	{"Phases", true, func(ctx context.Context, c *apiclient.Client) error { _, err := c.Phases(ctx, 7); return err }, "GET /api/batches/7/phases"},
	{"Steps", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Steps(ctx, 7, api.ListOptions{Phase: "move", Member: 3})
		return err
	}, "GET /api/batches/7/steps?member=3&phase=move"},
	{"Advance", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Advance(ctx, 7, "cut-over", "")
		return err
	}, `POST /api/batches/7/advance {"phase":"cut-over"}`},
	{"BatchAudit", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.BatchAudit(ctx, 7, api.AuditFilter{Action: "advance"}, api.ListOptions{})
		return err
	}, "GET /api/batches/7/audit?action=advance"},
	{"RunbookAudit", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.RunbookAudit(ctx, "my moves", api.AuditFilter{By: "ada@contoso"}, api.ListOptions{Continuation: "t"})
		return err
	}, "GET /api/runbooks/my%20moves/audit?by=ada%40contoso&continuationToken=t"},
	{"MessageAudit", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.MessageAudit(ctx, api.AuditFilter{From: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))}, api.ListOptions{})
		return err
	}, "GET /api/messages/audit?from=2026-01-02T02%3A04%3A05.000006Z"},
	{"Audit", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Audit(ctx, api.AuditFilter{To: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, api.ListOptions{Limit: 1000})
		return err
	}, "GET /api/audit?limit=1000&to=2026-01-02T03%3A04%3A05Z"},
	{"UnprocessableMessages", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.UnprocessableMessages(ctx, api.ListOptions{Statuses: []string{"open"}, Topic: "worker-results"})
		return err
	}, "GET /api/messages/unprocessed?status=open&topic=worker-results"},
	{"UnprocessableMessage", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.UnprocessableMessage(ctx, "a/b")
		return err
	}, "GET /api/messages/unprocessed/a%2Fb"},
	{"Replay", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Replay(ctx, "abc", "")
		return err
	}, "POST /api/messages/unprocessed/abc/replay"},
	{"Discard", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Discard(ctx, "abc", `it is "bad"`)
		return err
	}, `POST /api/messages/unprocessed/abc/discard {"reason":"it is \"bad\""}`},
}...)

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range calls {
		var got, auth string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, auth = r.Method+" "+r.RequestURI, r.Header.Get("Authorization")
			if r.Header.Get("Content-Type") == "application/json" {
				body, _ := io.ReadAll(r.Body)
				got += " " + string(body)
			}
			answer(200, "application/json; charset=utf-8", "{}")(w)
		}))
		c, _ := client(t, s.URL+"/api")
		if err := tt.call(t.Context(), c); err != nil || got != tt.request {
			t.Errorf("%s sent %q (%v), want %q", tt.name, got, err, tt.request)
		}
		if want := map[bool]string{true: "", false: "Bearer token"}[tt.name == "Health"]; auth != want {
			t.Errorf("%s was signed %q, want %q", tt.name, auth, want)
		}
		s.Close()
	}
}

func TestAnOutageIsWaitedOutOnlyWhereNothingCanHappenTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range calls {
		s, n := server(t, problem(503, "unavailable"), answer(502, "text/html", "<html>"), answer(200, "application/json", "{}"))
		c, waits := client(t, s.URL)
		err := tt.call(t.Context(), c)
		want, wantWaits := int32(1), []time.Duration{}
		if tt.repeatable {
			want, wantWaits = 3, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}
		}
		if (err == nil) != tt.repeatable || n.Load() != want || !reflect.DeepEqual(*waits, wantWaits) {
			t.Errorf("%s: %d requests, waits %v, %v", tt.name, n.Load(), *waits, err)
		}
	}
}

// A creating request is repeated with the same idempotency key after a lost answer; the
// next command has another key.
func TestWhatMakesSomethingIsCalledByOneKeyHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	makes := map[string]bool{"PublishRunbook": true, "PublishWith": true, "CreateBatch": true, "AddMembers": true, "Repair": true, "StartPipeline": true}
	seen := map[string]bool{}
	for _, tt := range calls {
		var keys []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			switch len(keys) {
			case 1:
				problem(503, "unavailable")(w)
			case 2:
				panic(http.ErrAbortHandler) // the connection breaks
			default:
				answer(200, "application/json", "{}")(w)
			}
		}))
		c, _ := client(t, s.URL)
		err := tt.call(t.Context(), c)
		s.Close()
		switch {
		case !makes[tt.name]:
			if slices.ContainsFunc(keys, func(key string) bool { return key != "" }) {
				t.Errorf("%s was sent with the keys %q", tt.name, keys)
			}
		case err != nil || len(keys) != 3 || keys[0] == "" || keys[1] != keys[0] || keys[2] != keys[0] || seen[keys[0]]:
			t.Errorf("%s was sent with the keys %q, %v", tt.name, keys, err)
		default:
			seen[keys[0]] = true
		}
	}
	if len(seen) != len(makes) {
		t.Errorf("%d of %d have a key", len(seen), len(makes))
	}
}

func TestARefusedConnectionIsTriedAgainByEveryCall(t *testing.T) {
	t.Parallel()
	address := "http://" + refusing(t)
	for _, tt := range calls {
		c, waits := client(t, address)
		err := tt.call(t.Context(), c)
		var e *apiclient.Error
		if !errors.As(err, &e) || e.Code != apiclient.CodeUnreachable || !e.Temporary() || len(*waits) != 5 {
			t.Errorf("%s: %d waits, %v", tt.name, len(*waits), err)
		}
	}
}

// refusing is an address at which connections are refused. It is this end of a
// connection, so that no other server can take the port meanwhile.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	end, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = end.Close() })
	return end.LocalAddr().String()
}

func TestRetryAfterIsHeededWithinReason(t *testing.T) {
	t.Parallel()
	busy := answer(503, "text/plain", "", "Retry-After", "3")
	s, _ := server(t, busy, answer(503, "text/plain", "", "Retry-After", "3600"), answer(503, "text/plain", "", "Retry-After", "-1"), answer(200, "application/json", "{}"))
	c, waits := client(t, s.URL)
	if _, err := c.Batch(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{3 * time.Second, 10 * time.Second, 800 * time.Millisecond}; !reflect.DeepEqual(*waits, want) {
		t.Errorf("waits %v, want %v", *waits, want)
	}
}

// A request refused with 429 was not carried out: the client repeats it, also when it is not idempotent.
func TestTooManyRequestsAreWaitedOut(t *testing.T) {
	t.Parallel()
	s, _ := server(t, answer(429, "application/problem+json", `{"error":"too_many_requests"}`, "Retry-After", "2"), answer(202, "application/json", "{}"))
	c, waits := client(t, s.URL)
	if _, err := c.Repair(t.Context(), 1, api.Repair{}); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{2 * time.Second}; !reflect.DeepEqual(*waits, want) {
		t.Errorf("waits %v, want %v", *waits, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   apiclient.Error
	}{
		{"a problem document", problem(422, "invalid"), apiclient.Error{Status: 422, Code: "invalid", Detail: "why", TraceID: "t1", Problems: []api.InputProblem{{Line: 3, Message: "bad"}}}},
		{"an error of something else", answer(404, "text/html", "<html>"), apiclient.Error{Status: 404, Code: apiclient.CodeNotTheAPI, Detail: "URL answered 404 Not Found, but not as the admin API does"}},
		{"a problem document cut off", answer(400, "application/problem+json", `{"error":`), apiclient.Error{Status: 400, Code: apiclient.CodeNotTheAPI, Detail: "URL answered 400 Bad Request, but not as the admin API does"}},
		{"a body replaced by a gateway", answer(500, "text/html", "<html>", "X-Trace-Id", "4bf9"), apiclient.Error{Status: 500, Code: apiclient.CodeNotTheAPI, TraceID: "4bf9", Detail: "URL answered 500 Internal Server Error, but not as the admin API does"}},
		{"a sign-in page", answer(302, "text/html", "", "Location", "https://login.example.org"), apiclient.Error{Status: 302, Code: apiclient.CodeNotTheAPI, Detail: "URL answered 302 Found, but not as the admin API does; it redirects"}},
		{"a page", answer(200, "text/html", "<html>"), apiclient.Error{Status: 200, Code: apiclient.CodeNotTheAPI, Detail: "URL answered, but not as the admin API does"}},
	} {
		s, n := server(t, tt.answer)
		c, _ := client(t, s.URL)
		_, err := c.Batch(t.Context(), 1)
		var e *apiclient.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := *e
		got.Detail = strings.ReplaceAll(got.Detail, s.URL, "URL")
		if !reflect.DeepEqual(got, tt.want) || n.Load() != 1 {
			t.Errorf("%s: %+v after %d requests, want %+v", tt.name, got, n.Load(), tt.want)
		}
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, n := server(t, problem(503, "unavailable"))
	ctx, cancel := context.WithCancel(t.Context())
	c, err := apiclient.New(apiclient.Config{BaseURL: s.URL, Wait: func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Batch(ctx, 1); err == nil || n.Load() != 1 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

func TestWithoutATokenNothingIsSent(t *testing.T) {
	t.Parallel()
	s, n := server(t, answer(200, "application/json", "{}"))
	missing := errors.New("nobody signed in")
	c, err := apiclient.New(apiclient.Config{BaseURL: s.URL, Token: func(context.Context) (string, error) { return "", missing }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Batch(t.Context(), 1); !errors.Is(err, missing) || n.Load() != 0 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

func TestTemplateIsCSV(t *testing.T) {
	t.Parallel()
	s, _ := server(t, answer(200, "text/csv; charset=utf-8", "Key\r\n"), answer(200, "text/html", "<html>"))
	c, _ := client(t, s.URL)
	if csv, err := c.Template(t.Context(), "moves", ""); err != nil || string(csv) != "Key\r\n" {
		t.Errorf("%q, %v", csv, err)
	}
	if _, err := c.Template(t.Context(), "moves", ""); err == nil {
		t.Error("a page passed for a template")
	}
}
