package render

import (
	"github.com/matoolkit/matoolkit/internal/api"
)

// AuditTable returns the table of audit records. With mixed records are of different items, and
// the table names them.
func (c *Printer) AuditTable(mixed bool, views ...api.AuditRecord) *Sheet {
	t := c.Table("at", "by", "action", "batch", "runbook", "target", "reason", "before", "after", "byKind", "byTenantId", "byObjectId")
	t.extra = []string{"before", "after", "byKind", "byTenantId", "byObjectId"}
	if !mixed {
		t.extra = append(t.extra, "batch", "runbook")
	}
	for _, v := range views {
		by := v.By
		if v.ByKind == api.ActorSystem { // a person can have the same name
			by += " (system)"
		}
		t.Row(v.At, Shown{v.By, by}, v.Action, positive(v.BatchID), v.Runbook, v.Target, v.Why, string(v.Before), string(v.After), v.ByKind, v.ByTenantID, v.ByObjectID)
	}
	return t
}

// positive returns a number, or nothing for 0.
func positive(n int) any {
	if n == 0 {
		return ""
	}
	return n
}
