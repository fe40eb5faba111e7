package cosmos

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
)

// AuditRecords implements store.Audit.
func (s *Store) AuditRecords(ctx context.Context, partition string, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	return list[store.AuditRecord](ctx, s, partition, auditQuery(f).items(" ORDER BY c.id DESC"), page)
}

// AuditEverywhere implements store.Audit. The service refuses ORDER BY across partitions, and
// every other query that requires merging.
func (s *Store) AuditEverywhere(ctx context.Context, f store.AuditFilter, page store.Paging) (store.Page[store.AuditRecord], error) {
	return pageOf[store.AuditRecord](ctx, s, azcosmos.NewPartitionKey(), "all partitions", auditQuery(f).items(""), page)
}

func auditQuery(f store.AuditFilter) *statement {
	q := newQuery("c.type = 'audit'")
	for _, c := range []struct{ condition, name, value string }{
		{"c.doc.action = @action", "@action", f.Action},
		{"c.doc.by = @by", "@by", f.By},
		{"c.doc.runbook = @runbook", "@runbook", f.Runbook},
		{"c.doc.target = @target", "@target", f.Target},
		{"c.doc.why = @why", "@why", f.Why},
	} {
		if c.value != "" {
			q.where(c.condition, c.name, c.value)
		}
	}
	if !f.From.IsZero() {
		q.where("c.id >= @from", "@from", store.AuditKey("", store.SortableTime(f.From)).ID)
	}
	if !f.To.IsZero() {
		q.where("c.id < @to", "@to", store.AuditKey("", store.SortableTime(f.To)).ID)
	}
	return q
}
