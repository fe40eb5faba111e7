package render

import (
	"github.com/matoolkit/matoolkit/internal/api"
)

// RunbookTable returns the table of runbooks.
func (c *Printer) RunbookTable(views ...api.Runbook) *Sheet {
	t := c.Table("name", "version", "published", "by", "description")
	for _, v := range views {
		t.Row(v.Name, v.Version, v.CreatedAt, v.PublishedBy, v.Description)
	}
	return t
}
