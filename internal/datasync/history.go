package datasync

import (
	"context"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxHistory is how many syncs of a runbook its record keeps: about four hours of ticks.
const maxHistory = 50

// note adds the outcome of a sync to the history of its record, which has the oldest first.
func (s *syncRun) note(last *store.SyncRecord, failure string) {
	one := s.done
	one.At, one.Milliseconds, one.Error = *last.LastRunAt, last.Milliseconds, failure
	if s.result != nil {
		one.Rows, one.Problems = s.result.Len(), s.plan.Counts.Problems
	}
	last.History = append(slices.Clone(last.History), one)
	last.History = last.History[max(0, len(last.History)-maxHistory):]
}

// Syncs lists the last syncs of a runbook with its data source, the newest first. Errors: CodeNotFound,
// CodeUnavailable.
func (s *Syncer) Syncs(ctx context.Context, name string) (api.Page[api.Sync], error) {
	if _, err := s.runbooks.Head(ctx, name); err != nil {
		return api.Page[api.Sync]{}, err
	}
	record, err := store.OrNone(store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(name)))
	if err != nil {
		return api.Page[api.Sync]{}, err
	}
	page := api.Page[api.Sync]{Items: []api.Sync{}}
	for _, h := range slices.Backward(record.Doc.History) {
		page.Items = append(page.Items, api.Sync{
			StartedAt: h.At, EndedAt: h.At.Add(time.Duration(h.Milliseconds) * time.Millisecond), Rows: h.Rows, Added: h.Added, Removed: h.Removed, Changed: h.Changed,
			Held: h.Held, Problems: h.Problems, Error: h.Error,
		})
	}
	return page, nil
}
