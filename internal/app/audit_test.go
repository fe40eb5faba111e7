package app_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
)

func TestRequestsAreInTheAuditRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	b := w.batch("move", people(2))
	grace := audit.Caller{Name: "grace"}
	for range 2 { // the second finds the first not yet taken up: it changes nothing
		if _, err := w.app.Advance(w.ctx, grace, b.ID, "init"); err != nil {
			t.Fatal(describe(err))
		}
	}
	w.pump(1, migrate, func() bool { return w.ended(b.ID, "init") })
	if _, err := w.app.Advance(w.ctx, grace, b.ID, w.next(b.ID)); err != nil {
		t.Fatal(describe(err))
	}

	var got []string
	o := api.ListOptions{Limit: 1}
	for {
		page, err := w.app.BatchAudit(w.ctx, b.ID, api.AuditFilter{}, o)
		if err != nil {
			t.Fatal(describe(err))
		}
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
