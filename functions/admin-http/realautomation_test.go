package adminhttp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

const automated = `name: waves
data_source: {type: csv, connection: PEOPLE, primary_key: UserId, batch_time_column: Start}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Mail: "{{Mail}}"}}
`

// found writes the file that the runbook's members are read from.
func (r *real) found(lines ...string) {
	r.t.Helper()
	check(r.t, os.WriteFile(r.people, []byte("UserId,Mail,Start\n"+strings.Join(lines, "\n")+"\n"), 0o600))
}

func TestAutomationOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin, reader := r.token(automationID), r.token(reportsID)
	var p api.Problem
	get := func(path string, status int, into any) {
		t.Helper()
		r.call(request{"GET", "/api/" + path, reader, "", ""}, status, into)
	}
	send := func(method, path, body string, status int, into any) {
		t.Helper()
		r.call(request{method, "/api/" + path, admin, jsonMedia, body}, status, into)
	}
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", automated}, 201, nil)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)

	// A missing runbook and one without a query have different problems.
	get("runbooks/other/automation", 404, &p)
	send("PUT", "runbooks/other/automation", `{"enabled":true}`, 404, &p)
	send("PUT", "runbooks/moves/automation", `{"enabled":true}`, 409, &p)
	send("POST", "runbooks/moves/query/preview", "", 409, &p)
	if !strings.Contains(p.Detail, "no query to preview") {
		t.Errorf("problem %+v", p)
	}
	r.call(request{"PUT", "/api/runbooks/waves/automation", reader, jsonMedia, `{"enabled":true}`}, 403, &p)
	r.call(request{"POST", "/api/runbooks/waves/query/preview", reader, "", ""}, 403, &p)
	if !strings.Contains(p.Detail, "may not read the rows of a data source: it requires the app role Admin") {
		t.Errorf("problem %+v", p)
	}

	// A query that fails says why, and not where.
	send("POST", "runbooks/waves/query/preview", "", 422, &p)
	if p.Error != "invalid" || !strings.Contains(p.Detail, "does not exist") || !strings.Contains(p.Detail, "waves") || strings.Contains(p.Detail, "Bearer") {
		t.Errorf("problem %+v", p)
	}

	// A preview tells what would become of the rows, and changes nothing.
	start := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	r.found("u1,a,"+start, "u2,b,"+start, "u3,c,"+start, "u4,d,"+start, "u5,g,"+start, ",e,"+start, "u6,f,soon")
	var preview api.QueryPreview
	send("POST", "runbooks/waves/query/preview", `{"limit":2}`, 200, &preview)
	if preview.RowCount != 7 || len(preview.Sample) != 2 || string(preview.Sample[1]["Mail"]) != `"b"` || preview.ProblemCount != 2 ||
		len(preview.Groups) != 1 || preview.Enabled {
		t.Errorf("preview %+v", preview)
	}
	get("batches/1", 404, &p)

	var standing api.Automation
	send("PUT", "runbooks/waves/automation", `{"enabled":true}`, 200, &standing)
	if !standing.Enabled || standing.EnabledBy == "" || standing.LastRunAt != nil {
		t.Errorf("automation %+v", standing)
	}
	check(t, r.app.Tick(t.Context()))
	var batch api.Batch
	get("batches/1", 200, &batch)
	if batch.IsManual || batch.MemberCount != 5 || batch.BatchStartTime == nil || batch.BatchStartTime.Format(time.RFC3339) != start {
		t.Errorf("batch %+v", batch)
	}
	get("runbooks/waves/automation", 200, &standing)
	if standing.LastRunAt == nil || standing.LastError != "" || standing.Rows != 7 || standing.ProblemCount != 2 || len(standing.Problems) != 2 {
		t.Errorf("automation %+v", standing)
	}
	get("batches/1/removals", 404, &p)
	send("POST", "batches/1/removals/confirm", "", 400, &p)
	send("POST", "batches/1/removals/confirm", `{"revision":"x"}`, 409, &p)

	// Two of five are missing: no member is removed until an administrator confirms it.
	r.found("u1,a,"+start, "u2,b,"+start, "u5,g,"+start)
	check(t, r.app.Tick(t.Context()))
	var held, page api.RemovalHold
	get("batches/1/removals?limit=1", 200, &held)
	get("batches/1/removals?limit=1&continuationToken="+held.Continuation, 200, &page)
	if held.Members != 2 || held.Of != 5 || held.Reason == "" || len(held.Items) != 1 || held.Items[0].Key != "u3" || page.Items[0].Key != "u4" || page.Continuation != "" {
		t.Errorf("held %+v and %+v", held, page)
	}
	get("batches/1/removals?continuationToken=x", 400, &p)
	get("batches/1", 200, &batch)
	get("runbooks/waves/automation", 200, &standing)
	if batch.Held == nil || batch.Held.Members != 2 || len(standing.Held) != 1 || standing.Held[0].BatchID != 1 {
		t.Errorf("batch %+v, automation %+v", batch.Held, standing.Held)
	}
	var list api.Page[api.Runbook]
	get("runbooks", 200, &list)
	if len(list.Items) != 2 || !list.Items[1].Enabled || list.Items[1].Held != 1 || list.Items[0].Enabled {
		t.Errorf("runbooks %+v", list.Items)
	}

	// The decision is about those who were looked at.
	r.found("u1,a,"+start, "u5,g,"+start)
	check(t, r.app.Tick(t.Context()))
	decision := fmt.Sprintf(`{"revision":%q,"reason":"they stay"}`, held.Revision)
	send("POST", "batches/1/removals/discard", decision, 409, &p)
	if !strings.Contains(p.Detail, "have changed") {
		t.Errorf("problem %+v", p)
	}
	get("batches/1/removals", 200, &held)
	decision = fmt.Sprintf(`{"revision":%q,"reason":"they stay"}`, held.Revision)
	r.call(request{"POST", "/api/batches/1/removals/discard", reader, jsonMedia, decision}, 403, &p)
	batch = api.Batch{}
	send("POST", "batches/1/removals/discard", decision, 200, &batch)
	if batch.Held != nil || batch.DiscardedRemovals != 3 {
		t.Errorf("batch %+v", batch)
	}

	// Of a source without rows the two who are left are held, and let go.
	r.found()
	check(t, r.app.Tick(t.Context()))
	get("batches/1/removals", 200, &held)
	send("POST", "batches/1/removals/confirm", fmt.Sprintf(`{"revision":%q,"reason":"all have left"}`, held.Revision), 202, &batch)
	if batch.Held == nil || batch.Held.Confirmed == nil || batch.Held.Confirmed.Why != "all have left" {
		t.Errorf("batch %+v", batch.Held)
	}
	send("POST", "batches/1/removals/discard", "", 409, &p)

	// A source that is away is kept with the runbook, and the batch as it is.
	check(t, os.Remove(r.people))
	check(t, r.app.Tick(t.Context()))
	get("runbooks/waves/automation", 200, &standing)
	var rb api.Runbook
	get("runbooks/waves", 200, &rb)
	if standing.LastError == "" || standing.LastErrorAt == nil || rb.LastError != standing.LastError {
		t.Errorf("automation %+v", standing)
	}
	send("PUT", "runbooks/waves/automation", `{"enabled":false}`, 200, &standing)
	if standing.Enabled || standing.DisabledBy == "" || standing.EnabledBy == "" {
		t.Errorf("automation %+v", standing)
	}
}
