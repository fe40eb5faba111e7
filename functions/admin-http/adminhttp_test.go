package adminhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

const jsonMedia = "application/json"

// route is a good request, what it answers an administrator with, and the call it
// makes.
type route struct {
	request
	write  bool
	status int
	call   string
	body   string
}

// routes is every route.
func routes(t *testing.T) []route {
	media, csv := form(t, "runbook", "rb", "file", "Key\nu1\n")
	return append(slices.Concat(controlRoutes(t), automationRoutes(), versionRoutes(), workerRoutes(), auditRoutes(), pipelineRoutes()), []route{
		{
			request{"GET", "/api/runbooks?limit=5&continuationToken=t", "", "", ""},
			false, 200,
			"Runbooks {Limit:5 Continuation:t}", `{"items":[]}`,
		},
		{request{"GET", "/api/runbooks/my%20moves", "", "", ""}, false, 200, `Runbook "my moves"`, `"version":3`},
		{request{"POST", "/api/lint", "", jsonMedia, `{"name":"rb","yamlContent":"name: rb"}`}, false, 200, `Lint "rb" "name: rb"`, `{"findings":[]}`},
		{
			request{"POST", "/api/simulate", "", jsonMedia, `{"yamlContent":"name: rb","members":"Key\nu1\n","start":"2026-03-01T18:00:00Z","approve":true}`},
			false, 200, `Simulate "name: rb" "Key\nu1\n" 2026-03-01T18:00:00Z true`, `"runbook":"rb"`,
		},
		{request{"GET", "/api/runbooks/rb/template", "", "", ""}, false, 200, `CSVTemplate "rb" ""`, "Key,Mail\r\n"},
		{request{"GET", "/api/runbooks/rb/template?delimiter=semicolon", "", "", ""}, false, 200, `CSVTemplate "rb" "semicolon"`, "Key,Mail\r\n"},
		{
			request{"GET", "/api/batches?status=Active,completed,active&runbook=rb", "", "", ""},
			false, 200,
			"Batches {Statuses:[active completed] Runbook:rb}", `"continuationToken":"next"`,
		},
		{request{"GET", "/api/batches/7", "", "", ""}, false, 200, "Batch CALLER 7", `"id":7`},
		{request{"GET", "/api/find?text=Ada+L&limit=7", "", "", ""}, false, 200, `Find CALLER "Ada L" {Limit:7}`, `"items":[]`},
		{
			request{"GET", "/api/batches/7/members?status=failed&limit=1000&search=Ada%40&sort=-memberKey", "", "", ""},
			false, 200,
			"Members CALLER 7 {Limit:1000 Statuses:[failed] Sort:-memberKey Search:Ada@}", `{"items":[]}`,
		},
		{request{"GET", "/api/batches/7/errors", "", "", ""}, false, 200, "Errors CALLER 7", `{"groups":[],"members":3}`},
		{request{"GET", "/api/batches/7/steps/20000002000", "", "", ""}, false, 200, "Step CALLER 7 20000002000", `"id":20000002000`},
		{request{"GET", "/api/batches/7/phases", "", "", ""}, false, 200, "Phases CALLER 7", `{"items":[]}`},
		{request{"GET", "/api/batches/7/report", "", "", ""}, false, 200, "Report CALLER 7 csv", "the first, the second"},
		{request{"GET", "/api/batches/7/report?format=html", "", "", ""}, false, 200, "Report CALLER 7 html", "the first, the second"},
		{
			request{"GET", "/api/batches/7/steps?phase=move&member=9&status=failed", "", "", ""},
			false, 200,
			"Steps CALLER 7 {Statuses:[failed] Phase:move Member:9}", `{"items":[]}`,
		},
		{
			request{"GET", "/api/batches/7/checks?member=9&status=failed", "", "", ""},
			false, 200,
			"Checks CALLER 7 {Statuses:[failed] Member:9}", `{"items":[]}`,
		},
		{
			request{"POST", "/api/runbooks", "", jsonMedia, `{"name":"rb","yamlContent":"name: rb"}`},
			true, 201,
			`PublishRunbook avery@contoso "rb" "name: rb" {Overdue: RerunInit:false Strict:false DryRun:false}`, `"version":1`,
		},
		{
			request{"POST", "/api/runbooks", "", jsonMedia, `{"yamlContent":"x","overdueBehavior":"rerun","rerunInit":true}`},
			true, 201,
			`PublishRunbook avery@contoso "" "x" {Overdue:rerun RerunInit:true Strict:false DryRun:false}`, `"version":1`,
		},
		{
			request{"POST", "/api/runbooks", "", "application/yaml; charset=UTF-8", "name: rb"},
			true, 201,
			`PublishRunbook avery@contoso "" "name: rb" {Overdue: RerunInit:false Strict:false DryRun:false}`, `"version":1`,
		},
		{
			request{"POST", "/api/runbooks", "", "application/yaml", "same"},
			true, 200,
			`PublishRunbook avery@contoso "" "same" {Overdue: RerunInit:false Strict:false DryRun:false}`, `"unchanged":true`,
		},
		{
			request{"POST", "/api/runbooks?overdueBehavior=rerun&rerunInit=true", "", "application/yaml", "name: rb"},
			true, 201,
			`PublishRunbook avery@contoso "" "name: rb" {Overdue:rerun RerunInit:true Strict:false DryRun:false}`, `"version":1`,
		},
		{
			request{"POST", "/api/runbooks?strict=true&dryRun=true", "", "application/yaml", "name: rb"},
			true, 200,
			`PublishRunbook avery@contoso "" "name: rb" {Overdue: RerunInit:false Strict:true DryRun:true}`, `"dryRun":true`,
		},
		{
			request{"POST", "/api/runbooks", "", jsonMedia, `{"yamlContent":"x","strict":true,"dryRun":true}`},
			true, 200,
			`PublishRunbook avery@contoso "" "x" {Overdue: RerunInit:false Strict:true DryRun:true}`, `"dryRun":true`,
		},
		{
			request{"POST", "/api/runbooks?rerunInit=false", "", "application/yaml", "name: rb"},
			true, 201,
			`PublishRunbook avery@contoso "" "name: rb" {Overdue: RerunInit:false Strict:false DryRun:false}`, `"version":1`,
		},
		{request{"POST", "/api/batches", "", media, csv}, true, 201, `CreateBatch avery@contoso "rb" "Key\nu1\n"`, `"id":42`},
		{request{"POST", "/api/batches/7/advance", "", jsonMedia, `{"phase":"move"}`}, true, 202, `Advance avery@contoso 7 move []`, `"advanced":"move"`},
		{request{"POST", "/api/batches?allowInOtherBatches=true", "", media, csv}, true, 201, `CreateBatch avery@contoso "rb" "Key\nu1\n" in other batches`, `"id":42`},
		{request{"POST", "/api/batches?delimiter=semicolon", "", media, csv}, true, 201, `CreateBatch avery@contoso "rb" "Key\nu1\n" by semicolon`, `"id":42`},
		{request{"POST", "/api/batches?dryRun=true&allowInOtherBatches=true&delimiter=tab", "", media, csv}, true, 200, `CheckBatch "rb" "Key\nu1\n" in other batches by tab`, `"dryRun":true`},
		{
			request{"GET", "/api/messages/unprocessed?status=Replayed&topic=worker-results&limit=2", "", "", ""},
			false, 200,
			"UnprocessableMessages {Limit:2 Statuses:[replayed] Topic:worker-results}", `{"items":[]}`,
		},
		{request{"GET", "/api/messages/unprocessed/abc", "", "", ""}, true, 200, `UnprocessableMessage CALLER "abc"`, `"body":{"a":1}`},
		{request{"GET", "/api/notifications", "", "", ""}, false, 200, "NotificationRules", `{"items":[]}`},
		{request{"GET", "/api/notifications/a", "", "", ""}, false, 200, `NotificationRule "a"`, `"name":"a"`},
		{request{"GET", "/api/notifications/a/deliveries?limit=2", "", "", ""}, false, 200, `NotificationDeliveries "a" {Limit:2}`, `{"items":[]}`},
		{request{"POST", "/api/notifications", "", jsonMedia, `{"name":"a","events":["failures"]}`}, true, 200, `AddNotificationRule avery@contoso "a" ["failures"]`, `"name":"a"`},
		{request{"POST", "/api/notifications", "", jsonMedia, `{"name":"same"}`}, true, 200, `AddNotificationRule avery@contoso "same" []`, `"unchanged":true`},
		{request{"POST", "/api/notifications/a/test", "", "", ""}, true, 200, `TestNotificationRule avery@contoso "a"`, `"status":"sent"`},
		{request{"DELETE", "/api/notifications/a?reason=closed", "", "", ""}, true, 200, `RemoveNotificationRule avery@contoso "a" "closed"`, `"name":"a"`},
		{request{"POST", "/api/messages/unprocessed/abc/replay", "", "", ""}, true, 202, `Replay avery@contoso "abc" ""`, `"status":"replayed"`},
		{
			request{"POST", "/api/messages/unprocessed/abc/replay", "", jsonMedia, `{"reason":"fixed"}`},
			true, 202,
			`Replay avery@contoso "abc" "fixed"`, `"status":"replayed"`,
		},
		{
			request{"POST", "/api/messages/unprocessed/abc/discard", "", jsonMedia, `{"reason":"a test"}`},
			true, 200,
			`Discard avery@contoso "abc" "a test"`, `"status":"discarded"`,
		},
	}...)
}

func TestRoutesByRole(t *testing.T) {
	t.Parallel()
	for _, route := range routes(t) {
		for _, caller := range []struct {
			token  string
			status int // 0: as the route says
		}{{"", 401}, {"bad", 401}, {"none", 0}, {"reader", 0}, {"admin", 0}} {
			want := route.status
			if caller.status != 0 {
				want = caller.status
			} else if route.write && caller.token != "admin" {
				want = 403
			}
			t.Run(fmt.Sprintf("%s %s as %q", route.method, route.path, caller.token), func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				r := route.request
				r.token = caller.token
				w := f.send(r)
				if w.Code != want {
					t.Fatalf("status %d, want %d: %s", w.Code, want, w.Body)
				}
				if want >= 400 {
					readProblem(t, w)
					if f.app.calls != nil {
						t.Errorf("a refused request reached %q", f.app.calls)
					}
					if (want == 401) != (w.Header().Get("WWW-Authenticate") != "") {
						t.Errorf("WWW-Authenticate is %q", w.Header().Get("WWW-Authenticate"))
					}
					return
				}
				call := strings.Replace(route.call, "CALLER", names[caller.token], 1)
				if !reflect.DeepEqual(f.app.calls, []string{call}) {
					t.Errorf("calls %q, want %q", f.app.calls, call)
				}
				if !strings.Contains(w.Body.String(), route.body) {
					t.Errorf("body %s has no %s", w.Body, route.body)
				}
				if w.Header().Get("Cache-Control") != "no-store" {
					t.Error("the answer may be cached")
				}
			})
		}
	}
}

func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture()
	media, csv := form(t, "file", "Key\n", "runbook", "rb")
	for _, tt := range []struct {
		request
		header, want string
	}{
		{request{"POST", "/api/runbooks", "admin", "application/yaml", "x"}, "Location", "/api/runbooks/a%20b"},
		{request{"POST", "/api/batches", "admin", media, csv}, "Location", "/api/batches/42"},
		{request{"GET", "/api/runbooks/moves/template", "admin", "", ""}, "Content-Type", "text/csv; charset=utf-8"},
		{request{"GET", "/api/runbooks/moves/template", "admin", "", ""}, "Content-Disposition", "attachment; filename=moves-template.csv"},
		{request{"GET", "/api/runbooks/m%C3%BCnchen/template", "admin", "", ""}, "Content-Disposition", "attachment; filename*=utf-8''m%C3%BCnchen-template.csv"},
		{request{"DELETE", "/api/batches", "admin", "", ""}, "Allow", "GET, HEAD, POST"},
		{request{"GET", "/api/batches/7/report", "reader", "", ""}, "Content-Type", "text/csv; charset=utf-8"},
		{request{"GET", "/api/batches/7/report?format=html", "reader", "", ""}, "Content-Disposition", "attachment; filename=batch-7.html"},
	} {
		if got := f.send(tt.request).Header().Get(tt.header); got != tt.want {
			t.Errorf("%s %s: %s is %q, want %q", tt.method, tt.path, tt.header, got, tt.want)
		}
	}
}

// readProblem reads a problem document and checks what every one has.
func readProblem(t *testing.T, w *httptest.ResponseRecorder) api.Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d with content type %q: %s", w.Code, got, w.Body)
	}
	var p api.Problem
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatal(err)
	}
	if p.Type != "about:blank" || p.Title != http.StatusText(w.Code) || p.Status != w.Code || p.Detail == "" || p.Error == "" ||
		len(p.TraceID) != 32 || p.TraceID != w.Header().Get("X-Trace-Id") {
		t.Fatalf("problem %+v", p)
	}
	return p
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 101)
	upload := func(parts ...string) request {
		media, body := form(t, parts...)
		return request{"POST", "/api/batches", "admin", media, body}
	}
	broken := upload("runbook", "rb", "file", "Key\n")
	broken.body = broken.body[:len(broken.body)-10]
	runbook := func(media, body string) request { return request{"POST", "/api/runbooks", "admin", media, body} }
	get := func(path string) request { return request{"GET", path, "reader", "", ""} }

	tests := []struct {
		name string
		request
		status int
		code   string
		says   string
	}{
		{"no such address", get("/api/nothing"), 404, "not_found", "no such route"},
		{"a slash too many", get("/api/batches/"), 404, "not_found", ""},
		{"outside the API", get("/"), 404, "not_found", ""},
		{"method", request{"DELETE", "/api/batches/7", "admin", "", ""}, 405, "method_not_allowed", "use GET"},
		{"batch that is no number", get("/api/batches/seven"), 404, "not_found", "number"},
		{"batch 0", get("/api/batches/0"), 404, "not_found", ""},
		{"batch 07", get("/api/batches/07"), 404, "not_found", ""},
		{"batch +7", get("/api/batches/+7/phases"), 404, "not_found", ""},
		{"batch beyond any", get("/api/batches/2147483648/members"), 404, "not_found", ""},
		{"runbook name too long", get("/api/runbooks/" + long), 404, "not_found", "at most 100 bytes"},
		{"runbook name not UTF-8", get("/api/runbooks/%ff"), 404, "not_found", ""},
		{"unknown parameter", get("/api/batches?stauts=active"), 400, "invalid", `unknown query parameter "stauts"; this route has status, runbook`},
		{"parameter where none belongs", get("/api/batches/42/phases?limit=1"), 400, "invalid", "this route has none"},
		{"parameter on a write", request{"POST", "/api/batches/7/advance?force=1", "admin", "", ""}, 400, "invalid", "force"},
		{"parameter on health", get("/api/health?x=1"), 400, "invalid", ""},
		{"parameter twice", get("/api/batches?limit=1&limit=2"), 400, "invalid", "2 times"},
		{"parameter empty", get("/api/batches?status="), 400, "invalid", "empty"},
		{"parameter too long", get("/api/batches?status=" + strings.Repeat("x", 5000)), 400, "invalid", "longer"},
		{"no status of a batch", get("/api/batches?status=removed"), 400, "invalid", "one or more of detected, init_dispatched, active, cancelling, completed, failed, cancelled"},
		{"no text to find", get("/api/find"), 400, "invalid", "the query parameter text is missing"},
		{"no status of a batch among others", get("/api/batches?status=failed,removed"), 400, "invalid", "one or more of detected, init_dispatched"},
		{"nothing behind the comma", get("/api/batches?status=failed,"), 400, "invalid", "one or more of detected"},
		{"status twice", get("/api/batches?status=failed&status=active"), 400, "invalid", "status 2 times; give it once, with commas"},
		{"no status of a member", get("/api/batches/7/members?status=detected"), 400, "invalid", "one or more of active, done, removed, failed"},
		{"no status of a message", get("/api/messages/unprocessed?status=lost"), 400, "invalid", "one or more of open, replayed, discarded"},
		{"no topic of a message", get("/api/messages/unprocessed?topic=workers"), 400, "invalid", "one of orchestrator-events, worker-results"},
		{"status of an audit record", get("/api/batches/7/audit?status=open"), 400, "invalid", "this route has action, by, from, to, limit"},
		{"reason as a form", request{"POST", "/api/messages/unprocessed/a/replay", "admin", "", "x"}, 415, "unsupported_media_type", "application/json"},
		{"rule without a body", request{"POST", "/api/notifications", "admin", "", ""}, 400, "invalid", "the request has no body"},
		{"rule with an unknown field", request{"POST", "/api/notifications", "admin", jsonMedia, `{"url":"x"}`}, 400, "invalid", `unknown field "url"`},
		{"test with a body", request{"POST", "/api/notifications/a/test", "admin", jsonMedia, `{"to":"x"}`}, 400, "invalid", `unknown field "to"`},
		{"reason under another name", request{"POST", "/api/messages/unprocessed/a/discard", "admin", jsonMedia, `{"why":"x"}`}, 400, "invalid", `unknown field "why"`},
		{"reason far too long", request{"POST", "/api/messages/unprocessed/a/discard", "admin", jsonMedia, strings.Repeat(" ", 14000)}, 413, "too_large", "the request has 14000 bytes; at most 13024 are allowed"},
		{"no status of a check", get("/api/batches/7/checks?status=succeeded"), 400, "invalid", "not_run"},
		{"no status of a step", get("/api/batches/7/steps?status=done"), 400, "invalid", "poll_timeout"},
		{"query malformed", get("/api/batches?a=%zz"), 400, "invalid", "malformed"},
		{"limit 0", get("/api/batches?limit=0"), 400, "invalid", "from 1 to 1000"},
		{"limit too large", get("/api/runbooks?limit=1001"), 400, "invalid", "from 1 to 1000"},
		{"limit no number", get("/api/batches/7/steps?limit=ten"), 400, "invalid", `limit "ten"`},
		{"steps of no member", get("/api/batches/7/steps?member=-1"), 404, "not_found", `no member "-1"`},

		{"runbook without content type", runbook("", "name: x"), 415, "unsupported_media_type", "application/yaml"},
		{"runbook as a form", runbook("application/x-www-form-urlencoded", "a=b"), 415, "unsupported_media_type", ""},
		{"runbook in another charset", runbook("application/json; charset=iso-8859-1", "{}"), 415, "unsupported_media_type", "UTF-8"},
		{"unknown field", runbook(jsonMedia, `{"yamlContent":"x","version":2}`), 400, "invalid", `unknown field "version"`},
		{"wrong type", runbook(jsonMedia, `{"yamlContent":7}`), 400, "invalid", "yamlContent is a number"},
		{"an array", runbook(jsonMedia, `[]`), 400, "invalid", "array where an object belongs"},
		{"JSON cut off", runbook(jsonMedia, `{"yamlContent":"x`), 400, "invalid", "too early"},
		{"JSON malformed", runbook(jsonMedia, `{yamlContent}`), 400, "invalid", "syntax error at byte 2"},
		{"more than an object", runbook(jsonMedia, `{"yamlContent":"x"}{}`), 400, "invalid", "data after"},
		{"JSON not UTF-8", runbook(jsonMedia, "{\"yamlContent\":\"\xff\"}"), 400, "invalid", "UTF-8"},
		{"overdue phases", runbook(jsonMedia, `{"yamlContent":"x","overdueBehavior":"Skip"}`), 400, "invalid", `invalid overdueBehavior "Skip": use ignore or rerun`},
		{"init", runbook(jsonMedia, `{"yamlContent":"x","rerunInit":"yes"}`), 400, "invalid", "rerunInit is a string"},
		{"no runbook", runbook(jsonMedia, `{"name":"x"}`), 400, "invalid", "yamlContent, the runbook's YAML, is missing"},
		{"runbook too large", runbook("application/yaml", strings.Repeat("x", 1<<20+1)), 413, "too_large", ""},
		{"runbook too large in JSON", runbook(jsonMedia, strings.Repeat(" ", 3<<20)), 413, "too_large", ""},

		{"batch as JSON", request{"POST", "/api/batches", "admin", jsonMedia, "{}"}, 415, "unsupported_media_type", "multipart/form-data"},
		{"batch without boundary", request{"POST", "/api/batches", "admin", "multipart/form-data", ""}, 415, "unsupported_media_type", ""},
		{"batch with another part", upload("runbook", "rb", "files", "x"), 400, "invalid", `part "files"`},
		{"batch with a part twice", upload("runbook", "rb", "runbook", "rc"), 400, "invalid", "twice"},
		{"batch without file", upload("runbook", "rb"), 400, "invalid", "no part file"},
		{"batch without name", upload("file", "x"), 400, "invalid", "no part runbook, which names the runbook"},
		{"batch with a blank name", upload("runbook", " ", "file", "x"), 400, "invalid", "runbook"},
		{"batch with a long name", upload("runbook", long, "file", "x"), 413, "too_large", "runbook"},
		{"file too large", upload("runbook", "rb", "file", strings.Repeat("x", 1001)), 413, "too_large", "1000 bytes"},
		{"request too large", upload("runbook", "rb", "file", strings.Repeat("x", 9000)), 413, "too_large", "1000 bytes"},
		{"upload cut off", broken, 400, "invalid", "before it was complete"},

		{"advance without a body", request{"POST", "/api/batches/7/advance", "admin", "", ""}, 400, "invalid", `the phase is missing: name the phase to start, as in {"phase": "cut-over"}`},
		{"advance without a phase", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{}`}, 400, "invalid", "the phase is missing"},
		{"advance to no phase", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":null}`}, 400, "invalid", "the phase is missing"},
		{"advance to an empty phase", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":""}`}, 400, "invalid", "has 1 to 100"},
		{"advance to a long phase", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":"` + long + `"}`}, 400, "invalid", "has 1 to 100"},
		{"advance to a number", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":2}`}, 400, "invalid", "phase is a number"},
		{"advance with another field", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, `{"phase":"x","force":true}`}, 400, "invalid", `unknown field "force"`},
		{"advance with a form", request{"POST", "/api/batches/7/advance", "admin", "", `x`}, 415, "unsupported_media_type", ""},
		{"advance with a large body", request{"POST", "/api/batches/7/advance", "admin", jsonMedia, strings.Repeat(" ", 2000)}, 413, "too_large", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tt.request, tt.status, tt.code, tt.says)
		})
	}
}

// refused checks that a request is refused, with words that say why, before it
// reaches a use case.
func refused(t *testing.T, r request, status int, code, says string) {
	t.Helper()
	f := newFixture()
	w := f.send(r)
	p := readProblem(t, w)
	if w.Code != status || string(p.Error) != code {
		t.Errorf("%d %s, want %d %s: %s", w.Code, p.Error, status, code, p.Detail)
	}
	if !strings.Contains(p.Detail, says) {
		t.Errorf("detail %q says nothing of %q", p.Detail, says)
	}
	if f.app.calls != nil {
		t.Errorf("a refused request reached %q", f.app.calls)
	}
}

func TestErrorsOfUseCases(t *testing.T) {
	t.Parallel()
	problems := []api.InputProblem{{Line: 3, Column: 1, Field: "Mail", Code: "empty-key", Message: "is empty"}}
	cause := errors.New("10.0.0.4: AccountKey=secret")
	tests := []struct {
		err      error
		status   int
		code     string
		detail   string
		problems []api.InputProblem
	}{
		{&problem.Error{Code: api.CodeInvalid, Message: "bad status"}, 400, "invalid", "bad status", nil},
		{&problem.Error{Code: api.CodeInvalid, Message: "bad file", Problems: problems}, 422, "invalid", "bad file", problems},
		{&problem.Error{Code: api.CodeNotFound, Message: "no batch 7"}, 404, "not_found", "no batch 7", nil},
		{fmt.Errorf("wrapped: %w", &problem.Error{Code: api.CodeConflict, Message: "nothing left"}), 409, "conflict", "nothing left", nil},
		{&problem.Error{Code: api.CodeChanged, Message: "look again"}, 412, "changed", "look again", nil},
		{&problem.Error{Code: api.CodeTooLarge, Message: "too large"}, 413, "too_large", "too large", nil},
		{&problem.Error{Code: api.CodeUnavailable, Message: "try again", Cause: cause}, 503, "unavailable", "try again", nil},
		{&problem.Error{Code: api.CodeSourceAway, Message: "no answer", Cause: cause}, 503, "source_away", "no answer", nil},
		{&problem.Error{Code: api.CodeInternal, Message: "secret plan", Cause: cause}, 500, "internal", "internal error", nil},
		{cause, 500, "internal", "internal error", nil},
		{context.DeadlineExceeded, 503, "unavailable", "the system's store or broker cannot be reached", nil},
		{&model.Refusal{Reason: "batch 7 is paused"}, 409, "conflict", "batch 7 is paused", nil},
		{fmt.Errorf("read batch 7: %w", store.ErrUnavailable), 503, "unavailable", "the system's store or broker cannot be reached", nil},
	}
	for _, tt := range tests {
		for _, route := range routes(t) {
			f := newFixture()
			f.app.err = tt.err
			r := route.request
			r.token = "admin"
			w := f.send(r)
			body := w.Body.String()
			p := readProblem(t, w)
			if w.Code != tt.status || string(p.Error) != tt.code || !strings.HasPrefix(p.Detail, tt.detail) || !reflect.DeepEqual(p.Problems, tt.problems) {
				t.Errorf("%s %s with %v: %s", r.method, r.path, tt.err, body)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("%s %s tells %s", r.method, r.path, body)
			}
			if (tt.status == 503) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("status %d with Retry-After %q", tt.status, w.Header().Get("Retry-After"))
			}
			if tt.status >= 500 && !strings.Contains(f.log.String(), p.TraceID) {
				t.Errorf("the log has no trace id: %s", f.log)
			}
		}
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.app.panics = true
	w := f.send(request{"GET", "/api/batches/7", "reader", "", ""})
	body := w.Body.String()
	if p := readProblem(t, w); w.Code != 500 || p.Error != "internal" || strings.Contains(body, "secret") {
		t.Errorf("%d %s", w.Code, body)
	}
	if !strings.Contains(f.log.String(), "secret of the implementation") {
		t.Errorf("log %s", f.log)
	}
}

// A route that GET has is there for HEAD, too: with the same headers and no body.
func TestHeadIsServedWhereGetIs(t *testing.T) {
	t.Parallel()
	f := newFixture()
	s := httptest.NewServer(f.handler)
	defer s.Close()
	for _, r := range routes(t) {
		if r.method != http.MethodGet {
			continue
		}
		var headers []string
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			q, err := http.NewRequestWithContext(t.Context(), method, s.URL+r.path, nil)
			check(t, err)
			q.Header.Set("Authorization", "Bearer admin")
			answer, err := http.DefaultClient.Do(q)
			check(t, err)
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != r.status || (method == http.MethodHead) != (len(body) == 0) {
				t.Errorf("%s %s: %s with %d bytes, %v", method, r.path, answer.Status, len(body), err)
			}
			headers = append(headers, fmt.Sprint(answer.Header["Content-Type"], answer.Header["Etag"], answer.Header["Content-Disposition"]))
		}
		if headers[0] != headers[1] {
			t.Errorf("%s: GET has the headers %s, HEAD %s", r.path, headers[0], headers[1])
		}
	}
	for path, allow := range map[string]string{"/api/batches/7/cancel": "POST", "/api/batches/7": "GET, HEAD, PATCH", "/api/batches": "GET, HEAD, POST"} {
		method := http.MethodHead
		if strings.Contains(allow, method) {
			method = http.MethodPut
		}
		w := f.send(request{method, path, "admin", "", ""})
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != allow {
			t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestHealthIsOpenAndKeptForAMoment(t *testing.T) {
	t.Parallel()
	f := newFixture()
	health := request{"GET", "/api/health", "", "", ""}
	for range 3 {
		if w := f.send(health); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"status":"ok"}` {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if len(f.app.calls) != 1 {
		t.Errorf("three requests asked %d times", len(f.app.calls))
	}
	f.app.health = api.Health{Status: "degraded", Parts: map[string]string{"store": "cannot be reached"}}
	f.now = f.now.Add(6 * time.Second)
	if w := f.send(health); w.Code != 503 || strings.TrimSpace(w.Body.String()) != `{"status":"degraded"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestRequestLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	f := newFixture()
	media, csv := form(t, "runbook", "rb", "file", "Key\nvery-private\n")
	f.send(request{"POST", "/api/batches", "admin", media, csv})
	f.send(request{"GET", "/api/batches?status=very-private", "reader", "", ""})
	f.send(request{"GET", "/api/runbooks/very-private", "bad", "", ""})
	log := f.log.String()
	for _, secret := range []string{"very-private", "Bearer", "admin\""} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q: %s", secret, log)
		}
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(log, "\n", 2)[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line["Method"] != "POST" || line["Route"] != "/api/batches" || line["Status"] != 201.0 || line["By"] != "avery@contoso" || line["DurationMs"] != 0.0 {
		t.Errorf("log line %v", line)
	}
}

func TestTraceOfTheCallerIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for header, want := range map[string]bool{"00-" + trace + "-00f067aa0ba902b7-01": true, "00-" + trace: false, trace + "\nx": false} {
		req := httptest.NewRequest(http.MethodGet, "/api/batches", nil)
		req.Header.Set("traceparent", header)
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, req)
		p := readProblem(t, w)
		if (p.TraceID == trace) != want {
			t.Errorf("traceparent %q gave the trace id %s", header, p.TraceID)
		}
		if !strings.Contains(f.log.String(), `"TraceId":"`+p.TraceID+`"`) {
			t.Errorf("the trace id %s is not in the log: %s", p.TraceID, f.log)
		}
	}
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		token, challenge string
		status           int
		code, detail     string
	}{
		{"", "Bearer", 401, "unauthenticated", "sign in: a bearer token is required"},
		{"old", `Bearer error="invalid_token", error_description="the token has expired"`, 401, "unauthenticated", "sign in: the token has expired"},
		{"application", `Bearer error="insufficient_scope", error_description="the token carries no role"`, 403, "forbidden", "the token carries no role"},
		{"outage", "", 503, "unavailable", "the keys cannot be had"},
		{"broken", "", 500, "internal", "internal error"},
	} {
		w := newFixture().send(request{"GET", "/api/batches", tt.token, "", ""})
		p := readProblem(t, w)
		if w.Code != tt.status || string(p.Error) != tt.code || !strings.HasPrefix(p.Detail, tt.detail) || w.Header().Get("WWW-Authenticate") != tt.challenge {
			t.Errorf("%q: %d %q %+v", tt.token, w.Code, w.Header().Get("WWW-Authenticate"), p)
		}
	}
}
