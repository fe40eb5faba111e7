package datasync

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// staysEmpty reports whether a batch that is being filled has no members and gets none any more:
// an immediate batch whose start has passed, or a batch so late that it would not be created now.
func (s *syncRun) staysEmpty(b *model.Batch) bool {
	if b.Members > b.Removed {
		return false
	}
	last := b.StartTime.Add(model.LookAhead)
	if s.rb.DataSource.BatchTime != runbook.BatchTimeImmediate {
		for _, p := range b.Phases {
			if p.DueAt != nil && p.DueAt.After(last) {
				last = *p.DueAt
			}
		}
		last = last.Add(membership.AbandonAfter)
	}
	return s.now.After(last)
}

// cancelEmpty cancels a batch that is being filled and has no members, unless one was added
// meanwhile.
func (s *syncRun) cancelEmpty(ctx context.Context, id int) error {
	why := "it has no members left"
	_, _, err := s.syncer.applier.Run(ctx, id, applier.Command{
		Events: func(st *applier.Snapshot) ([]model.Event, error) {
			b, err := st.LoadBatch()
			if err != nil || !b.Filling || b.Members > b.Removed {
				return nil, err
			}
			return []model.Event{model.BatchCancelRequested{By: model.Attribution{By: audit.Scheduler.Name, At: st.Now.UTC(), Why: why}}}, nil
		},
		Extra: func(st *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 || ds[0].Batch == nil {
				return nil, nil
			}
			return store.Writes{s.syncer.audit.Record(store.AuditRecord{
				At: st.Now.UTC(), Actor: audit.Scheduler.Actor(), Action: "cancel", Batch: id, Why: why,
				Before: audit.BatchState(st.Before()).JSON(), After: audit.BatchState(st.After()).JSON(),
			})}, nil
		},
	})
	return err
}
