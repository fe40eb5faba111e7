package apiclient

import (
	"context"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// BatchAudit lists who did what to a batch, and who read its members, the newest first.
func (c *Client) BatchAudit(ctx context.Context, id int, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return c.listAudit(ctx, f, o, "batches", strconv.Itoa(id), "audit")
}

// RunbookAudit lists who published a runbook, set its automation or previewed its query,
// the newest first.
func (c *Client) RunbookAudit(ctx context.Context, name string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return c.listAudit(ctx, f, o, "runbooks", name, "audit")
}

// MessageAudit lists who read, replayed or discarded messages that could not be
// processed, the newest first.
func (c *Client) MessageAudit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return c.listAudit(ctx, f, o, "messages", "audit")
}

// Audit lists who did what everywhere, in no order. A page can have fewer records than
// its limit and be followed by another all the same.
func (c *Client) Audit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return c.listAudit(ctx, f, o, "audit")
}

func (c *Client) listAudit(ctx context.Context, f api.AuditFilter, o api.ListOptions, path ...string) (api.Page[api.AuditRecord], error) {
	k := get(path...)
	k.query = listQuery(o)
	for name, value := range map[string]string{"action": f.Action, "by": f.By, "from": moment(f.From), "to": moment(f.To)} {
		if value != "" {
			k.query.Set(name, value)
		}
	}
	return ask[api.Page[api.AuditRecord]](ctx, c, k)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
