package adminhttp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

func (r fakeWorkers) Workers(_ context.Context, o api.ListOptions) (api.Page[api.Worker], error) {
	return api.Page[api.Worker]{}, r.note("Workers %s", shown(o))
}

func (r fakeWorkers) Worker(_ context.Context, id string) (api.Worker, error) {
	return api.Worker{ID: id, FunctionCount: 1}, r.note("Worker %q", id)
}

// workerRoutes is every route about workers and the container scaler.
func workerRoutes() []route {
	return []route{
		{request{"GET", "/api/workers?limit=2&continuationToken=t", "", "", ""}, false, 200, "Workers {Limit:2 Continuation:t}", `{"items":[]}`},
		{request{"GET", "/api/workers/worker-01", "", "", ""}, false, 200, `Worker "worker-01"`, `"functionCount":1`},
		{request{"GET", "/api/scaler", "", "", ""}, false, 200, "ScalerStatus", `{"configured":false}`},
		{request{"POST", "/api/scaler/plan", "", "", ""}, true, 200, "PlanScaling", `"blockedSubscriptions":[]`},
	}
}

// announce has a worker tell what it can be asked for, as it does over the broker.
func (r *real) announce(c message.Catalog) {
	r.t.Helper()
	body, err := json.Marshal(c)
	check(r.t, err)
	check(r.t, r.app.HandleResult(r.t.Context(), message.Delivery{ID: message.CatalogID(c.WorkerID, body), Type: message.TypeWorkerCatalog, Body: body, DeliveryCount: 1}))
}

func badges(at time.Time) message.Catalog {
	return message.Catalog{WorkerID: "worker-01", Version: "1.2", Timestamp: at, Functions: []message.CatalogFunction{{
		Name: "New-Badge", Description: "Orders a badge.", Permissions: []string{"badges"}, Result: []message.CatalogField{{Name: "BadgeId", Description: "Its id."}},
		Parameters: []message.CatalogParameter{{Name: "UserId", Type: "guid", Required: true, Description: "Whose."}},
	}, {Name: "Tell"}}}
}

func TestWorkersOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var p api.Problem
	r.call(request{"GET", "/api/workers/worker-01", reader, "", ""}, 404, &p)
	if p.Error != "not_found" || !strings.Contains(p.Detail, `unknown worker "worker-01"`) {
		t.Errorf("%+v", p)
	}
	for _, nobody := range []string{"%2e%2e", "a%2Fb", strings.Repeat("x", 44), strings.Repeat("x", 5000), "%ff", "%00"} {
		r.call(request{"GET", "/api/workers/" + nobody, reader, "", ""}, 404, &p)
	}
	r.announce(badges(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	other := badges(time.Now())
	other.WorkerID = "worker-02"
	r.announce(other)

	var page, rest api.Page[api.Worker]
	r.call(request{"GET", "/api/workers?limit=1", reader, "", ""}, 200, &page)
	r.call(request{"GET", "/api/workers?limit=1&continuationToken=" + page.Continuation, reader, "", ""}, 200, &rest)
	if len(page.Items) != 1 || len(rest.Items) != 1 || page.Items[0].ID != "worker-01" || rest.Items[0].ID != "worker-02" || page.Items[0].FunctionCount != 2 || page.Items[0].Functions != nil {
		t.Errorf("%+v\n%+v", page, rest)
	}
	var worker map[string]any
	r.call(request{"GET", "/api/workers/worker-01", reader, "", ""}, 200, &worker)
	functions, err := json.Marshal(worker["functions"])
	check(t, err)
	const want = `[{"description":"Orders a badge.","name":"New-Badge","params":[{"description":"Whose.","name":"UserId","required":true,"type":"guid"}],` +
		`"permissions":["badges"],"result":[{"description":"Its id.","name":"BadgeId"}]},{"name":"Tell","params":[]}]`
	if string(functions) != want || worker["startedAt"] != "2026-01-02T03:04:05.000Z" || worker["version"] != "1.2" {
		t.Errorf("%s of %v", functions, worker)
	}

	var view api.Runbook
	runbook := strings.Replace(moves, "function: Move-User", "function: New-Badge", 1)
	r.call(request{"POST", "/api/runbooks?dryRun=true", admin, "application/yaml", runbook}, 200, &view)
	codes := map[string]int{}
	for _, d := range view.Warnings {
		codes[d.Code]++
	}
	if len(codes) != 2 || codes["missing-parameter"] != 1 || codes["unknown-parameter"] != 1 {
		t.Errorf("warnings %v", view.Warnings)
	}
}
