package adminhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/local/entra"
)

func (r fakePipelines) StartPipeline(_ context.Context, by audit.Caller, name string, q api.PipelineRequest) (api.PipelineBatch, error) {
	r.noteCaller(by)
	status := api.PipelineQueued
	if q.Owner == "cached" {
		status = api.PipelineCached
	}
	return api.PipelineBatch{ID: 7, Status: status, StatusURL: "/api/pipelines/p/batches/7"}, r.note("StartPipeline %s %q %q %d %v", by.Name, name, q.Owner, len(q.Items), q.Force)
}

func (r fakePipelines) PipelineBatch(_ context.Context, name string, batch int) (api.PipelineBatch, error) {
	return api.PipelineBatch{ID: batch, Owner: requesterName}, r.note("PipelineBatch %q %d", name, batch)
}

func (r fakePipelines) PipelineResult(_ context.Context, _ audit.Caller, name string, batch int) (api.PipelineResult, error) {
	return api.PipelineResult{ID: batch, Outputs: map[string]json.RawMessage{}}, r.note("PipelineResult %q %d", name, batch)
}

func (r fakePipelines) LatestResult(_ context.Context, _ audit.Caller, name, owner string) (api.PipelineResult, error) {
	return api.PipelineResult{ID: 7, Outputs: map[string]json.RawMessage{}}, r.note("LatestResult %q %q", name, owner)
}

func (r fakePipelines) Route(_ context.Context, name, owner string) (api.PipelineRoute, error) {
	return api.PipelineRoute{Pipeline: name, Owner: owner, Orchestrator: api.OrchestratorOld}, r.note("Route %q %q", name, owner)
}

func (r fakePipelines) Routing(_ context.Context, name string) (api.Routing, error) {
	return api.Routing{Pipeline: name, ETag: "t1"}, r.note("Routing %q", name)
}

func (r fakePipelines) SetRouting(_ context.Context, by audit.Caller, name, why string, q api.RoutingRequest, tags ...string) (api.Routing, error) {
	r.noteCaller(by)
	return api.Routing{Pipeline: name, Percent: *q.Percent, ETag: "t2"}, r.note("SetRouting %s %q %q %d %q", by.Name, name, why, *q.Percent, tags)
}

func (r fakePipelines) ReportComparison(_ context.Context, by audit.Caller, name string, batch int, q api.ComparisonRequest) (api.Comparison, error) {
	r.noteCaller(by)
	return api.Comparison{ID: batch, Outcome: api.ComparisonSame}, r.note("ReportComparison %s %q %d %q %d", by.Name, name, batch, q.Fingerprint, q.Milliseconds)
}

func (r fakePipelines) Comparisons(_ context.Context, name string) (api.Comparisons, error) {
	return api.Comparisons{Pipeline: name, Differing: []api.Comparison{}}, r.note("Comparisons %q", name)
}

// requesterName is the name of the local requester where tokens of several tenants are taken.
const requesterName = entra.DefaultRequesterUPN + " (" + entra.DefaultTenantID + ")"

// pipelineRoutes is every route about batches that requests start.
func pipelineRoutes() []route {
	const json = "application/json"
	return []route{
		{request{"POST", "/api/pipelines/p/batches", "", json, `{"owner":"` + requesterName + `","items":[{"a":1}],"force":true}`}, true, 202, `StartPipeline avery@contoso "p" "` + requesterName + `" 1 true`, `"statusUrl":"/api/pipelines/p/batches/7"`},
		{request{"POST", "/api/pipelines/p/batches", "", json, `{"owner":"cached","items":[]}`}, true, 200, `StartPipeline avery@contoso "p" "cached" 0 false`, `"status":"cached"`},
		{request{"GET", "/api/pipelines/p/batches/7", "", "", ""}, false, 200, `PipelineBatch "p" 7`, `"batchId":7`},
		{request{"GET", "/api/pipelines/p/batches/7/result", "", "", ""}, false, 200, `PipelineResult "p" 7`, `"outputs":{}`},
		{request{"GET", "/api/pipelines/p/result?owner=" + url.QueryEscape(requesterName), "", "", ""}, false, 200, `LatestResult "p" "` + requesterName + `"`, `"batchId":7`},
		{request{"GET", "/api/pipelines/p/route?owner=" + url.QueryEscape(requesterName), "", "", ""}, false, 200, `Route "p" "` + requesterName + `"`, `"orchestrator":"old"`},
		{request{"GET", "/api/pipelines/p/routing", "", "", ""}, false, 200, `Routing "p"`, `"pipeline":"p"`},
		{request{"PATCH", "/api/pipelines/p/routing", "", json, `{"percent":10,"reason":"the first"}`}, true, 200, `SetRouting avery@contoso "p" "the first" 10 []`, `"percent":10`},
		{request{"POST", "/api/pipelines/p/batches/7/comparison", "", json, `{"fingerprint":"f1","milliseconds":5}`}, true, 200, `ReportComparison avery@contoso "p" 7 "f1" 5`, `"outcome":"same"`},
		{request{"GET", "/api/pipelines/p/comparisons", "", "", ""}, false, 200, `Comparisons "p"`, `"differing":[]`},
	}
}

func TestBadRequestsToPipelines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		r    request
		want string
	}{
		{"no body", request{"POST", "/api/pipelines/p/batches", "admin", "application/json", ""}, "the request body is not valid: it ends too early"},
		{"items of another kind", request{"POST", "/api/pipelines/p/batches", "admin", "application/json", `{"owner":"o","items":[1]}`}, "is not valid: items is a number"},
		{"no list of items", request{"POST", "/api/pipelines/p/batches", "admin", "application/json", `{"owner":"o","items":"all"}`}, "is not valid: items is a string"},
		{"more items than any runbook allows", request{"POST", "/api/pipelines/p/batches", "admin", "application/json", `{"owner":"o","items":[{}` + strings.Repeat(",{}", 10_000) + `],"items":[]}`}, "it has 10001 items; at most 10000 are allowed"},
		{"an unknown field", request{"POST", "/api/pipelines/p/batches", "admin", "application/json", `{"owner":"o","item":[]}`}, `unknown field "item"`},
		{"no owner of a route", request{"GET", "/api/pipelines/p/route", "admin", "", ""}, "the query parameter owner is missing"},
		{"a share that is null", request{"PATCH", "/api/pipelines/p/routing", "admin", "application/json", `{"percent":null}`}, "percent is null"},
		{"a share that is no number", request{"PATCH", "/api/pipelines/p/routing", "admin", "application/json", `{"percent":"half"}`}, "percent is a"},
		{"an unknown field of a report", request{"POST", "/api/pipelines/p/batches/7/comparison", "admin", "application/json", `{"hash":"f"}`}, `unknown field "hash"`},
		{"no owner", request{"GET", "/api/pipelines/p/result", "admin", "", ""}, "the query parameter owner is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			if p := readProblem(t, f.send(tt.r)); p.Status != 400 || !strings.Contains(p.Detail, tt.want) || len(f.app.calls) > 0 {
				t.Errorf("%+v, calls %q", p, f.app.calls)
			}
		})
	}
}

// pipelined is a runbook that requests start.
const pipelined = "name: bundle\ntrigger: request\nitems: {primary_key: Repository}\nphases:\n  - name: sync\n    steps:\n      - {name: sync, worker_id: worker-01, function: Sync, params: {Name: \"{{Repository}}\"}}\n"

func TestAPipelineOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", pipelined}, 201, nil)
	var b, again api.PipelineBatch
	ask := request{"POST", "/api/pipelines/bundle/batches", admin, "application/json", `{"owner":"octo","items":[{"Repository":"a"},{"Repository":"b"}]}`}
	r.call(ask, 202, &b)
	r.call(ask, 202, &again)
	if b.ID == 0 || again.ID != b.ID || b.Items.Total != 2 || b.RequestedAt.Before(time.Now().Add(-time.Hour)) {
		t.Errorf("%+v, and again %+v", b, again)
	}
	r.call(request{"GET", b.StatusURL, reader, "", ""}, 200, &again)
	if again.Fingerprint != b.Fingerprint {
		t.Errorf("status %+v", again)
	}
	r.call(request{"GET", b.ResultURL, reader, "", ""}, 409, nil)
	r.call(request{"GET", "/api/pipelines/bundle/result?owner=octo", reader, "", ""}, 404, nil)
	r.call(request{"GET", "/api/pipelines/other/result?owner=octo", reader, "", ""}, 404, nil)
	r.call(request{"GET", "/api/pipelines/other/batches/1", reader, "", ""}, 404, nil)
}

// A request without items is answered at once; its batch has no number of items before they are listed.
func TestAPipelineWhoseItemsAFunctionLists(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	listed := strings.Replace(pipelined, "{primary_key: Repository}", "{primary_key: Repository, source: {worker_id: worker-01, function: List, params: {Owner: \"{{_batch_owner}}\"}, output: Repositories}}", 1)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", listed}, 201, nil)
	var b, status map[string]any
	r.call(request{"POST", "/api/pipelines/bundle/batches", admin, "application/json", `{"owner":"octo"}`}, 202, &b)
	r.call(request{"GET", b["statusUrl"].(string), admin, "", ""}, 200, &status)
	for _, field := range []string{"items", "fingerprint", "cachedBatchId"} {
		if b[field] != nil || status[field] != nil {
			t.Errorf("%s in %v and %v", field, b, status)
		}
	}
	r.call(request{"POST", "/api/pipelines/bundle/batches", admin, "application/json", `{"owner":"octo","items":[{"Repository":"a"}]}`}, 400, nil)
	r.call(request{"POST", "/api/pipelines/bundle/batches", admin, "application/json", `{"owner":"octo","items":[]}`}, 400, nil)
}

// A requester has their own batches only; those of others are not there for them.
func TestARequesterIsTheOwner(t *testing.T) {
	t.Parallel()
	const other = "GET /api/pipelines/p/batches/8"
	for _, c := range []struct {
		request string
		body    string
		status  int
		detail  string
	}{
		{"POST /api/pipelines/p/batches", `{"owner":"octo@contoso.example","items":[{"a":1}]}`, 403, `rita@contoso.example may not request a batch for another owner: the role Requester is for the owner "rita@contoso.example", and RequesterForAll for all`},
		{"POST /api/pipelines/p/batches", `{"owner":"RITA@contoso.example","items":[{"a":1}]}`, 202, ""},
		{"GET /api/pipelines/p/result?owner=octo", "", 403, `rita@contoso.example may not read a result of another owner: the role Requester is for the owner "rita@contoso.example", and RequesterForAll for all`},
		{"GET /api/pipelines/p/route?owner=octo", "", 403, `rita@contoso.example may not read the route of another owner: the role Requester is for the owner "rita@contoso.example", and RequesterForAll for all`},
		{"POST /api/pipelines/p/batches/8/comparison", `{"fingerprint":"f1"}`, 404, `pipeline "p" has no batch 8 of the owner "rita@contoso.example"`},
		{other, "", 404, `pipeline "p" has no batch 8 of the owner "rita@contoso.example"`},
		{other + "/result", "", 404, `pipeline "p" has no batch 8 of the owner "rita@contoso.example"`},
		{"GET /api/batches", "", 403, "rita@contoso.example may not read more than batches that they request: it requires the app role Reader or Operator or Approver or Admin"},
	} {
		r := &recorder{}
		h := adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: rita{signin.RoleRequester}, Log: slog.New(slog.DiscardHandler)})
		method, path, _ := strings.Cut(c.request, " ")
		request := httptest.NewRequest(method, path, strings.NewReader(c.body))
		request.Header.Set("Authorization", "Bearer x")
		if c.body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		if w.Code != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.request, c.body, w.Code, w.Body, c.status)
		} else if c.detail != "" {
			if p := readProblem(t, w); p.Detail != c.detail {
				t.Errorf("%s %s: %s, want %s", c.request, c.body, p.Detail, c.detail)
			}
		}
	}
}

// A service with the role for all owners requests for each, reads these, and nothing else.
func TestAServiceRequestsForAllOwners(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]int{
		`POST /api/pipelines/p/batches {"owner":"octo@contoso.example","items":[{"a":1}]}`: 202,
		"GET /api/pipelines/p/batches/8":                                  200,
		"GET /api/pipelines/p/result?owner=octo":                          200,
		"GET /api/pipelines/p/route?owner=octo":                           200,
		`POST /api/pipelines/p/batches/8/comparison {"fingerprint":"f1"}`: 200,
		"GET /api/batches":                                                403,
		"GET /api/batches/8/steps":                                        403,
		"POST /api/batches/8/pause":                                       403,
		`PATCH /api/pipelines/p/routing {"percent":0}`:                    403,
	} {
		r := &recorder{}
		h := adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: rita{signin.RoleRequesterForAll}, Log: slog.New(slog.DiscardHandler)})
		parts := append(strings.SplitN(request, " ", 3), "")
		asked := httptest.NewRequest(parts[0], parts[1], strings.NewReader(parts[2]))
		asked.Header.Set("Authorization", "Bearer x")
		asked.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, asked)
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", request, w.Code, w.Body, want)
		}
	}
}

// Requests whose bodies come slowly do not keep others out: how much memory they take is counted when they are there.
func TestSlowRequestsKeepNoOneOut(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	h := adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: rita{signin.RoleRequesterForAll}, Log: slog.New(slog.DiscardHandler)})
	ask := func(body io.Reader) int {
		asked := httptest.NewRequest(http.MethodPost, "/api/pipelines/p/batches", body)
		asked.Header.Set("Authorization", "Bearer x")
		asked.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, asked)
		return w.Code
	}
	const whole = `{"owner":"octo","items":[{"a":1}]}`
	var slow sync.WaitGroup
	var bodies []*io.PipeWriter
	for range 5 {
		read, written := io.Pipe()
		bodies = append(bodies, written)
		slow.Go(func() {
			if status := ask(read); status != http.StatusAccepted {
				t.Errorf("a slow request: %d", status)
			}
		})
		if _, err := written.Write([]byte(whole[:1])); err != nil { // it was taken
			t.Fatal(err)
		}
	}
	if status := ask(strings.NewReader(whole)); status != http.StatusAccepted {
		t.Errorf("while others are slow: %d", status)
	}
	for _, body := range bodies {
		_, err := body.Write([]byte(whole[1:]))
		if err = errors.Join(err, body.Close()); err != nil {
			t.Error(err)
		}
	}
	slow.Wait()
}

// rita takes every token for that of a caller with one role.
type rita struct{ role string }

func (r rita) Verify(context.Context, string) (signin.Identity, error) {
	return signin.Identity{Name: "rita@contoso.example", Owner: "rita@contoso.example", Roles: []string{r.role}}, nil
}
