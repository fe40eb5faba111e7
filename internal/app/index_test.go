package app_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

// everyList asks every list in every order, and with every filter that it has. It gives
// the first error.
func everyList(s *stage, batch int) error {
	var first error
	note := func(_ any, err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	all := func(sorts api.SortFields, options []api.ListOptions, list func(api.ListOptions) (any, error)) {
		for _, o := range append(options, api.ListOptions{}) {
			for _, o.Sort = range append(sorts.Values(), "") {
				note(list(o))
			}
		}
	}
	all(api.BatchSorts, []api.ListOptions{{Statuses: []string{"active"}}, {Runbook: "flat"}, {Search: "f"}, {Statuses: []string{"active"}, Runbook: "flat", Search: "f"}},
		func(o api.ListOptions) (any, error) { return s.app.Batches(s.ctx, o) })
	all(api.MemberSorts, []api.ListOptions{{Statuses: []string{"active"}}, {Search: "p"}, {Statuses: []string{"active"}, Search: "p"}},
		func(o api.ListOptions) (any, error) { return s.app.Members(s.ctx, ada, batch, o) })
	all(api.StepSorts, []api.ListOptions{{Phase: "only"}, {Member: 1}, {Statuses: []string{"failed"}}, {Search: "p"}, {Phase: "only", Member: 1, Statuses: []string{"failed", "queued"}, Search: "p"}},
		func(o api.ListOptions) (any, error) {
			if o.Phase != "" {
				phases, err := s.app.Phases(s.ctx, ada, batch)
				if err != nil {
					return nil, err
				}
				o.Phase = phases.Items[0].Name
			}
			return s.app.Steps(s.ctx, ada, batch, o)
		})
	all(api.RunbookSorts, []api.ListOptions{{Search: "f"}}, func(o api.ListOptions) (any, error) { return s.app.Runbooks(s.ctx, o) })
	all(api.VersionSorts, nil, func(o api.ListOptions) (any, error) { return s.app.Versions(s.ctx, "flat", o) })
	all(api.UnprocessableSorts, []api.ListOptions{{Statuses: []string{"replayed"}}, {Topic: "worker-results"}},
		func(o api.ListOptions) (any, error) { return s.app.UnprocessableMessages(s.ctx, o) })
	now := s.clock.Now()
	for _, f := range []api.AuditFilter{{}, {Action: "advance"}, {By: "ada"}, {From: now.AddDate(0, 0, -1), To: now.AddDate(0, 0, 1)}, {Action: "advance", By: "ada", From: now.AddDate(0, 0, -1)}} {
		note(s.app.BatchAudit(s.ctx, batch, f, api.ListOptions{}))
		note(s.app.RunbookAudit(s.ctx, "flat", f, api.ListOptions{}))
		note(s.app.MessageAudit(s.ctx, f, api.ListOptions{}))
		note(s.app.Audit(s.ctx, f, api.ListOptions{}))
	}
	return first
}

// TestEveryListIsServedByTheIndex: the suite of the store tests that no query of its reads needs
// more than the index policy has, and that the policy has no more than they need.
func TestEveryListIsServedByTheIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	b := s.startBatch(flat, people(3))
	s.cosmos.ResetStats()
	if err := everyList(s, b.ID); err != nil || s.cosmos.Stats().Unindexed != 0 {
		t.Fatalf("%v, and %d pages of queries are not served by the index", err, s.cosmos.Stats().Unindexed)
	}
}
