package app_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
)

func TestRequestsAreInTheAuditRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(2))
	for range 2 { // the second finds the first not yet taken up: it changes nothing
		must(w.app.Advance(w.ctx, grace, b.ID, "init"))(t)
	}
	w.pump(1, migrate, func() bool { return w.ended(b.ID, "init") })
	must(w.app.Advance(w.ctx, grace, b.ID, w.next(b.ID)))(t)

	var got []string
	o := api.ListOptions{Limit: 1}
	for {
		page := must(w.app.BatchAudit(w.ctx, b.ID, api.AuditFilter{}, o))(t)
		for _, r := range page.Items {
			if r.At.IsZero() || r.ID == "" {
				t.Errorf("%+v", r)
			}
			got = append(got, r.By+" "+r.Action+" "+r.Target)
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	if want := []string{"grace advance create", "grace advance init", "ada create "}; !slices.Equal(got, want) {
		t.Errorf("the trail, newest first: %q, want %q", got, want)
	}
	page, err := w.app.BatchAudit(w.ctx, b.ID, api.AuditFilter{Action: "create"}, api.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.Items[0].By != "ada" {
		t.Errorf("only what created it: %+v, %v", page, err)
	}
	if _, err := w.app.BatchAudit(w.ctx, 99, api.AuditFilter{}, api.ListOptions{}); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("of a batch that is not there: %v", err)
	}
}
