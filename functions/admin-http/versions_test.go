package adminhttp_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
)

func (r fakeRunbooks) Versions(_ context.Context, name string, o api.ListOptions) (api.Page[api.RunbookVersion], error) {
	return api.Page[api.RunbookVersion]{}, r.note("Versions %q %s", name, shown(o))
}

func (r fakeRunbooks) Version(_ context.Context, name string, version int) (api.RunbookVersion, error) {
	return api.RunbookVersion{Name: name, Version: version, ETag: "v1"}, r.note("Version %q %d", name, version)
}

func (r fakeRunbooks) Deactivate(_ context.Context, by audit.Caller, name string, version int, why string, tags ...string) (api.RunbookVersion, error) {
	return api.RunbookVersion{Name: name, Version: version, ETag: "v2"}, r.note("Deactivate %s %q %d %q %q", by.Name, name, version, why, tags)
}

// versionRoutes is every route about versions of runbooks.
func versionRoutes() []route {
	return []route{
		{
			request{"GET", "/api/runbooks/my%20moves/versions?limit=2&continuationToken=t", "", "", ""},
			false, 200,
			`Versions "my moves" {Limit:2 Continuation:t}`, `{"items":[]}`,
		},
		{request{"GET", "/api/runbooks/rb/versions/3", "", "", ""}, false, 200, `Version "rb" 3`, `"version":3`},
		{request{"DELETE", "/api/runbooks/rb/versions/3", "", "", ""}, true, 200, `Deactivate avery@contoso "rb" 3 "" []`, `"isActive":false`},
		{
			request{"DELETE", "/api/runbooks/rb/versions/3?reason=%20the+wrong+query", "", "", ""},
			true, 200,
			`Deactivate avery@contoso "rb" 3 "the wrong query" []`, `"isActive":false`,
		},
	}
}

// Every route of the specification is there, as the specification writes it.
func TestRoutesOfTheSpecification(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	for _, r := range newFixture().handler.(interface{ Routes() gin.RoutesInfo }).Routes() {
		path := placeholder.ReplaceAllString(r.Path, "{$1}")
		served[r.Method+" "+strings.NewReplacer("{version}", "{v}").Replace(path)] = true
	}
	for _, route := range []string{
		"POST /api/runbooks",
		"GET /api/runbooks",
		"GET /api/runbooks/{name}",
		"GET /api/runbooks/{name}/versions",
		"GET /api/runbooks/{name}/versions/{v}",
		"DELETE /api/runbooks/{name}/versions/{v}",
		"GET /api/runbooks/{name}/automation",
		"PUT /api/runbooks/{name}/automation",
		"POST /api/runbooks/{name}/query/preview",
		"GET /api/runbooks/{name}/template",
		"GET /api/batches",
		"GET /api/batches/{id}",
		"POST /api/batches",
		"GET /api/batches/{id}/members",
		"POST /api/batches/{id}/members",
		"GET /api/batches/{id}/members/{member}",
		"PATCH /api/batches/{id}/members/{member}",
		"PATCH /api/batches/{id}/members",
		"DELETE /api/batches/{id}/members/{member}",
		"GET /api/batches/{id}/phases",
		"GET /api/batches/{id}/steps",
		"POST /api/batches/{id}/advance",
		"POST /api/batches/{id}/cancel",
	} {
		if !served[route] {
			t.Errorf("there is no %s", route)
		}
	}
}

func TestRefusedVersions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 101)
	for _, tt := range []struct {
		name string
		request
		status int
		code   string
		says   string
	}{
		{"no number", request{"GET", "/api/runbooks/rb/versions/latest", "reader", "", ""}, 404, "not_found", `no version "latest"; use the version`},
		{"version 0", request{"DELETE", "/api/runbooks/rb/versions/0", "admin", "", ""}, 404, "not_found", ""},
		{"a long name", request{"GET", "/api/runbooks/" + long + "/versions", "reader", "", ""}, 404, "not_found", "at most 100 bytes"},
		{"a long name of a version", request{"GET", "/api/runbooks/" + long + "/versions/1", "reader", "", ""}, 404, "not_found", ""},
		{"by status", request{"GET", "/api/runbooks/rb/versions?status=active", "reader", "", ""}, 400, "invalid", "this route has sort, limit, continuationToken"},
		{"too many", request{"GET", "/api/runbooks/rb/versions?limit=1001", "reader", "", ""}, 400, "invalid", "from 1 to 1000"},
		{"a reason that is blank", request{"DELETE", "/api/runbooks/rb/versions/1?reason=%20", "admin", "", ""}, 400, "invalid", "the reason has 0 characters"},
		{"all versions", request{"DELETE", "/api/runbooks/rb/versions", "admin", "", ""}, 405, "method_not_allowed", "use GET"},
		{"the runbook", request{"DELETE", "/api/runbooks/rb", "admin", "", ""}, 405, "method_not_allowed", "use GET"},
		{
			"options of JSON in the address",
			request{"POST", "/api/runbooks?rerunInit=true", "admin", jsonMedia, `{"yamlContent":"x"}`},
			400, "invalid", "into the body",
		},
		{
			"overdue phases in the address",
			request{"POST", "/api/runbooks?overdueBehavior=skip", "admin", "application/yaml", "x"},
			400, "invalid", `invalid overdueBehavior "skip": use ignore or rerun`,
		},
		{
			"init in the address",
			request{"POST", "/api/runbooks?rerunInit=yes", "admin", "application/yaml", "x"},
			400, "invalid", `invalid rerunInit "yes": use true or false`,
		},
		{
			"strict in the address",
			request{"POST", "/api/runbooks?strict=1", "admin", "application/yaml", "x"},
			400, "invalid", `invalid strict "1": use true or false`,
		},
		{
			"a dry run in the address",
			request{"POST", "/api/runbooks?dryRun=TRUE", "admin", "application/yaml", "x"},
			400, "invalid", `invalid dryRun "TRUE": use true or false`,
		},
		{
			"a dry run in the address of JSON",
			request{"POST", "/api/runbooks?dryRun=true", "admin", jsonMedia, `{"yamlContent":"x"}`},
			400, "invalid", "strict and dryRun into the body",
		},
		{
			"a dry run in words",
			request{"POST", "/api/runbooks", "admin", jsonMedia, `{"yamlContent":"x","dryRun":"true"}`},
			400, "invalid", "dryRun is a string",
		},
		{
			"a dry run that is null",
			request{"POST", "/api/runbooks", "admin", jsonMedia, `{"yamlContent":"x","dryRun":null}`},
			400, "invalid", "dryRun is null; leave it out",
		},
		{"a dry run by a reader", request{"POST", "/api/runbooks?dryRun=true", "reader", "application/yaml", "x"}, 403, "forbidden", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tt.request, tt.status, tt.code, tt.says)
		})
	}
}

func TestETags(t *testing.T) {
	t.Parallel()
	const version = "/api/runbooks/rb/versions/3"
	send := func(method, path, body string, headers ...string) (*fixture, *httptest.ResponseRecorder) {
		f := newFixture()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer admin")
		r.Header.Set("Content-Type", jsonMedia)
		for _, h := range headers {
			r.Header.Add("If-Match", h)
		}
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		return f, w
	}
	for _, tt := range []struct {
		method, path, body string
		ifMatch            []string
		call, tag          string
	}{
		{"GET", version, "", nil, `Version "rb" 3`, `"v1"`},
		{"GET", "/api/runbooks/rb/automation", "", nil, `Automation avery@contoso "rb"`, `"e1"`},
		{"DELETE", version, "", []string{"*"}, `Deactivate avery@contoso "rb" 3 "" []`, `"v2"`},
		{"DELETE", version, "", []string{`"v1"`}, `Deactivate avery@contoso "rb" 3 "" ["v1"]`, `"v2"`},
		{"DELETE", version, "", []string{`"v1" , W/"v0"`, `""`}, `Deactivate avery@contoso "rb" 3 "" ["v1" "W/\"v0\"" ""]`, `"v2"`},
		{"PUT", "/api/runbooks/rb/automation", `{"enabled":true}`, []string{`"e1"`}, `SetAutomation avery@contoso "rb" true ["e1"]`, `"e2"`},
	} {
		f, w := send(tt.method, tt.path, tt.body, tt.ifMatch...)
		if w.Code != 200 || !reflect.DeepEqual(f.app.calls, []string{tt.call}) || w.Header().Get("ETag") != tt.tag {
			t.Errorf("%s %s %q: status %d, ETag %s, calls %q", tt.method, tt.path, tt.ifMatch, w.Code, w.Header().Get("ETag"), f.app.calls)
		}
	}
	for _, header := range []string{"v1", `"v1`, `v1"`, `"v1" "v2"`, `"v1",`, `"`, "W/"} {
		for method, path := range map[string]string{"DELETE": version, "PUT": "/api/runbooks/rb/automation"} {
			f, w := send(method, path, map[string]string{"PUT": `{"enabled":true}`}[method], header)
			if p := readProblem(t, w); p.Status != 400 || f.app.calls != nil || !strings.Contains(p.Detail, "If-Match") {
				t.Errorf("%s with %s: %+v, calls %q", method, header, p, f.app.calls)
			}
		}
	}
}

func TestVersionsOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var p api.Problem
	var v api.RunbookVersion
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)
	r.call(request{"POST", "/api/runbooks?overdueBehavior=rerun&rerunInit=true", admin, "application/yaml", moves + "# 2\n"}, 201, nil)

	var page, rest api.Page[api.RunbookVersion]
	r.call(request{"GET", "/api/runbooks/moves/versions?limit=1", reader, "", ""}, 200, &page)
	r.call(request{"GET", "/api/runbooks/moves/versions?limit=1&continuationToken=" + url.QueryEscape(page.Continuation), reader, "", ""}, 200, &rest)
	if len(page.Items) != 1 || len(rest.Items) != 1 || rest.Continuation != "" {
		t.Fatalf("%+v, %+v", page, rest)
	}
	if newest := page.Items[0]; newest.Version != 2 || !newest.Active || newest.Overdue != "rerun" || !newest.RerunInit || newest.YAML != "" || newest.PublishedBy == "" {
		t.Errorf("%+v", newest)
	}
	headers := r.call(request{"GET", "/api/runbooks/moves/versions/1", reader, "", ""}, 200, &v)
	if v.YAML != moves || v.Active || v.Overdue != "ignore" || headers.Get("ETag") != `"`+v.ETag+`"` {
		t.Errorf("%+v, %v", v, headers)
	}
	r.call(request{"GET", "/api/runbooks/moves/versions/3", reader, "", ""}, 404, &p)
	r.call(request{"GET", "/api/runbooks/others/versions", reader, "", ""}, 404, &p)

	r.call(request{"DELETE", "/api/runbooks/moves/versions/2", reader, "", ""}, 403, &p)
	r.call(request{"DELETE", "/api/runbooks/moves/versions/1", admin, "", ""}, 409, &p)
	if !strings.Contains(p.Detail, "only the active version can be deactivated") {
		t.Errorf("%+v", p)
	}
	for range 2 {
		var done api.RunbookVersion
		r.call(request{"DELETE", "/api/runbooks/moves/versions/2?reason=the%20wrong%20one", admin, "", ""}, 200, &done)
		if done.Active || done.Deactivated == nil || done.Deactivated.By == "" || done.Deactivated.Why != "the wrong one" {
			t.Errorf("%+v", done)
		}
	}
	r.call(request{"GET", "/api/runbooks/moves", reader, "", ""}, 404, &p)
	if !strings.Contains(p.Detail, `no version of runbook "moves" is active`) {
		t.Errorf("%+v", p)
	}
	var listed api.Page[api.Runbook]
	r.call(request{"GET", "/api/runbooks", reader, "", ""}, 200, &listed)
	if len(listed.Items) != 0 {
		t.Errorf("%+v", listed)
	}
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)
	r.call(request{"GET", "/api/runbooks/moves/versions/3", reader, "", ""}, 200, &v)
	if !v.Active || v.YAML != moves {
		t.Errorf("%+v", v)
	}
}
