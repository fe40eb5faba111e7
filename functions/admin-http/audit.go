package adminhttp

import (
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// auditParameters are the query parameters of every audit trail.
var auditParameters = []string{"action", "by", "from", "to", "limit", "continuationToken"}

func (a *server) listBatchAudit(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	listAudit(c, func(f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
		return a.Audit.BatchAudit(c.Request.Context(), id, f, o)
	})
}

func (a *server) listRunbookAudit(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	listAudit(c, func(f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
		return a.Audit.RunbookAudit(c.Request.Context(), name, f, o)
	})
}

func (a *server) listMessageAudit(c *gin.Context) {
	listAudit(c, func(f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
		return a.Audit.MessageAudit(c.Request.Context(), f, o)
	})
}

func (a *server) listAudit(c *gin.Context) {
	listAudit(c, func(f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
		return a.Audit.Audit(c.Request.Context(), f, o)
	})
}

// listAudit answers with a page of an audit trail.
func listAudit(c *gin.Context, list func(api.AuditFilter, api.ListOptions) (api.Page[api.AuditRecord], error)) {
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	f, ok := auditFilter(c)
	if !ok {
		return
	}
	p, err := list(f, o)
	page(c, p, err)
}

// auditFilter reads what narrows a trail. It answers and returns false when a time is
// none.
func auditFilter(c *gin.Context) (api.AuditFilter, bool) {
	values := c.MustGet(keyQuery).(url.Values)
	f := api.AuditFilter{Action: values.Get("action"), By: values.Get("by")}
	for _, bound := range []struct {
		name string
		into *time.Time
	}{{"from", &f.From}, {"to", &f.To}} {
		text := values.Get(bound.name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			invalid(c, "invalid query parameter %s %q: use a time in RFC 3339, for example 2026-01-02T03:04:05Z", bound.name, clip(text))
			return f, false
		}
		*bound.into = at.UTC()
	}
	return f, true
}
