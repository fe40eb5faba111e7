package render

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// VersionTable returns the table of versions of a runbook.
func (c *Printer) VersionTable(views ...api.RunbookVersion) *Sheet {
	t := c.Table("version", "status", "published", "by", "overdue", "rerun init", "deactivated", "description")
	for _, v := range views {
		status, again, deactivated := "superseded", "no", ""
		if v.RerunInit {
			again = "yes"
		}
		switch {
		case v.Active:
			status = "active"
		case v.Deactivated != nil:
			status, deactivated = "deactivated", marked(*v.Deactivated)
		}
		t.Row(v.Version, status, v.CreatedAt, v.PublishedBy, v.Overdue, again, deactivated, v.Description)
	}
	return t
}

// PrintVersion prints the YAML of a version to Stdout and its status to Stderr.
func (c *Printer) PrintVersion(v api.RunbookVersion) error {
	if c.Structured() {
		return c.Document(v)
	}
	c.Notice("%s version %d, published by %s on %s", v.Name, v.Version, Printable(v.PublishedBy), Stamp(v.CreatedAt))
	switch {
	case v.Active:
		c.Notice("It is the active version.")
	case v.Deactivated != nil:
		c.Notice("It was deactivated by %s.", Printable(marked(*v.Deactivated)))
	default:
		c.Notice("It was superseded by a newer version.")
	}
	_, err := fmt.Fprintln(c.Stdout, strings.TrimSuffix(v.YAML, "\n"))
	return err
}
