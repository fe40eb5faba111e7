package adminhttp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// A dry run and a refusal leave everything as it was; a publish tells what the dry run
// told.
func TestPublishingSafelyOverTheRealSystem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	var p api.Problem
	var v api.Runbook
	newer := strings.Replace(moves, "offset: T-0", "offset: T+1d", 1)
	doubtful := newer + "rollbacks: {undo: [{name: back, worker_id: w, function: Back}]}\n"
	yaml := func(query, body string) request {
		return request{"POST", "/api/runbooks" + query, admin, "application/yaml", body}
	}
	for worker, f := range map[string]message.CatalogFunction{"worker-01": {Name: "Move-User", Parameters: []message.CatalogParameter{{Name: "Mail"}}}, "w": {Name: "Back"}} {
		r.announce(message.Catalog{WorkerID: worker, Timestamp: time.Now(), Functions: []message.CatalogFunction{f}})
	}
	r.call(yaml("?dryRun=true", moves), 200, &v)
	if !v.DryRun || v.Active || v.Changes == nil || v.Changes.Against != 0 || v.Changes.Runbook == nil || v.Changes.Batches == nil {
		t.Errorf("%+v", v)
	}
	r.call(request{"GET", "/api/runbooks/moves", admin, "", ""}, 404, &p)
	r.call(yaml("", moves), 201, nil)

	r.call(yaml("?strict=true", doubtful), 422, &p)
	if p.Error != "invalid" || len(p.Problems) != 1 || p.Problems[0].Code != "unused-rollback" || p.Problems[0].Severity != "warning" || p.Problems[0].Line == 0 {
		t.Errorf("%+v", p)
	}
	var dry, published api.Runbook
	r.call(yaml("?dryRun=true", doubtful), 200, &dry)
	if !dry.DryRun || dry.Version != 2 || len(dry.Warnings) != 1 || len(dry.Changes.Runbook) != 2 {
		t.Errorf("%+v", dry)
	}
	if c := dry.Changes.Runbook[0]; c.Kind != "changed" || c.From != "T-0" || c.To != "T+1d" || !strings.HasSuffix(c.Path, ".offset") {
		t.Errorf("%+v", c)
	}
	var now api.Runbook
	r.call(request{"GET", "/api/runbooks/moves", admin, "", ""}, 200, &now)
	if now.Version != 1 || now.YAML != moves || now.Changes != nil {
		t.Errorf("%+v", now)
	}
	r.call(request{"POST", "/api/runbooks", admin, jsonMedia, `{"strict":false,"dryRun":false,"yamlContent":` + quote(doubtful) + `}`}, 201, &published)
	if published.DryRun || !published.Active || published.Version != 2 || !slices.Equal(published.Changes.Runbook, dry.Changes.Runbook) {
		t.Errorf("%+v", published)
	}
	r.call(yaml("?dryRun=true", doubtful), 200, &v)
	if !v.Unchanged || !v.DryRun || len(v.Changes.Runbook) != 0 {
		t.Errorf("%+v", v)
	}
}
