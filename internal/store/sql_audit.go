package store

import (
	"context"
)

// AuditTrail implements Audit.
func (s *Store) AuditTrail(ctx context.Context, partition string, f AuditFilter, page Paging) (Page[AuditRecord], error) {
	return list[AuditRecord](ctx, s, partition, auditQuery(f).items(" ORDER BY c.id DESC"), page)
}

// AuditEverywhere implements Audit. The service refuses ORDER BY across partitions, and
// whatever else it would have to merge.
func (s *Store) AuditEverywhere(ctx context.Context, f AuditFilter, page Paging) (Page[AuditRecord], error) {
	q := auditQuery(f).items("")
	items, next, err := QueryEverywhere[AuditRecord](ctx, s, q.sql, q.params, page.Limit, page.Continuation)
	return Page[AuditRecord]{Items: items, Continuation: next}, err
}

func auditQuery(f AuditFilter) *statement {
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
		q.where("c.id >= @from", "@from", AuditKey("", SortableTime(f.From)).ID)
	}
	if !f.To.IsZero() {
		q.where("c.id < @to", "@to", AuditKey("", SortableTime(f.To)).ID)
	}
	return q
}
