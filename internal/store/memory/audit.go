package memory

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// AuditRecords implements store.Audit.
func (s *Store) AuditRecords(ctx context.Context, partition string, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	o := order{store.Sort{By: store.FieldID, Descending: true}, []store.Field{store.FieldID}}
	page.Sort = store.Sort{}
	return list(ctx, s, "AuditRecords", partition, "audit", f, o, page, audited(f))
}

// AuditEverywhere implements store.Audit.
func (s *Store) AuditEverywhere(ctx context.Context, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	o := order{store.Sort{By: store.FieldID}, []store.Field{store.FieldID}}
	page.Sort = store.Sort{}
	return list(ctx, s, "AuditEverywhere", "", "audit", f, o, page, audited(f))
}

// audited is the condition for the records of a filter.
func audited(f store.AuditFilter) func(d *document, r *store.AuditRecord) bool {
	return func(d *document, r *store.AuditRecord) bool {
		return (f.Action == "" || r.Action == f.Action) && (f.By == "" || r.By == f.By) && (f.Runbook == "" || r.Runbook == f.Runbook) &&
			(f.Target == "" || r.Target == f.Target) && (f.Why == "" || r.Why == f.Why) &&
			(f.From.IsZero() || d.key.ID >= store.AuditKey("", store.SortableTime(f.From)).ID) &&
			(f.To.IsZero() || d.key.ID < store.AuditKey("", store.SortableTime(f.To)).ID)
	}
}
