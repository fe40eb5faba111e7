package render

import (
	"github.com/matoolkit/matoolkit/internal/api"
)

// AuditTable says what each record is about where they are of different things. As CSV it
// always has the same columns.
func (c *Printer) AuditTable(mixed bool, views ...api.AuditRecord) *Sheet {
	export := c.Format == FormatCSV
	head := []string{"at", "by", "action"}
	if mixed || export {
		head = append(head, "batch", "runbook")
	}
	head = append(head, "target", "reason")
	if export {
		head = append(head, "before", "after")
	}
	if export {
		head = append(head, "byKind", "byTenantId", "byObjectId")
	}
	t := c.Table(head...)
	for _, v := range views {
		by := v.By
		if v.ByKind == api.ActorSystem && !export { // a person can have its name
			by += " (system)"
		}
		row := []any{v.At, by, v.Action}
		if mixed || export {
			row = append(row, positive(v.BatchID), v.Runbook)
		}
		row = append(row, v.Target, v.Why)
		if export {
			row = append(row, string(v.Before), string(v.After), v.ByKind, v.ByTenantID, v.ByObjectID)
		}
		t.Row(row...)
	}
	return t
}

// positive is a number, or nothing where there is none.
func positive(n int) any {
	if n == 0 {
		return ""
	}
	return n
}
